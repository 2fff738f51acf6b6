package ledgerstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
)

var _ sink.Ledger = (*Ledger)(nil)

func newLedger(t *testing.T, cfg config.ClickHouse) *Ledger {
	t.Helper()
	l := NewLedger(cfg)
	t.Cleanup(func() { l.Close() })
	return l
}

var topicID = [16]byte{0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

func entry(first, last int64, change ...func(*ledger.Entry)) *ledger.Entry {
	e := &ledger.Entry{
		Topic: "events.v1", TopicID: topicID, Partition: 3, Epoch: 1, Span: ledger.Span{First: first, Last: last},
		Kind: ledger.EntryRange, Stored: last - first + 1,
	}
	for _, f := range change {
		f(e)
	}
	return e
}

func write(t *testing.T, l *Ledger, insertToken string, e *ledger.Entry) {
	t.Helper()
	if err := l.Write(t.Context(), e, insertToken); err != nil {
		t.Fatal(err)
	}
}

// As rows of records are: what a killed server knows the token of without having it.
func TestAnEntryThatIsNotThereAlthoughItsTokenIsKnownIsWrittenAgain(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	l := newLedger(t, cfg)
	there := func() []string { return clickhousetest.Column(t, cfg, "toString(first)", "ingest_ledger") }
	write(t, l, "1", entry(10, 19))
	write(t, l, "2", entry(20, 29))
	clickhousetest.Run(t, cfg, "ALTER TABLE ingest_ledger DELETE WHERE first = 10 SETTINGS mutations_sync = 2")
	if diff := cmp.Diff([]string{"20"}, there()); diff != "" {
		t.Fatalf("entries (-want +got):\n%s", diff)
	}
	for range 2 {
		write(t, l, "1", entry(10, 19))
		write(t, l, "2", entry(20, 29))
		if diff := cmp.Diff([]string{"10", "20"}, there()); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
	}
}

func TestAnEntryIsWrittenOncePerToken(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	l := newLedger(t, cfg)
	hour := time.Now().Unix() / 3600 // what is older than 90 days goes
	full := entry(10, 19, func(e *ledger.Entry) {
		e.Stored, e.Duplicates, e.DeadLetters, e.Skipped = 4, 3, 2, 1
		e.ReceivedFrom, e.ReceivedTo = clickhousetest.Received, clickhousetest.Received+1
		e.Touched = []ledger.Touched{{Owner: "web_1", Day: 20543}, {Owner: "o'org", Day: 0}}
		e.Shares = []ledger.Share{
			{Owner: "web_1", Hour: hour, Duplicates: 2},
			{Owner: "web_1", Hour: hour + 1, Duplicates: 1, DeadLetters: 1},
			{Owner: "org_1", Hour: hour, Erased: 7},
		}
	})
	write(t, l, "1:x:3:10-19", full)
	write(t, l, "1:x:3:10-19", full)
	write(t, l, "1:x:3:20-29", entry(20, 29, func(e *ledger.Entry) {
		e.Shares = []ledger.Share{{Owner: "web_1", Hour: hour, Duplicates: 5}}
	}))
	write(t, l, "1:x:3:30-39", entry(30, 39)) // all of it rows
	got := clickhousetest.Column(t, cfg, `concat(topic, '|', toString(topic_id), '|', toString(partition), '|', toString(epoch), '|', toString(first), '|', toString(last), '|', kind, '|',
		toString([stored, duplicates, dead_letters, skipped]), '|', toString(received_from), '|', toString(received_to), '|', toString(owners), '|', toString(days), '|',
		toString(written_at > now() - INTERVAL 1 HOUR))`, "ingest_ledger WHERE first = 10")
	want := []string{`events.v1|ab010203-0405-0607-0809-0a0b0c0d0e0f|3|1|10|19|range|[4,3,2,1]|2026-03-31 12:00:01.500|2026-03-31 12:00:01.501|` +
		`['web_1','o\'org']|['2026-03-31','1970-01-01']|1`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	got = clickhousetest.Column(t, cfg, `concat(owner_id, ' ', toString(intDiv(toUnixTimestamp(hour), 3600)), ' ', topic, ' ', toString([sum(duplicates), sum(dead_letters), sum(erased)]))`,
		"unstored_1h GROUP BY owner_id, hour, topic")
	want = []string{
		fmt.Sprintf("org_1 %d events.v1 [0,0,7]", hour), fmt.Sprintf("web_1 %d events.v1 [7,0,0]", hour),
		fmt.Sprintf("web_1 %d events.v1 [1,1,0]", hour+1),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unstored records (-want +got):\n%s", diff)
	}
}

func TestTheLedgerTellsHowFarAPartitionReaches(t *testing.T) {
	t.Parallel()
	l := newLedger(t, stagetest.Migrated(t))
	reached := func(id [16]byte, partition int32) int64 {
		t.Helper()
		n, err := l.Reached(t.Context(), "events.v1", id, partition, 2)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if got := reached(topicID, 3); got != 0 {
		t.Errorf("an empty ledger reaches %d", got)
	}
	write(t, l, "a", entry(0, 0))
	if got := reached(topicID, 3); got != 1 {
		t.Errorf("after offset 0 the ledger reaches %d", got)
	}
	write(t, l, "b", entry(1, 99, func(e *ledger.Entry) { e.Epoch = 2 }))
	write(t, l, "c", entry(1, 9))
	for want, got := range map[string]int64{
		"100 under any epoch": reached(topicID, 3) - 100, "0 in another partition": reached(topicID, 4),
		"0 of another topic": reached([16]byte{1}, 3),
	} {
		if got != 0 {
			t.Errorf("want %s, got %d more", want, got)
		}
	}
}

func TestTheLedgerShowsTheRangesOfAnEpochInOrder(t *testing.T) {
	t.Parallel()
	l := newLedger(t, stagetest.Migrated(t))
	for insertToken, e := range map[string]*ledger.Entry{
		"b": entry(10, 19), "a": entry(0, 9), "c": entry(20, 29), "d": entry(30, 39, func(e *ledger.Entry) { e.Epoch = 2 }),
		"e":                              entry(40, 49, func(e *ledger.Entry) { e.Partition = 4 }),
		"f":                              entry(50, 59, func(e *ledger.Entry) { e.TopicID = [16]byte{1} }),
		"written again in another month": entry(10, 19),
	} {
		write(t, l, insertToken, e)
	}
	for _, tc := range []struct {
		from  int64
		limit int
		want  []ledger.Span
	}{
		{0, 10, []ledger.Span{{First: 0, Last: 9}, {First: 10, Last: 19}, {First: 20, Last: 29}}},
		{9, 10, []ledger.Span{{First: 0, Last: 9}, {First: 10, Last: 19}, {First: 20, Last: 29}}},
		{10, 10, []ledger.Span{{First: 10, Last: 19}, {First: 20, Last: 29}}},
		{15, 1, []ledger.Span{{First: 10, Last: 19}}},
		{30, 10, nil},
	} {
		got, err := l.Ranges(t.Context(), topicID, 3, 1, tc.from, tc.limit)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("ranges from %d, at most %d (-want +got):\n%s", tc.from, tc.limit, diff)
		}
	}
}

func TestAnEpochIsOneUntilItIsRaised(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	l := newLedger(t, cfg)
	for topic, want := range map[string][]int64{"events.v1": {1, 2, 3}, "o'clock\\.v1": {1, 2}} {
		for n, epoch := range want {
			got, err := l.Epoch(t.Context(), topic)
			if err != nil || got != epoch {
				t.Errorf("%s: Epoch() = %d, %v, want %d", topic, got, err, epoch)
			}
			if n == len(want)-1 {
				break
			}
			if raised, err := l.RaiseEpoch(t.Context(), topic, "a test"); err != nil || raised != epoch+1 {
				t.Errorf("%s: RaiseEpoch() = %d, %v, want %d", topic, raised, err, epoch+1)
			}
		}
	}
	if got := clickhousetest.Column(t, cfg, "count()",
		"ingest_epochs WHERE reason = 'a test' AND raised_at > now() - INTERVAL 1 HOUR"); got[0] != "3" {
		t.Errorf("%s raises are kept, want 3", got)
	}
}

func TestALedgerThatCannotBeWrittenSaysWhy(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	l := newLedger(t, cfg)
	clickhousetest.Run(t, cfg, "DROP TABLE ingest_ledger SYNC")
	if err := l.Write(t.Context(), entry(0, 1), "a"); !clickhousetest.ClassIs(err, sink.ClassSchema) {
		t.Errorf("Write() = %v, want class %s", err, sink.ClassSchema)
	}
	if _, err := l.Reached(t.Context(), "events.v1", topicID, 3, 1); err == nil {
		t.Error("Reached() of a table that is gone is no error")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Epoch(t.Context(), "events.v1"); !errors.Is(err, clickhouse.ErrClosed) {
		t.Errorf("Epoch() after Close() = %v", err)
	}
}

// A takeover asks how far the ledger reaches, and 90 days of entries are many.
func TestHowFarTheLedgerReachesIsReadAtItsEnd(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	const entries = 300_000
	clickhousetest.Run(t, cfg,
		fmt.Sprintf("INSERT INTO ingest_ledger (topic, topic_id, partition, epoch, first, last, kind, stored, written_at)\n"+
			"SELECT 'events.v1', '%s', 3, if(number < 1000, 2, 1), number * 10, number * 10 + 9, 'range', 10, now64(3) - "+
			"toIntervalMinute(rand() %% 1440) FROM numbers(%d)",
			uuid.UUID(topicID), entries))
	l := newLedger(t, cfg)
	for _, epoch := range []int64{2, manyEpochs - 1, manyEpochs} {
		if got, err := l.Reached(t.Context(), "events.v1", topicID, 3, epoch); err != nil || got != entries*10 {
			t.Errorf("with %d epochs the ledger reaches %d, %v; want %d", epoch, got, err, entries*10)
		}
	}
	c, err := clickhouse.Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var read uint64
	var reached proto.ColInt64
	if err := c.Do(t.Context(), ch.Query{
		Body:       reachedSQL(2),
		Parameters: append(partitionParameters(topicID, 3), clickhouse.StringParameter("topic", "events.v1")),
		Result:     proto.Results{{Name: "reached", Data: &reached}},
		OnProgress: func(_ context.Context, p proto.Progress) error { read += p.Rows; return nil },
	}); err != nil {
		t.Fatal(err)
	}
	if read == 0 || read > entries/5 {
		t.Errorf("%d of %d entries were read, want a few thousand", read, entries)
	}
	t.Logf("%d of %d entries were read", read, entries)
}
