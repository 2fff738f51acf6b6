package clickhousetest

import (
	"context"
	"testing"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/platform/config"
)

// Column returns one String expression of every row.
func Column(t *testing.T, cfg config.ClickHouse, expr, from string) []string {
	t.Helper()
	c := connected(t, cfg)
	defer c.Close()
	got := []string{}
	var col proto.ColStr
	if err := c.Do(t.Context(), ch.Query{
		Body:   "SELECT CAST(" + expr + ", 'String') AS x FROM " + from + " ORDER BY x",
		Result: proto.Results{{Name: "x", Data: &col}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range col.Rows() {
				got = append(got, col.Row(i))
			}
			return nil
		},
	}); err != nil {
		t.Fatalf("%s from %s: %v", expr, from, err)
	}
	return got
}

// Run runs a statement.
func Run(t *testing.T, cfg config.ClickHouse, sql string) {
	t.Helper()
	c := connected(t, cfg)
	defer c.Close()
	if err := c.Do(t.Context(), ch.Query{Body: sql}); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// connected returns a connection, which is the caller's to close.
func connected(t *testing.T, cfg config.ClickHouse) *ch.Client {
	t.Helper()
	c, err := ch.Dial(t.Context(), ch.Options{
		Address: cfg.Addr[0], Database: cfg.Database, User: cfg.User, Compression: ch.CompressionLZ4,
		ReadTimeout: ch.NoTimeout, DialTimeout: dialTimeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
