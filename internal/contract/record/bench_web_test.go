package record_test

import (
	"testing"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
)

// benchPage is what a page view of a browser brings along.
func benchPage() *record.Web {
	return webOf(map[record.WebText]string{
		record.Host: "shop.example.com", record.Title: "Checkout - Example Shop", record.Referrer: "https://www.google.com/",
		record.ReferrerHost: "google.com", record.ReferrerKind: "search", record.ReferrerName: "Google",
		record.Browser:        "Firefox",
		record.BrowserVersion: "143.0", record.OS: "Windows", record.OSVersion: "10", record.Device: "desktop",
		record.Country: "AT",
		record.Region:  "Styria", record.City: "Graz", record.Language: "de-AT", record.Timezone: "Europe/Vienna",
		record.Screen: "1920x1080", record.Viewport: "1280x720",
	}, map[record.WebNumber]float64{
		record.LoadTime: 843.5, record.DOMReady: 400, record.TTFB: 120.25, record.RTT: 50, record.Downlink: 10,
	})
}

func BenchmarkAddPage(b *testing.B) {
	e, web := benchEvent(b), benchPage()
	var batch record.Batch
	b.ReportAllocs()
	for b.Loop() {
		batch.Reset(receipt)
		for range 100 {
			batch.Add(e, target, web)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(100*b.N), "ns/event")
}

func BenchmarkAddVital(b *testing.B) {
	e, web := eventOf(event.Vital)
	page := benchPage()
	page.Set(record.Value, web.Numbers[record.Value])
	var batch record.Batch
	b.ReportAllocs()
	for b.Loop() {
		batch.Reset(receipt)
		for range 100 {
			batch.Add(e, target, page)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(100*b.N), "ns/event")
}

func BenchmarkDecodePage(b *testing.B) {
	var batch record.Batch
	batch.Reset(receipt)
	batch.Add(benchEvent(b), target, benchPage())
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
