package insert

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
)

// reserved reports whether there is memory for a block. It is called in a bubble of fake time.
func reserved(t *testing.T, i *Inserter, b sink.Block) (release func(), ok bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	release, err := i.Reserve(ctx, b)
	return release, err == nil
}

// Of the largest blocks one is sent at a time; of small ones many are.
func TestWhatIsSentAtOnceIsBounded(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		blocks, more int64 // what may be sent: so many blocks, and so many bytes more
		want         int   // blocks that are sent
	}{{3, 0, 3}, {3, -1, 2}, {1, 0, 1}, {1, -1, 1}, {0, 1, 1}} {
		synctest.Test(t, func(t *testing.T) {
			i := NewInserter(config.ClickHouse{}, "")
			b := clickhousetest.BlockOf(i, clickhousetest.AnEvent("a"))
			i.Bound(tc.blocks*int64(b.(*block).sent()) + tc.more)
			var release func()
			for n := range tc.want {
				var ok bool
				if release, ok = reserved(t, i, b); !ok {
					t.Fatalf("%+v: block %d waits", tc, n)
				}
			}
			if _, ok := reserved(t, i, b); ok {
				t.Errorf("%+v: one block more is sent", tc)
			}
			release()
			if _, ok := reserved(t, i, b); !ok {
				t.Errorf("%+v: a block waits although one was sent", tc)
			}
		})
	}
}

// A connection that a block made larger than all may be is not kept.
func TestAConnectionThatGrewTooLargeIsClosed(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	for less, kept := range map[int64]bool{0: true, 1: false} {
		i := newInserter(t, cfg, "")
		i.Bound(int64(clickhousetest.BlockOf(i, clickhousetest.AnEvent("a")).(*block).sent()) - less)
		first := inUse(t, i)
		clickhousetest.Insert(t, i, "", clickhousetest.AnEvent("a"))
		if got := inUse(t, i) == first; got != kept {
			t.Errorf("with memory for %d bytes less than was sent the connection is kept: %t, want %t", less, got, kept)
		}
	}
}

// inUse returns the connection that is used next.
func inUse(t *testing.T, i *Inserter) (next *clickhouse.Client) {
	t.Helper()
	if err := i.Use(t.Context(), func(c *clickhouse.Client) error { next = c; return nil }); err != nil {
		t.Fatal(err)
	}
	return next
}

func TestAQuorumIsAskedForOnlyWhenItIsSet(t *testing.T) {
	t.Parallel()
	for quorum, want := range map[int]string{0: "", 1: "", 2: "2", 3: "3"} {
		got := ""
		for _, s := range Settings(context.Background(), 1, "t", quorum) { //nolint:usetesting // a context without a deadline
			if s.Key == "insert_quorum" {
				got = s.Value
			}
		}
		if got != want {
			t.Errorf("quorum %d: insert_quorum is %q, want %q", quorum, got, want)
		}
	}
}
