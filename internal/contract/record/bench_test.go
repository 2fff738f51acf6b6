package record_test

import (
	"testing"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
)

// benchBody is an event of 465 bytes.
const benchBody = `{"name":"checkout_completed","eventId":"018f3c1e-7b2a-7c4d-9e5f-000000000001",` +
	`"path":"https://shop.example.com/checkout/complete?step=3","anonymousId":"anon_4b0c5c1e-6d0a-4f4e-9a57-000000000002",` +
	`"sessionId":"sess_9f1b2c3d-4e5f-4a6b-8c7d-000000000003","timestamp":1795000000000,"namespace":"shop","source":"web",` +
	`"properties":{"plan":"pro","amount":129.95,"currency":"EUR","items":3,"coupon":null,"first":true,"note":"xxxxxxxxxxxxx"}}`

func benchEvent(tb testing.TB) *event.Event {
	tb.Helper()
	events, err := new(event.Decoder).Decode([]byte(benchBody))
	if err != nil {
		tb.Fatal(err)
	}
	return &events[0]
}

func BenchmarkAdd100(b *testing.B) {
	e := benchEvent(b)
	var batch record.Batch
	b.ReportAllocs()
	for b.Loop() {
		batch.Reset(receipt)
		for range 100 {
			batch.Add(e, target, nil)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(100*b.N), "ns/event")
}

func BenchmarkDecodeEvent(b *testing.B) {
	var batch record.Batch
	batch.Reset(receipt)
	batch.Add(benchEvent(b), target, nil)
	value := batch.Records()[0].Value
	var d record.Decoder
	var e record.Event
	b.ReportAllocs()
	b.SetBytes(int64(len(value)))
	for b.Loop() {
		if err := d.DecodeEvent(value, &e); err != nil {
			b.Fatal(err)
		}
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts for the whole process
	e := benchEvent(t)
	var batch record.Batch
	var d record.Decoder
	var out record.Event
	var dst []byte
	value := []byte(fullValue)
	for name, run := range map[string]func(){
		"Add": func() {
			batch.Reset(receipt)
			for range 100 {
				batch.Add(e, target, nil)
			}
		},
		"DecodeEvent": func() {
			if err := d.DecodeEvent(value, &out); err != nil {
				t.Fatal(err)
			}
		},
		"AppendEvent": func() { dst = record.AppendEvent(dst[:0], &out) },
		"ParseHeaders": func() {
			if _, err := record.ParseHeaders(batch.Records()[0].Headers); err != nil {
				t.Fatal(err)
			}
		},
	} {
		if name == "ParseHeaders" {
			batch.Reset(receipt)
			batch.Add(e, target, nil)
		}
		run()
		if allocs := testing.AllocsPerRun(100, run); allocs != 0 {
			t.Errorf("%s allocates %v times", name, allocs)
		}
	}
}
