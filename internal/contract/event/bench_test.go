package event

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/valyala/fastjson"
)

// benchEvent is one event of 465 bytes, the size that this project's figures
// are measured with.
func benchEvent(i int) []byte {
	b := fmt.Appendf(nil, `{"name":"checkout_completed","eventId":"018f3c1e-7b2a-7c4d-9e5f-%012d",`+
		`"path":"https://shop.example.com/checkout/complete?step=3","anonymousId":"anon_4b0c5c1e-6d0a-4f4e-9a57-%012d",`+
		`"sessionId":"sess_9f1b2c3d-4e5f-4a6b-8c7d-%012d","timestamp":%d,"namespace":"shop","source":"web",`+
		`"properties":{"plan":"pro","amount":129.95,"currency":"EUR","items":3,"coupon":null,"first":true}}`,
		i, i%977, i%331, 1795000000000+i)
	return append(b[:len(b)-2], `,"note":"`+string(bytes.Repeat([]byte{'x'}, 465-len(b)-10))+`"}}`...)
}

func benchBody(n int) []byte {
	b := []byte{'['}
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, benchEvent(i)...)
	}
	return append(b, ']')
}

var errStrict = errors.New("refused")

// fastjsonStrict is the alternative that was measured and not chosen: a tree by
// fastjson, and beside it what fastjson lets pass.
type fastjsonStrict struct {
	parser  fastjson.Parser
	compact []byte
	keys    [][]byte
	bad     bool
}

func (f *fastjsonStrict) decode(body []byte) error {
	if !utf8.Valid(body) {
		return errStrict
	}
	if err := fastjson.ValidateBytes(body); err != nil { // control characters, escapes, number grammar
		return err
	}
	v, err := f.parser.ParseBytes(body)
	if err != nil {
		return err
	}
	f.bad = false
	list, err := v.Array()
	if err != nil {
		return err
	}
	for _, e := range list {
		o, err := e.Object()
		if err != nil {
			return err
		}
		mark := len(f.keys)
		o.Visit(f.field)
		f.keys = f.keys[:mark]
	}
	if f.bad {
		return errStrict
	}
	return nil
}

func (f *fastjsonStrict) field(key []byte, v *fastjson.Value) {
	f.once(key)
	switch string(key) {
	case "name", "eventId", "path", "anonymousId", "profileId", "sessionId", "namespace", "source", "websiteId":
		s, err := v.StringBytes()
		if err != nil || len(s) > 256 {
			f.bad = true
		}
	case "timestamp":
		if _, err := v.Float64(); err != nil {
			f.bad = true
		}
	case "properties":
		o, err := v.Object()
		if err != nil || o.Len() > MaxPropertiesKeys {
			f.bad = true
			return
		}
		mark := len(f.keys)
		o.Visit(f.walk)
		f.keys = f.keys[:mark]
		f.compact = v.MarshalTo(f.compact[:0])
		if len(f.compact) > MaxPropertiesBytes {
			f.bad = true
		}
	}
}

func (f *fastjsonStrict) walk(key []byte, v *fastjson.Value) {
	f.once(key)
	switch v.Type() {
	case fastjson.TypeObject:
		mark := len(f.keys)
		v.GetObject().Visit(f.walk)
		f.keys = f.keys[:mark]
	case fastjson.TypeNumber:
		if _, err := v.Float64(); err != nil {
			f.bad = true
		}
	default:
	}
}

func (f *fastjsonStrict) once(key []byte) {
	for _, k := range f.keys {
		if bytes.Equal(k, key) {
			f.bad = true
		}
	}
	f.keys = append(f.keys, key)
}

func BenchmarkDecode100(b *testing.B) {
	body := benchBody(100)
	run := func(name string, decode func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if err := decode(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(100*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
	var p fastjson.Parser
	run("fastjson parse only", func() error { _, err := p.ParseBytes(body); return err })
	var f fastjsonStrict
	run("fastjson and strict walk", func() error { return f.decode(body) })
	var d Decoder
	run("decoder", func() error { _, err := d.Decode(body); return err })
}
