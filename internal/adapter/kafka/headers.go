package kafka

import (
	"bytes"
	"encoding/binary"

	"github.com/millrace/millrace/internal/contract/record"
)

// headerKeys are the keys of record.HeaderTable as batches have them, length and all. Our
// writers keep their order: a key that is expected is compared as a whole, and not read.
var headerKeys = func() (keys [][]byte) {
	for _, h := range record.HeaderTable {
		keys = append(keys, append(binary.AppendVarint(nil, int64(len(h.Key))), h.Key...))
	}
	return keys
}()

// headers reads those of a record, which are what is left of it. An error says that one
// of them is not as it should be, or is missing, or that they are too many, and then none is
// read; f tells whether the record is malformed.
func (f *fields) headers(h *record.Headers) (err error) {
	n := f.varint()
	if n > record.MaxHeaders {
		return record.ErrTooManyHeaders
	}
	for range n {
		e := f.header(h)
		if f.bad {
			break
		}
		if e != nil {
			err = e
		}
	}
	if err == nil {
		err = h.Check()
	}
	return err
}

func (f *fields) header(h *record.Headers) error {
	if at := h.Expected(); at < len(headerKeys) && bytes.HasPrefix(f.rest, headerKeys[at]) {
		f.rest = f.rest[len(headerKeys[at]):]
		return h.SetAt(at, f.bytes())
	}
	key, value := f.bytes(), f.bytes()
	return h.Set(string(key), value) // compared, not kept: no copy is made
}
