package fault

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/tests/fault/faultproxy"
)

// malformed are the ways in which a record may be no event.
var malformed = []struct {
	kind   string
	reason deadletter.Reason
	spoil  func(*kgo.Record)
}{
	{"no headers", deadletter.ReasonHeaders, func(r *kgo.Record) { r.Headers = nil }},
	{
		"hash of the wrong length", deadletter.ReasonHeaders,
		func(r *kgo.Record) { setHeader(r, record.HeaderEventHash, "abc") },
	},
	{"value that is no JSON", deadletter.ReasonValue, func(r *kgo.Record) { r.Value = []byte("{no json") }},
	{"value without an owner", deadletter.ReasonValue, func(r *kgo.Record) { r.Value = []byte(`{"v":1,"id":"x"}`) }},
	{"time that no table holds", deadletter.ReasonTime, func(r *kgo.Record) {
		e := record.Event{
			ID: []byte("x"), Organization: []byte("org_1"), Website: r.Key, Owner: r.Key, Type: []byte(record.TypeCustom),
			Name:       []byte("n"),
			TimeMillis: 600_000_000_000, ReceivedAt: r.Timestamp.UnixMilli(),
		}
		r.Value = record.AppendEvent(nil, &e)
	}},
}

func setHeader(r *kgo.Record, key, value string) {
	for i := range r.Headers {
		if r.Headers[i].Key == key {
			r.Headers[i].Value = []byte(value)
		}
	}
}

// One record of a hundred is malformed, in five ways: each becomes a dead letter
// with its reason, and all others are stored.
func TestMalformedRecordsBecomeDeadLettersAndNothingElseDoes(t *testing.T) {
	tr := trial{fault: "F11 malformed records", point: "1 %", on: kfakeOnly, few: 1, body: func(t *testing.T, s *stage) {
		const good, bad = 2000, 20
		all := s.events(good)
		var records []*kgo.Record
		want := map[deadletter.Reason]int{}
		for i, h := range all {
			records = append(records, s.record(h))
			if i%(good/bad) == 0 {
				m := malformed[i/(good/bad)%len(malformed)]
				r := s.record(happening{id: "bad" + strconv.Itoa(i), owner: h.owner, at: h.at, received: h.received, name: "n"})
				m.spoil(r)
				records = append(records, r)
				want[m.reason]++
			}
		}
		if err := s.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		s.acked.add(all)
		one := s.startSink(watched{})
		s.drained()
		one.stop()
		got := s.letters(bad)
		for reason, n := range want {
			if got[reason] != n {
				t.Errorf("%d dead letters for %s, want %d", got[reason], reason, n)
			}
		}
		s.judgeWith(bad)
	}}
	tr.run(t)
}

// letters reads so many dead letters and counts them by reason.
func (s *stage) letters(n int) map[deadletter.Reason]int {
	s.t.Helper()
	got := map[deadletter.Reason]int{}
	s.eachRecord(s.topic()+kafka.DeadLetterSuffix, int64(n), func(r *kgo.Record) {
		for _, h := range r.Headers {
			if h.Key == "dlq-reason" {
				got[deadletter.Reason(h.Value)]++
			}
		}
	})
	return got
}

// ClickHouse rejects one row of a large range: it is found with few inserts, none
// of which stores anything, and all other rows are stored once.
func TestARowThatClickHouseRejectsIsFoundAmongMany(t *testing.T) {
	rows := 10_000
	if thorough() {
		rows = 100_000
	}
	tr := trial{
		fault: "F12 row refused", point: fmt.Sprintf("1 of %d", rows), on: kfakeOnly, few: 1,
		body: func(t *testing.T, s *stage) {
			k := &s.settings.Sink
			k.MaxRows, k.MaxWait, k.MaxBytes = rows, 20*time.Second, 512<<20
			k.InsertTimeout, k.Rebalance, k.Session = 20*time.Second, 60*time.Second, 10*time.Second
			s.exec("ALTER TABLE events ADD CONSTRAINT c CHECK name != 'refused'")
			now := time.Now().UnixMilli()
			all := make([]happening, rows)
			for i := range all {
				all[i] = happening{
					id: strconv.Itoa(i), owner: "web_1", visitor: "v", session: "s", name: "n", at: now, received: now,
				}
			}
			at := s.rng.IntN(rows)
			all[at].name = "refused"
			if err := s.publish(t.Context(), all); err != nil {
				t.Fatal(err)
			}
			delete(s.acked.events, key{"web_1", all[at].id})
			s.proxy.Set(faultproxy.Rule{Kind: faultproxy.Watch, Match: `INSERT INTO "millrace_probe"`})
			one := s.startSink(watched{})
			s.drained()
			probes := s.proxy.Strikes()
			one.stop()
			if probes == 0 || probes > 36 {
				t.Errorf("it took %d inserts into the clone, want at most 36", probes)
			}
			t.Logf("%d inserts into the clone found 1 row of %d", probes, rows)
			if got := s.letters(1); got[deadletter.ReasonRejected] != 1 {
				t.Errorf("dead letters by reason: %v, want one refused", got)
			}
			s.judgeWith(1)
		},
	}
	tr.run(t)
}

// A record of a newer writer, with fields and headers that nobody knows yet, is an
// event like any other; so is one of an older writer.
func TestRecordsOfNewerAndOlderWritersAreStored(t *testing.T) {
	tr := trial{
		fault: "F22 other versions", point: "revisions mixed", on: kfakeOnly, few: 1, body: func(t *testing.T, s *stage) {
			all := s.events(600)
			records := make([]*kgo.Record, len(all))
			for i, h := range all {
				records[i] = s.record(h)
				if i%2 == 1 {
					ours := fmt.Sprintf(`{"v":%d,`, record.EventVersion)
					records[i].Value = append([]byte(`{"v":9,"new":{"deep":[1,{"a":null}]},"other":"x",`),
						records[i].Value[len(ours):]...)
					records[i].Headers = append(records[i].Headers, kgo.RecordHeader{Key: "new-header", Value: []byte("x")})
				}
			}
			if err := s.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
				t.Fatal(err)
			}
			s.acked.add(all)
			one := s.startSink(watched{})
			s.drained()
			one.stop()
			if got := s.number("SELECT uniqExact(schema_v) FROM events"); got != 2 {
				t.Errorf("the table has %d versions of the envelope, want 2", got)
			}
			s.judge()
		},
	}
	tr.run(t)
}
