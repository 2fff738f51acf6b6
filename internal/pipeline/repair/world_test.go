package repair_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/repair"
)

type (
	touched = ledger.Touched
	entry   = ledger.Entry
)

var (
	pipeline = repair.Pipeline{Topic: record.TopicEvents, Group: "sinks"}
	topicID  = [16]byte{1, 2, 3}
	errDown  = errors.New("down")
)

const (
	noon = 1_774_778_400_123 // of 29 March 2026
	day  = 24 * 60 * 60 * 1000
)

// world is all that repairs ask, of one topic. What changes something is noted in calls, and
// fails where fail names it.
type world struct {
	members   [][]string // at each time that somebody asks; the last one stays
	committed map[int32]repair.Committed
	logs      map[int32][]event // from offset 100 on
	stored    map[int32]int64
	since     []touched
	listed    []ledger.Listed
	differ    []touched
	busy      bool

	fail  string
	calls []string
	gaps  []*entry
	marks []ledger.Mark
}

// event is a record of an owner at a time.
type event struct {
	owner  string
	millis int64
}

const start = 100

func (w *world) note(call string, about ...any) error {
	w.calls = append(w.calls, call+fmt.Sprint(about...))
	if call == w.fail {
		return errDown
	}
	return nil
}

func (w *world) Members(context.Context, string) ([]string, error) {
	if len(w.members) == 0 {
		return nil, nil
	}
	now := w.members[0]
	if len(w.members) > 1 {
		w.members = w.members[1:]
	}
	return now, nil
}

func (w *world) Committed(context.Context, string, string) (map[int32]repair.Committed, error) {
	return w.committed, nil
}

func (w *world) Commit(_ context.Context, _, _ string, to map[int32]repair.Committed) error {
	offsets := map[int32]int64{}
	for p, c := range to {
		offsets[p] = c.Offset
	}
	err := w.note("commit ", offsets)
	if err == nil {
		w.committed = to
	}
	return err
}

func (w *world) Describe(context.Context, string) ([16]byte, map[int32]repair.Bounds, error) {
	bounds := map[int32]repair.Bounds{}
	for p, log := range w.logs {
		bounds[p] = repair.Bounds{Start: start, End: start + int64(len(log))}
	}
	return topicID, bounds, nil
}

func (w *world) After(_ context.Context, _ string, millis int64) (map[int32]int64, error) {
	after := map[int32]int64{}
	for p, log := range w.logs {
		after[p] = start + int64(len(log))
		for i, e := range log {
			if e.millis >= millis {
				after[p] = start + int64(i)
				break
			}
		}
	}
	return after, nil
}

func (w *world) Values(_ context.Context, _ string, p int32, from, to int64, do func([]byte) error) error {
	for _, e := range w.logs[p][from-start : to-start] {
		value := record.AppendEvent(nil, &record.Event{
			ID: []byte("e"), Organization: []byte("org_1"), Website: []byte(e.owner), Owner: []byte(e.owner),
			Type: []byte("custom"), Name: []byte("n"),
			TimeMillis: e.millis, ReceivedAt: noon,
		})
		if err := do(value); err != nil {
			return err
		}
	}
	return nil
}

func (*world) Epoch(context.Context, string) (int64, error) { return 7, nil }

func (w *world) RaiseEpoch(context.Context, string, string) (int64, error) {
	return 8, w.note("raise the epoch")
}

func (w *world) StoredTo(_ context.Context, _ [16]byte, p int32) (int64, error) {
	return w.stored[p], nil
}

func (w *world) Write(_ context.Context, e *entry, _ string) error {
	w.gaps = append(w.gaps, e)
	return w.note("write a gap ", e.Span.First, e.Span.Last)
}

func (w *world) SetMarks(_ context.Context, marks []ledger.Mark) error {
	w.marks = append(w.marks, marks...)
	return w.note("set marks")
}

func (w *world) List(_ context.Context, days []ledger.Listed) error {
	if err := w.note("list ", len(days), " ", days[0].Reason); err != nil {
		return err
	}
	w.listed = append(w.listed, days...)
	return nil
}

func (w *world) Listed(context.Context) ([]ledger.Listed, error) { return w.listed, nil }

func (w *world) Rebuilding(context.Context) (bool, error) { return w.busy, nil }

func (w *world) Rebuild(_ context.Context, days []touched) error {
	return w.note("rebuild ", len(days))
}

func (w *world) Differing(context.Context, []touched) ([]touched, error) { return w.differ, nil }

func (w *world) Clear(_ context.Context, days []touched) error { return w.note("clear ", len(days)) }

// PartitionOf goes by the last letter of a key.
func (*world) PartitionOf(key string, partitions int) int32 {
	return int32(int(key[len(key)-1]) % partitions)
}

func (w *world) Grow(_ context.Context, _ string, partitions int) error {
	return w.note("grow to ", partitions)
}

func (w *world) TouchedSince(context.Context, [16]byte, int64) ([]touched, error) {
	return w.since, nil
}

// metadata is what a sink has committed beside an offset, with a plan of these offsets where
// there are two.
func metadata(t *testing.T, plan ...int64) string {
	t.Helper()
	state := ledger.NewState(topicID, 7)
	if len(plan) > 0 {
		state.Plan = &[2]int64{plan[0], plan[1]}
	}
	text, err := state.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
