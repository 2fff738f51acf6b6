package deadletter_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

func TestMain(m *testing.M) { clickhousetest.Main(m) }

func TestAReplayedLetterIsStoredOnceHoweverOftenItIsReplayed(t *testing.T) {
	t.Parallel()
	_, cfg := kafkatest.Cluster(t)
	o := officeAt(t, cfg)
	s := harness.StartSink(t, cfg)
	const letters = 20
	for i := range letters {
		id := fmt.Sprint("refused-", i)
		o.write(t, "refused", 1, eventValue(id), eventHeaders(id)...)
	}
	stored := func(want int) {
		t.Helper()
		testkit.Eventually(t, time.Minute, func() error {
			got, err := s.StoredIDsOf(t.Context(), "web_1")
			if err == nil && len(got) != want {
				err = fmt.Errorf("%d events are stored, want %d", len(got), want)
			}
			return err
		})
	}
	same(t, "first", o.replay(t, everything, deadletter.Options{}), counts{deadletter.OutcomeSent: letters})
	stored(letters)
	same(t, "again", o.replay(t, everything, deadletter.Options{Again: true}), counts{deadletter.OutcomeSent: letters})
	// Another event behind them in the same partition shows that they were read.
	o.write(t, "refused", 1, eventValue("last"), eventHeaders("last")...)
	same(t, "last", o.replay(t, everything, deadletter.Options{}),
		counts{deadletter.OutcomeAlready: letters, deadletter.OutcomeSent: 1})
	stored(letters + 1)
}

func TestALetterThatKeepsComingBackIsParkedInTheEnd(t *testing.T) {
	t.Parallel()
	_, cfg := kafkatest.Cluster(t)
	o := officeAt(t, cfg)
	harness.StartSink(t, cfg)
	o.write(t, "value", 1, "no event", eventHeaders("x")...)
	last := &deadletter.Letter{}
	for hops := 1; hops <= deadletter.MaxHops; hops++ {
		same(t, "replay", o.replay(t, everything, deadletter.Options{})[deadletter.OutcomeSent], 1)
		testkit.Eventually(t, time.Minute, func() error {
			err := o.service(nil, 0).List(t.Context(), everything,
				func(l *deadletter.Letter, _ deadletter.State, problem error) error {
					if l.Hops == hops {
						last = l
					}
					return problem
				})
			if err == nil && last.Hops != hops {
				err = fmt.Errorf("the last letter has %d hops, want %d", last.Hops, hops)
			}
			return err
		})
	}
	if len(last.Trace) != deadletter.MaxHops || !last.FirstSeen.Before(last.At) || string(last.Value) != "no event" {
		t.Errorf("the last letter is %+v", last)
	}
	same(t, "the last replay", o.replay(t, everything, deadletter.Options{}), counts{
		deadletter.OutcomeAlready: deadletter.MaxHops, deadletter.OutcomeParked: 1,
	})
	same(t, "states", o.states(t),
		map[deadletter.State]int{deadletter.StateReplayed: deadletter.MaxHops, deadletter.StateParked: 1})
}

func TestARejectedEventIsStoredOnceWhenWhatRejectedItIsGone(t *testing.T) {
	t.Parallel()
	_, cfg := kafkatest.Cluster(t)
	o := officeAt(t, cfg)
	s := harness.StartSink(t, cfg)
	alter := func(statement string) {
		t.Helper()
		conn, err := clickhouse.Dial(t.Context(), s.ClickHouse)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.Do(t.Context(), ch.Query{Body: statement}); err != nil {
			t.Fatal(err)
		}
	}
	alter("ALTER TABLE events ADD CONSTRAINT picky CHECK NOT startsWith(event_id, 'bad')")
	ids := []string{"good-1", "bad-1", "good-2", "bad-2", "good-3"}
	for _, id := range ids {
		o.produce(t, record.TopicEvents, eventValue(id), eventHeaders(id))
	}
	testkit.Eventually(t, time.Minute, func() error {
		if n := o.states(t)[deadletter.StateOpen]; n != 2 {
			return fmt.Errorf("%d letters are there, want 2", n)
		}
		return nil
	})
	rejected := everything
	rejected.Reason = deadletter.ReasonRejected
	alter("ALTER TABLE events DROP CONSTRAINT picky")
	same(t, "replay", o.replay(t, rejected, deadletter.Options{}), counts{deadletter.OutcomeSent: 2})
	testkit.Eventually(t, time.Minute, func() error {
		got, err := s.StoredIDsOf(t.Context(), "web_1")
		slices.Sort(got)
		if want := slices.Sorted(slices.Values(ids)); err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("stored are %v, want %v", got, want)
		}
		return err
	})
	same(t, "a second replay", o.replay(t, rejected, deadletter.Options{}), counts{deadletter.OutcomeAlready: 2})
}
