package click

import (
	"bytes"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/pipeline/sendqueue"
	"github.com/millrace/millrace/internal/resource/link"
)

// instantly acknowledges what it is given.
type instantly struct{}

func (instantly) Send(_ *record.Record, done func(error)) { done(nil) }

// salted knows a salt.
type salted []byte

func (s salted) Today() []byte { return s }

var salt = salted(bytes.Repeat([]byte{0xA5}, 32))

// anyClick is a click of a browser.
func anyClick() *Click {
	return &Click{
		Link: &link.Served{
			ID:             "lnk_01JQZ3F8Y4M2N6P8R0S2T4V6WB",
			OrganizationID: "org_01JQZ3F8Y4M2N6P8R0S2T4V6W8",
			UTM:            link.UTM{Source: "newsletter"},
		},
		At: time.UnixMilli(1795000000000), Addr: netip.MustParseAddr("2001:db8::1"),
		UserAgent: []byte(
			"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"),
		Visitor: enrich.Visitor{
			Agent: &enrich.Agent{Browser: "Chrome", OS: "Windows", Device: enrich.Desktop},
			Place: enrich.Place{Country: "AT", Region: "Tyrol", City: "Innsbruck"},
		},
		Referrer: []byte("https://www.google.com/search?q=secret"), Languages: []byte("de-AT,de;q=0.9"),
		Query: []byte("utm_medium=email&utm_source=mail"), Status: 302,
	}
}

func newQueue(p sendqueue.Sender, bytes int) *Queue {
	return New(Config{MaxBufferedBytes: bytes},
		Deps{Sender: p, Salts: salt, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
}

// BenchmarkTake is what a redirect pays, and what Run does beside it, up to the Sender.
func BenchmarkTake(b *testing.B) {
	b.ReportAllocs()
	q := newQueue(instantly{}, 1<<40)
	go func() { _ = q.Run(b.Context()) }()
	c := anyClick()
	for b.Loop() {
		q.Take(c)
	}
}

// BenchmarkWrite is what Run does to make the record.
func BenchmarkWrite(b *testing.B) {
	b.ReportAllocs()
	var d draft
	var r record.ClickRecord
	c := anyClick()
	for b.Loop() {
		d.write(c, salt, &r)
	}
	b.SetBytes(int64(len(r.Value)))
}
