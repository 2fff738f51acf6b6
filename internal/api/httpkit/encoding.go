package httpkit

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// outgoing is one content encoding that a response may have. Its writers are
// reused.
type outgoing struct {
	name string
	make func() (compressor, error)
	idle *sync.Pool
}

// compressor is what writes an encoding.
type compressor interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// sentWindow bounds what a zstd writer of a response costs, in bytes.
const sentWindow = 1 << 20

// brotliLevel takes about as long as gzip does.
const brotliLevel = 3

// sent is the table of encodings, the best one first. They are fast ones: the
// processor is needed for more than compressing.
var sent = []*outgoing{
	{name: "zstd", idle: &sync.Pool{}, make: func() (compressor, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(sentWindow),
			zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	}},
	{
		name: "br",
		idle: &sync.Pool{},
		make: func() (compressor, error) { return brotli.NewWriterLevel(nil, brotliLevel), nil },
	},
	{name: "gzip", idle: &sync.Pool{}, make: func() (compressor, error) {
		return gzip.NewWriterLevel(
			nil, gzip.BestSpeed)
	}},
}

// acceptedEncoding returns the encoding that a caller likes best, of several the
// one that we do; nil for none, also for a header that makes no sense.
func acceptedEncoding(header []byte) *outgoing {
	var best *outgoing
	most := 0.0
	for _, enc := range sent {
		if q := weight(header, enc.name); q > most {
			best, most = enc, q
		}
	}
	return best
}

// weight returns what an Accept-Encoding header gives an encoding, 0 to 1; what
// "*" gives where it is not named.
func weight(header []byte, name string) float64 {
	others := 0.0
	for item := range bytes.SplitSeq(header, []byte{','}) {
		coding, parameters, _ := strings.Cut(string(item), ";")
		coding = strings.TrimSpace(coding)
		named := strings.EqualFold(coding, name) || strings.EqualFold(coding, "x-"+name)
		if !named && coding != "*" {
			continue
		}
		q := 1.0
		if key, value, found := strings.Cut(strings.TrimSpace(parameters), "="); found && strings.EqualFold(key, "q") {
			var err error
			if q, err = strconv.ParseFloat(value, 64); err != nil {
				q = 0
			}
		}
		if named {
			return q
		}
		others = q
	}
	return others
}

// write has f write through the encoding to w; nil is none. An encoding that is
// not ended, because f failed, is no longer used.
func (o *outgoing) write(w io.Writer, f func(io.Writer) error) error {
	if o == nil {
		return f(w)
	}
	z, ok := o.idle.Get().(compressor)
	if !ok {
		var err error
		if z, err = o.make(); err != nil {
			return err
		}
	}
	z.Reset(w)
	if err := f(z); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	z.Reset(nil)
	o.idle.Put(z)
	return nil
}
