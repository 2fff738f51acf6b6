package kafka

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/record"
	"github.com/millrace/millrace/internal/sink"
)

// recordOf returns what the sink needs of a record; value and original are not
// copied.
func recordOf(r *kgo.Record) sink.Record {
	if r.Attrs.IsControl() {
		return sink.Record{Offset: r.Offset, Control: true}
	}
	var h record.Headers
	var err error
	for i := range r.Headers {
		if e := h.Set(r.Headers[i].Key, r.Headers[i].Value); e != nil {
			err = e
		}
	}
	if err == nil {
		err = h.Check()
	}
	return sink.Record{
		Offset: r.Offset, ReceivedAt: h.ReceivedAt, Hash: h.Hash, BadHeaders: err != nil, Replay: h.Replay,
		Value: r.Value, Original: (*original)(r), Traceparent: h.Traceparent,
	}
}

// original is a record as it was read. It implements sink.Original.
type original kgo.Record

// RecordKey implements sink.Original.
func (o *original) RecordKey() []byte { return o.Key }

// AppendHeaders implements sink.Original.
func (o *original) AppendHeaders(dst []record.Header) []record.Header {
	for _, h := range o.Headers {
		dst = append(dst, record.Header{Key: h.Key, Value: h.Value})
	}
	return dst
}
