package deadletter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/deadletter"
	"github.com/millrace/millrace/internal/kafka/kafkatest"
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
	same(t, "last", o.replay(t, everything, deadletter.Options{}), counts{deadletter.OutcomeAlready: letters, deadletter.OutcomeSent: 1})
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
			err := o.desk(nil, 0).List(t.Context(), everything, func(l *deadletter.Letter, _ deadletter.State, problem error) error {
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
	same(t, "states", o.states(t), map[deadletter.State]int{deadletter.StateReplayed: deadletter.MaxHops, deadletter.StateParked: 1})
}
