// Package deadletter_test proves that dead letters are sent again once: on a
// broker, with replays that die at every step, and through a running sink.
package deadletter_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/platform/config"
)

// office is a broker with the topics, and a way to write letters.
type office struct {
	cfg      config.Kafka
	client   *kgo.Client
	producer *kafka.Producer
	offset   int64 // of the next letter's source
}

func newOffice(t *testing.T) *office {
	t.Helper()
	_, cfg := kafkatest.Cluster(t)
	return officeAt(t, cfg)
}

func officeAt(t *testing.T, cfg config.Kafka) *office {
	t.Helper()
	if _, err := kafka.EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	o := &office{cfg: cfg, offset: 1_000_000} // far from those of what is sent
	var err error
	if o.client, err = kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.client.Close)
	o.producer, err = kafka.NewProducer(cfg, kafka.ProducerDeps{
		Client: "test", Deadline: 20 * time.Second, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.producer.Close(context.WithoutCancel(t.Context())) })
	return o
}

func header(key, value string) record.Header { return record.Header{Key: key, Value: []byte(value)} }

// eventHeaders are those of a good event.
func eventHeaders(id string) []record.Header {
	return []record.Header{
		header(record.HeaderSchema, record.TopicEvents), header(record.HeaderType, record.TypeCustom),
		header(record.HeaderWebsite, "web_1"), header(record.HeaderOrganization, "org_1"),
		header(record.HeaderReceivedAt, strconv.FormatInt(received, 10)), header(record.HeaderRequestID, "r"),
		header(record.HeaderEventHash, record.HashOf([]byte("web_1"), []byte(id)).Hex()),
	}
}

var received = time.Now().Add(-time.Hour).UnixMilli()

func eventValue(id string) string {
	return string(record.AppendEvent(nil, &record.Event{
		ID: []byte(id), Organization: []byte("org_1"), Website: []byte("web_1"), Owner: []byte("web_1"),
		Type: []byte(record.TypeCustom), Name: []byte("n"), TimeMillis: received, ReceivedAt: received,
	}))
}

// write puts a letter into events.v1.dlq, so many times.
func (o *office) write(t *testing.T, reason deadletter.Reason, times int, value string, headers ...record.Header) {
	t.Helper()
	o.offset++
	n := deadletter.Note{
		Source: record.Position{Topic: record.TopicEvents, Partition: 1, Offset: o.offset}, Reason: reason,
		Err: errors.New("why"), At: time.Now(),
	}
	all, err := n.Append(headers)
	if err != nil {
		t.Fatal(err)
	}
	for range times {
		o.produce(t, record.TopicEvents+deadletter.Suffix, value, all)
	}
}

func (o *office) produce(t *testing.T, topic, value string, headers []record.Header) {
	t.Helper()
	r := &kgo.Record{
		Topic: kafka.TopicName(o.cfg, topic), Key: []byte("web_1"), Value: []byte(value),
		Timestamp: time.Now().Add(-time.Hour).Add(time.Duration(o.offset%1000) * time.Second),
	}
	for _, h := range headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	if err := o.client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// service returns a service of its own, whose clock is ahead.
func (o *office) service(p deadletter.Publisher, ahead time.Duration) *deadletter.Service {
	if p == nil {
		p = o.producer
	}
	return deadletter.New(deadletter.Deps{
		Reader: kafka.NewLog(o.cfg, slog.New(slog.DiscardHandler)), Publisher: p,
		Now: func() time.Time { return time.Now().Add(ahead) },
	})
}

var everything = deadletter.Filter{Topics: []string{record.TopicEvents}}

// counts are how many letters met which outcome.
type counts map[deadletter.Outcome]int

func (o *office) replay(t *testing.T, f deadletter.Filter, opts deadletter.Options) counts {
	t.Helper()
	got := counts{}
	if err := o.service(nil, 0).Replay(t.Context(), f, opts,
		func(_ *deadletter.Letter, what deadletter.Outcome) { got[what]++ }); err != nil {
		t.Fatal(err)
	}
	return got
}

// sent returns what is in events.v1, by value: how often.
func (o *office) sent(t *testing.T) map[string]int {
	t.Helper()
	values := map[string]int{}
	err := kafka.NewLog(o.cfg, slog.New(slog.DiscardHandler)).Read(t.Context(), record.TopicEvents, time.Time{},
		func(r *record.Record, _ record.Position) error {
			values[string(r.Value)]++
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func (o *office) states(t *testing.T) map[deadletter.State]int {
	t.Helper()
	states := map[deadletter.State]int{}
	err := o.service(nil, 0).List(t.Context(), everything, func(_ *deadletter.Letter, s deadletter.State, _ error) error {
		states[s]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestALetterIsSentOnceUnlessAskedForAgain(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.write(t, "refused", 2, "a") // the sink's acknowledgement was lost
	o.write(t, deadletter.ReasonValue, 1, "b")

	same(t, "dry run", o.replay(t, everything, deadletter.Options{DryRun: true}), counts{deadletter.OutcomeSent: 2})
	same(t, "sent by the dry run", o.sent(t), map[string]int{})
	same(t, "states", o.states(t), map[deadletter.State]int{deadletter.StateOpen: 2})

	same(t, "first", o.replay(t, everything, deadletter.Options{}), counts{deadletter.OutcomeSent: 2})
	same(t, "second", o.replay(t, everything, deadletter.Options{}), counts{deadletter.OutcomeAlready: 2})
	same(t, "sent", o.sent(t), map[string]int{"a": 1, "b": 1})
	same(t, "states", o.states(t), map[deadletter.State]int{deadletter.StateReplayed: 2})

	values := everything
	values.Reason = deadletter.ReasonValue
	same(t, "again", o.replay(t, values, deadletter.Options{Again: true}), counts{deadletter.OutcomeSent: 1})
	same(t, "sent", o.sent(t), map[string]int{"a": 1, "b": 2})
}

func TestALetterIsSentAsOftenAsAllowedAndThenParked(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	hops := func(n int) []record.Header {
		return []record.Header{header(record.HeaderReplay, "1"), header(record.HeaderHops, strconv.Itoa(n))}
	}
	o.write(t, deadletter.ReasonValue, 1, "at the limit", hops(deadletter.MaxHops-1)...)
	o.write(t, deadletter.ReasonValue, 1, "beyond", hops(deadletter.MaxHops)...)
	same(t, "first", o.replay(t, everything, deadletter.Options{}),
		counts{deadletter.OutcomeSent: 1, deadletter.OutcomeParked: 1})
	same(t, "states", o.states(t), map[deadletter.State]int{deadletter.StateReplayed: 1, deadletter.StateParked: 1})
	same(t, "again", o.replay(t, everything, deadletter.Options{Again: true}),
		counts{deadletter.OutcomeSent: 1, deadletter.OutcomeAlready: 1})
	same(t, "sent", o.sent(t), map[string]int{"at the limit": 2})
}

func TestAParkedLetterIsLeftAlone(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.write(t, deadletter.ReasonValue, 1, "a")
	for _, want := range []counts{{deadletter.OutcomeParked: 1}, {deadletter.OutcomeAlready: 1}} {
		got := counts{}
		if err := o.service(nil, 0).Park(t.Context(), everything, false,
			func(_ *deadletter.Letter, what deadletter.Outcome) { got[what]++ }); err != nil {
			t.Fatal(err)
		}
		same(t, "park", got, want)
	}
	same(t, "replay", o.replay(t, everything, deadletter.Options{}), counts{deadletter.OutcomeAlready: 1})
	same(t, "sent", o.sent(t), map[string]int{})
	same(t, "again", o.replay(t, everything, deadletter.Options{Again: true}), counts{deadletter.OutcomeSent: 1})
	same(t, "sent", o.sent(t), map[string]int{"a": 1})
}

func TestALetterThatWouldComeBackNeedsForce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.write(t, deadletter.ReasonHeaders, 1, "a")
	same(t, "without", o.replay(t, everything, deadletter.Options{}), counts{deadletter.OutcomeNeedsForce: 1})
	same(t, "sent", o.sent(t), map[string]int{})
	same(t, "with", o.replay(t, everything, deadletter.Options{Force: true}), counts{deadletter.OutcomeSent: 1})
	same(t, "sent", o.sent(t), map[string]int{"a": 1})
}

// Of a letter that was cut, sending again would make another event than there was; one that is
// too large for a batch would fail, and all behind it with it.
func TestALetterThatIsTooLargeIsNeverSentAgain(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	n := deadletter.Note{
		Source: record.Position{Topic: record.TopicEvents, Partition: 1, Offset: 7},
		Reason: deadletter.ReasonHeaders, Err: errors.New("why"), At: time.Now(),
		Cut: &deadletter.Sizes{Key: 5, Value: 5 << 20},
	}
	cut, err := n.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	o.produce(t, record.TopicEvents+deadletter.Suffix, "{", cut)
	o.write(t, deadletter.ReasonValue, 1, strings.Repeat("x", 995_000))
	o.write(t, deadletter.ReasonValue, 1, "behind them")
	all := deadletter.Options{Force: true, Again: true}
	same(t, "replay", o.replay(t, everything, all), counts{deadletter.OutcomeTooLarge: 2, deadletter.OutcomeSent: 1})
	same(t, "sent", o.sent(t), map[string]int{"behind them": 1})
}

func TestALetterThatIsNotUnderstoodStopsEverything(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.write(t, deadletter.ReasonValue, 1, "good")
	o.produce(t, record.TopicEvents+deadletter.Suffix, "odd", []record.Header{header(deadletter.HeaderReason, "novel")})
	for name, do := range map[string]func(func(*deadletter.Letter, deadletter.Outcome)) error{
		"replay": func(report func(*deadletter.Letter, deadletter.Outcome)) error {
			return o.service(nil, 0).Replay(t.Context(), everything, deadletter.Options{Force: true}, report)
		},
		"park": func(report func(*deadletter.Letter, deadletter.Outcome)) error {
			return o.service(nil, 0).Park(t.Context(), everything, false, report)
		},
	} {
		err := do(func(*deadletter.Letter, deadletter.Outcome) { t.Error("something was done") })
		if err == nil || !cmp.Equal(o.sent(t), map[string]int{}) {
			t.Errorf("%s: the error is %v, and sent is %v", name, err, o.sent(t))
		}
	}
}

func TestLettersAreSelected(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.write(t, deadletter.ReasonValue, 1, "a", eventHeaders("a")...)
	o.write(t, deadletter.ReasonTime, 1, "b", header(record.HeaderWebsite, "web_2"))
	o.write(t, "refused", 1, "c", header(record.HeaderOrganization, "org_2"))
	var third record.Position
	err := o.service(nil, 0).List(t.Context(), everything, func(l *deadletter.Letter, _ deadletter.State, _ error) error {
		if string(l.Value) == "c" {
			third = l.Position
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for want, f := range map[string]deadletter.Filter{
		"abc": {},
		"a":   {Website: "web_1"},
		"b":   {Class: deadletter.ClassInvariant},
		"c":   {Reason: "refused"},
		"ab":  {}, // until the third's
		" c":  {Position: &third},
		"c ":  {Organization: "org_2"},
		"":    {Since: now.Add(time.Hour)},
		" ":   {Reason: deadletter.ReasonValue, Class: deadletter.ClassInvariant},
	} {
		f.Topics = everything.Topics
		if want == "ab" {
			f.Until = letterTime(t, o, third)
		}
		got := ""
		err := o.service(nil, 0).List(t.Context(), f, func(l *deadletter.Letter, _ deadletter.State, _ error) error {
			got += string(l.Value)
			return nil
		})
		if err != nil || got != trim(want) {
			t.Errorf("%+v selects %q, %v, want %q", f, got, err, want)
		}
	}
	for _, f := range []deadletter.Filter{{Reason: "novel"}, {Class: "novel"}} {
		f.Topics = everything.Topics
		if err := o.service(nil, 0).List(t.Context(), f, nil); err == nil {
			t.Errorf("%+v is accepted", f)
		}
	}
}

func trim(s string) string {
	for len(s) > 0 && s[0] == ' ' {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
}

func letterTime(t *testing.T, o *office, at record.Position) (when time.Time) {
	t.Helper()
	err := o.service(nil, 0).Show(t.Context(), at, func(l *deadletter.Letter, _ deadletter.State, _ error) error {
		when = l.At
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestALetterThatIsNotThereIsAnError(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.write(t, deadletter.ReasonValue, 1, "a")
	for _, at := range []record.Position{{Topic: "events.v1.dlq", Partition: 99}, {Topic: "events.v1.dlq", Offset: 99}} {
		err := o.service(nil, 0).Show(t.Context(), at, func(*deadletter.Letter, deadletter.State, error) error {
			t.Error("it shows something")
			return nil
		})
		if err == nil {
			t.Errorf("%v is there", at)
		}
	}
}

var errKilled = errors.New("killed by the test")

// mortal is a publisher that ends at a publication: before it is sent, or after
// it with the response lost.
type mortal struct {
	deadletter.Publisher

	left  int
	after bool
}

func (m *mortal) Publish(ctx context.Context, recs []record.Record) error {
	if m.left--; m.left > 0 {
		return m.Publisher.Publish(ctx, recs)
	}
	if m.left == 0 && m.after {
		return errors.Join(errKilled, m.Publisher.Publish(ctx, recs))
	}
	return errKilled
}

func TestAReplayThatDiesAnywhereLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	const letters, publications = 1100, 9 // three batches of three steps
	for step := 1; step <= publications; step++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(step, after), func(t *testing.T) {
				t.Parallel()
				o := newOffice(t)
				want := map[string]int{}
				for i := range letters {
					o.writeSoon(t, fmt.Sprint("letter-", i))
					want[fmt.Sprint("letter-", i)] = 1
				}
				if err := o.client.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				ignore := func(*deadletter.Letter, deadletter.Outcome) {}
				err := o.service(&mortal{o.producer, step, after}, 0).Replay(t.Context(), everything, deadletter.Options{}, ignore)
				if !errors.Is(err, errKilled) {
					t.Fatalf("the replay ended with %v", err)
				}
				// At once, what the dead replay marked is left alone; later it is not.
				for _, ahead := range []time.Duration{0, time.Hour, time.Hour} {
					if err := o.service(nil, ahead).Replay(t.Context(), everything, deadletter.Options{}, ignore); err != nil {
						t.Fatal(err)
					}
					for value, n := range o.sent(t) {
						if n > 1 {
							t.Fatalf("%s was sent %d times", value, n)
						}
					}
				}
				same(t, "sent", o.sent(t), want)
				same(t, "states", o.states(t), map[deadletter.State]int{deadletter.StateReplayed: letters})
			})
		}
	}
}

// writeSoon is write without waiting.
func (o *office) writeSoon(t *testing.T, value string) {
	t.Helper()
	o.offset++
	n := deadletter.Note{
		Source: record.Position{Topic: record.TopicEvents, Partition: 1, Offset: o.offset}, Reason: "refused",
		Err: errors.New("why"), At: time.Now(),
	}
	all, err := n.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &kgo.Record{
		Topic: kafka.TopicName(o.cfg, record.TopicEvents+deadletter.Suffix), Key: []byte(value), Value: []byte(value),
	}
	for _, h := range all {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	o.client.Produce(t.Context(), r, nil)
}

func TestReplaysAtTheSameTimeShareTheLetters(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	want := map[string]int{}
	for i := range 700 {
		o.writeSoon(t, fmt.Sprint("letter-", i))
		want[fmt.Sprint("letter-", i)] = 1
	}
	if err := o.client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if err := o.service(nil, 0).Replay(t.Context(), everything, deadletter.Options{},
				func(*deadletter.Letter, deadletter.Outcome) {}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	same(t, "sent", o.sent(t), want)
}

func TestWhatAReplayLongAgoMayHaveSentIsNotSentUnasked(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.write(t, "refused", 1, "a")
	got := counts{}
	report := func(_ *deadletter.Letter, what deadletter.Outcome) { got[what]++ }
	if err := o.service(&mortal{o.producer, 2, true}, 0).Replay(t.Context(), everything,
		deadletter.Options{}, report); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	const week = 7 * 24 * time.Hour // its record may have left the topic by then
	for range 2 {
		if err := o.service(nil, week).Replay(t.Context(), everything, deadletter.Options{}, report); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "outcomes", got, counts{deadletter.OutcomeUnsure: 2})
	if err := o.service(nil, week).Replay(t.Context(), everything, deadletter.Options{Again: true}, report); err != nil {
		t.Fatal(err)
	}
	same(t, "outcomes", got, counts{deadletter.OutcomeUnsure: 2, deadletter.OutcomeSent: 1})
	same(t, "sent", o.sent(t), map[string]int{"a": 2})
}
