package stagetest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/insert"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
)

// Migrated returns the settings of a migrated database, which is the test's own.
func Migrated(t *testing.T) config.ClickHouse {
	t.Helper()
	return clickhousetest.Migrated(t, schema.Migrate)
}

// InsertTo inserts events of a topic as one block.
func InsertTo(t *testing.T, cfg config.ClickHouse, topic, insertToken string, events ...*record.Event) {
	t.Helper()
	i := OpenInserter(t, cfg)
	b := i.NewBlock(topic)
	for n, e := range events {
		b.Append(
			&sink.Row{Event: e, Hash: record.HashOf(e.Owner, e.ID), Topic: []byte(topic), Partition: 3, Offset: int64(100 + n)})
	}
	if err := i.Insert(t.Context(), b, insertToken); err != nil {
		t.Fatal(err)
	}
}

// Browsed inserts random events of three owners on each of several days of March,
// and returns those days of web_1.
func Browsed(t *testing.T, cfg config.ClickHouse, days int) []ledger.Touched {
	t.Helper()
	i, r := OpenInserter(t, cfg), rand.New(rand.NewPCG(7, 8))
	touched := make([]ledger.Touched, days)
	for n := range touched {
		day := clickhousetest.Noon/record.MillisPerDay - int64(n)
		events := clickhousetest.Browsing(r, 200)
		for _, e := range events {
			e.TimeMillis = day*record.MillisPerDay + r.Int64N(record.MillisPerDay)
		}
		clickhousetest.Insert(t, i, strconv.Itoa(n), events...)
		touched[n] = ledger.Touched{Owner: "web_1", Day: int32(day)}
	}
	return touched
}

// Failing inserts random errors of the owners of Browsed, on the same days.
func Failing(t *testing.T, cfg config.ClickHouse, days int) {
	t.Helper()
	i, r := OpenInserter(t, cfg), rand.New(rand.NewPCG(9, 10))
	for n := range days {
		block := i.NewBlock(record.TopicErrors)
		for _, e := range clickhousetest.SomeEvents(r, 60) {
			e.Name, e.TimeMillis = fmt.Append(nil, "Error", r.IntN(3)),
				(clickhousetest.Noon/record.MillisPerDay-int64(n))*record.MillisPerDay+r.Int64N(record.MillisPerDay)
			block.Append(&sink.Row{Event: e, Hash: record.HashOf(e.Owner, e.ID), Topic: []byte(record.TopicErrors)})
		}
		if err := i.Insert(t.Context(), block, fmt.Sprint("errors ", n)); err != nil {
			t.Fatal(err)
		}
	}
}

// Clicking inserts random clicks of a link of the id of Browsed's website, on the same days.
func Clicking(t *testing.T, cfg config.ClickHouse, days int) []ledger.Touched {
	t.Helper()
	r, touched := rand.New(rand.NewPCG(11, 12)), make([]ledger.Touched, days)
	for n := range touched {
		day := clickhousetest.Noon/record.MillisPerDay - int64(n)
		InsertTo(t, cfg, record.TopicClicks, fmt.Sprint("clicks ", n), clickhousetest.SomeClicks(r, "web_1", day, 150)...)
		touched[n] = ledger.Touched{Owner: "web_1", Day: int32(day)}
	}
	return touched
}

// OpenInserter returns an Inserter that is closed when the test ends.
func OpenInserter(t *testing.T, cfg config.ClickHouse) *insert.Inserter {
	t.Helper()
	return Opened(t, insert.NewInserter(cfg, ""))
}

// Opened has something be closed when the test ends, and returns it.
func Opened[T io.Closer](t *testing.T, c T) T {
	t.Helper()
	t.Cleanup(func() { c.Close() })
	return c
}
