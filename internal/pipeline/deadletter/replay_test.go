package deadletter

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/record"
)

// topics are topics in memory, with one partition each.
type topics struct {
	mu sync.Mutex
	of map[string][]record.Record
}

func (m *topics) Read(
	_ context.Context, topic string, since time.Time, do func(*record.Record, record.Position) error,
) error {
	m.mu.Lock()
	all := slices.Clone(m.of[topic])
	m.mu.Unlock()
	for i := range all {
		if all[i].Time.Before(since) {
			continue
		}
		if err := do(&all[i], record.Position{Topic: topic, Offset: int64(i)}); err != nil {
			return err
		}
	}
	return nil
}

func (m *topics) At(_ context.Context, at record.Position, do func(*record.Record, record.Position) error) error {
	m.mu.Lock()
	r := m.of[at.Topic][at.Offset]
	m.mu.Unlock()
	return do(&r, at)
}

func (m *topics) Publish(_ context.Context, recs []record.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range recs {
		m.of[r.Topic] = append(m.of[r.Topic], r)
	}
	return nil
}

// A letter that is too large to be sent again is never sent, whatever is asked for. That it is
// in somebody's hands, was dealt with or was sent too often is said first; that its reason needs
// force is not said, for force would not help.
func TestALetterThatIsTooLargeIsNeverSent(t *testing.T) {
	t.Parallel()
	all := Options{Again: true, Force: true}
	for _, tc := range []struct {
		name   string
		reason Reason
		hops   string
		marked State // "" is none
		ago    time.Duration
		opts   Options
		want   Outcome
	}{
		{"open", ReasonValue, "0", "", 0, Options{}, OutcomeTooLarge},
		{"whatever is asked for", ReasonValue, "0", "", 0, all, OutcomeTooLarge},
		{"it needs force", ReasonHeaders, "0", "", 0, Options{}, OutcomeTooLarge},
		{"with force", ReasonHeaders, "0", "", 0, Options{Force: true}, OutcomeTooLarge},
		{"parked", ReasonValue, "0", StateParked, time.Hour, Options{}, OutcomeAlready},
		{"parked, again", ReasonValue, "0", StateParked, time.Hour, all, OutcomeTooLarge},
		{"in other hands", ReasonValue, "0", StateSending, lease - 1, all, OutcomeElsewhere},
		{"sent as often as it may be", ReasonValue, "2", "", 0, all, OutcomeTooLarge},
		{"sent too often", ReasonValue, "3", "", 0, all, OutcomeParked},
		{"parked for that", ReasonValue, "3", StateParked, time.Hour, all, OutcomeAlready},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			n := note(tc.reason)
			n.Cut = &Sizes{Value: 5 << 20}
			r := stored(t, n, "web_1", "{", header(record.HeaderReplay, "1"), header(record.HeaderHops, tc.hops))
			m := &topics{of: map[string][]record.Record{r.Topic: {*r}}}
			if tc.marked != "" {
				l, err := Parse(r, record.Position{Topic: r.Topic})
				if err != nil {
					t.Fatal(err)
				}
				m.of[MarksTopic] = []record.Record{markRecord(l.ID(), Mark{State: tc.marked, Run: "other"}, noon.Add(-tc.ago))}
			}
			s := New(Deps{Reader: m, Publisher: m, Now: func() time.Time { return noon }})
			var got []Outcome
			report := func(_ *Letter, what Outcome) { got = append(got, what) }
			filter := Filter{Topics: []string{record.TopicEvents}}
			if err := s.Replay(t.Context(), filter, tc.opts, report); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]Outcome{tc.want}, got); diff != "" || len(m.of[record.TopicEvents]) > 0 {
				t.Errorf("%d records are sent; outcomes (-want +got):\n%s", len(m.of[record.TopicEvents]), diff)
			}
		})
	}
}

// At the limit it is sent, and one byte beyond it is not.
func TestALetterIsSentAsLongAsABatchTakesIt(t *testing.T) {
	t.Parallel()
	const key = "web_1"
	for size, want := range map[int]Outcome{maxSent: OutcomeSent, maxSent + 1: OutcomeTooLarge} {
		r := stored(t, note(ReasonValue), key, strings.Repeat("v", size-len(key)))
		m := &topics{of: map[string][]record.Record{r.Topic: {*r}}}
		s := New(Deps{Reader: m, Publisher: m, Now: func() time.Time { return noon }})
		var got Outcome
		report := func(_ *Letter, what Outcome) { got = what }
		if err := s.Replay(t.Context(), Filter{Topics: []string{record.TopicEvents}}, Options{}, report); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("a letter of %d bytes is %s, want %s", size, got, want)
		}
	}
}
