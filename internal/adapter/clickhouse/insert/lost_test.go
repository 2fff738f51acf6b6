package insert

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
)

// What a server leaves behind that is killed after it has noted a token and before the part
// has its name: here rows that are taken away again, since a mutation leaves the token.
func TestRowsThatAreNotThereAlthoughTheirTokenIsKnownAreSentAgain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		topic, table string
		rows         func(change func(*record.Event)) []*record.Event
	}{
		{record.TopicEvents, "events", func(change func(*record.Event)) []*record.Event {
			return []*record.Event{clickhousetest.AnEvent("a"), clickhousetest.AnEvent("b", change)}
		}},
		{record.TopicClicks, "clicks", func(change func(*record.Event)) []*record.Event {
			return []*record.Event{clickhousetest.AClick("a"), clickhousetest.AClick("b", change)}
		}},
	} {
		t.Run(tc.table, func(t *testing.T) {
			t.Parallel()
			cfg := clickhousetest.Migrated(t, schema.Migrate)
			i := newInserter(t, cfg, "")
			const other = `o'th\er` // an owner that has to be quoted
			send := func() {
				t.Helper()
				b := i.NewBlock(tc.topic)
				for n, e := range tc.rows(func(e *record.Event) { e.Owner = []byte(other) }) {
					b.Append(&sink.Row{Event: e, Topic: []byte(tc.topic), Partition: 3, Offset: int64(100 + n)})
				}
				if err := i.Insert(t.Context(), b, "1"); err != nil {
					t.Fatal(err)
				}
			}
			is := func(when string, rows int, known, lost int64, listed ...string) {
				t.Helper()
				there := len(clickhousetest.Column(t, cfg, "toString(_offset)", tc.table))
				if there != rows || i.Known() != known || i.Lost() != lost {
					t.Errorf("%s: %d rows, %d inserts known, %d lost; want %d, %d, %d",
						when, there, i.Known(), i.Lost(), rows, known, lost)
				}
				got := clickhousetest.Column(t, cfg, "concat(owner_id, ' ', toString(event_date), ' ', reason)",
					"rollup_dirty FINAL WHERE cleared = 0")
				if diff := cmp.Diff(listed, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: days listed (-want +got):\n%s", when, diff)
				}
			}
			send()
			send()
			is("sent twice", 2, 1, 0)
			takeAway := "ALTER TABLE " + tc.table + " DELETE WHERE _offset >= 100 SETTINGS mutations_sync = 2"
			clickhousetest.Run(t, cfg, takeAway)
			is("taken away", 0, 1, 0)
			send()
			first := map[string]string{"events": "web_1", "clicks": "lnk_1"}[tc.table]
			days := []string{other + " 2026-03-31 over", first + " 2026-03-31 over"}
			if first < other {
				days[0], days[1] = days[1], days[0]
			}
			is("sent a third time", 2, 2, 1, days...)
			send()
			is("sent a fourth time", 2, 3, 1, days...)
			clickhousetest.Run(t, cfg, takeAway)
			send() // the other token is known too
			is("taken away twice", 2, 5, 3, days...)
		})
	}
}

// Rows of the same offsets that are not of the block do not stand for it.
func TestRowsOfOthersDoNotStandForThoseThatAreLost(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	i := newInserter(t, cfg, "")
	at := func(topic string, partition int32, offset int64, insertToken string) {
		t.Helper()
		b := i.NewBlock(topic)
		e := clickhousetest.AnEvent(fmt.Sprint(topic, partition, offset))
		b.Append(&sink.Row{
			Event: e, Hash: record.HashOf(e.Owner, e.ID), Topic: []byte(topic), Partition: partition, Offset: offset,
		})
		if err := i.Insert(t.Context(), b, insertToken); err != nil {
			t.Fatal(err)
		}
	}
	at(record.TopicEvents, 3, 100, "lost")
	at(record.TopicEvents, 2, 100, "another partition")
	at(record.TopicEventsBackfill, 3, 100, "another topic")
	at(record.TopicEvents, 3, 99, "before")
	at(record.TopicEvents, 3, 101, "after")
	clickhousetest.Run(t, cfg, "ALTER TABLE events DELETE "+
		"WHERE _topic = 'events.v1' AND _partition = 3 AND _offset = 100 SETTINGS mutations_sync = 2")
	at(record.TopicEvents, 3, 100, "lost")
	if got := len(clickhousetest.Column(t, cfg, "event_id", "events")); got != 5 || i.Lost() != 1 {
		t.Errorf("%d rows, %d inserts lost, want 5 and 1", got, i.Lost())
	}
}

// Each table of records has what its rows are looked for by.
func TestABlockOfEachTopicTellsWhatItsRowsAreMadeOf(t *testing.T) {
	t.Parallel()
	i := newInserter(t, config.ClickHouse{}, "")
	for topic := range schema.BaseOf {
		b, err := ours(i.NewBlock(topic))
		if err != nil {
			t.Fatal(err)
		}
		if o := b.origin; o.offsets == nil || o.partitions == nil || o.days == nil || o.topics == nil || o.owners == nil {
			t.Errorf("%s: %+v", topic, o)
		}
	}
}
