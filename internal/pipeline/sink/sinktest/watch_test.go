package sinktest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

var (
	part  = sink.Partition{Topic: "events.v1", Index: 3}
	topic = [16]byte{1, 2}
)

// world is a source, an inserter and a ledger that note what they are asked.
type world struct {
	sink.Source
	sink.Inserter
	sink.Ledger

	listener sink.RebalanceListener
	calls    []string
	fails    error
}

func (w *world) Open(_ context.Context, listener sink.RebalanceListener) error {
	w.listener = listener
	return nil
}

func (w *world) Poll(_ context.Context, _ int64, deliver func(sink.Delivery)) error {
	deliver(sink.Delivery{Partition: part})
	return nil
}

func (w *world) Commit(context.Context, sink.Partition, sink.Session, sink.Progress) error {
	w.calls = append(w.calls, "commit")
	return w.fails
}

func (w *world) Insert(_ context.Context, _ sink.Block, insertToken string) error {
	w.calls = append(w.calls, "insert "+insertToken)
	return w.fails
}

func (w *world) Write(ctx context.Context, _ *ledger.Entry, _ string) error {
	w.calls = append(w.calls, "write")
	return errors.Join(w.fails, ctx.Err())
}

func (w *world) deps() sink.Deps { return sink.Deps{Source: w, Inserter: w, Ledger: w} }

// owner notes what it is told.
type owner struct {
	sink.RebalanceListener

	metadata []string
}

func (o *owner) Assigned(_ context.Context, all []sink.Assignment) {
	for _, a := range all {
		o.metadata = append(o.metadata, a.Metadata)
	}
}

func (o *owner) Revoked(context.Context, []sink.Partition) {}

// metadata is that of a plan, or of an offset.
func metadata(t *testing.T, plan *[2]int64) string {
	t.Helper()
	state := ledger.NewState(topic, 1)
	state.Plan = plan
	text, err := state.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// through has parts go through all steps of a range.
func through(t *testing.T, d sink.Deps, o sink.RebalanceListener, w *world) error {
	t.Helper()
	ctx := t.Context()
	if err := d.Source.Open(ctx, o); err != nil {
		return err
	}
	planned := metadata(t, &[2]int64{0, 9})
	w.listener.Assigned(ctx, []sink.Assignment{{Partition: part, TopicID: topic, Metadata: planned}})
	insertToken := "1:" + ledger.UUID(topic) + ":3:0-9:202611"
	w.listener.Revoked(ctx, []sink.Partition{part})
	return errors.Join(
		d.Source.Poll(ctx, 1, func(sink.Delivery) {}),
		d.Source.Commit(ctx, part, sink.Session{}, sink.Progress{Metadata: planned}),
		d.Inserter.Insert(ctx, nil, insertToken),
		d.Ledger.Write(ctx, &ledger.Entry{Topic: part.Topic, Partition: part.Index, Kind: ledger.EntryRange}, insertToken),
		d.Ledger.Write(ctx, &ledger.Entry{Topic: part.Topic, Partition: part.Index, Kind: ledger.EntryGap}, insertToken),
		d.Source.Commit(ctx, part, sink.Session{}, sink.Progress{Metadata: metadata(t, nil)}),
	)
}

func TestEveryPointIsReachedOnceInARange(t *testing.T) {
	t.Parallel()
	w := &world{}
	var got []Failpoint
	d := Watch(w.deps(), func(at Failpoint, p sink.Partition) {
		if p != part {
			t.Errorf("%s is told of %v", at, p)
		}
		got = append(got, at)
	})
	if err := through(t, d, &owner{}, w); err != nil {
		t.Fatal(err)
	}
	want := append([]Failpoint{FailpointRevoking}, Failpoints[:len(Failpoints)-1]...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
}

func TestAFailedStepReachesNothing(t *testing.T) {
	t.Parallel()
	w := &world{fails: errors.New("away")}
	var got []Failpoint
	if err := through(t,
		Watch(w.deps(), func(at Failpoint, _ sink.Partition) { got = append(got, at) }), &owner{}, w); err == nil {
		t.Fatal("nothing failed")
	}
	if diff := cmp.Diff(
		[]Failpoint{FailpointRevoking, FailpointPolled, FailpointInserting, FailpointInserted}, got); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
}

func TestWhoIsHeldBeforeTheLedgerHasItsWholeAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		d := Watch(w.deps(), func(at Failpoint, _ sink.Partition) {
			if at == FailpointInserted {
				time.Sleep(time.Minute) //nolint:forbidigo // fake time
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		e := &ledger.Entry{Kind: ledger.EntryRange}
		if err := d.Ledger.Write(ctx, e, "t"); err != nil {
			t.Errorf("after the hold: %v", err)
		}
		ended, end := context.WithTimeout(t.Context(), time.Hour)
		end()
		if err := d.Ledger.Write(ended, e, "t"); !errors.Is(err, context.Canceled) {
			t.Errorf("when it was to end: %v", err)
		}
	})
}

func TestWithoutALockTheRestIsAsItWas(t *testing.T) {
	t.Parallel()
	insertToken := "insert 1:" + ledger.UUID(topic) + ":3:0-9:202611"
	for name, tc := range map[string]struct {
		without  func(sink.Deps) sink.Deps
		metadata string
		calls    []string
	}{
		"nothing": {
			func(d sink.Deps) sink.Deps { return d }, metadata(t, &[2]int64{0, 9}),
			[]string{"commit", insertToken, "write", "write", "commit"},
		},
		"plan": {WithoutPlan, metadata(t, nil), []string{insertToken, "write", "write", "commit"}},
		"token": {
			WithoutInsertToken, metadata(t, &[2]int64{0, 9}), []string{"commit", "insert ", "write", "write", "commit"},
		},
	} {
		w, o, points := &world{}, &owner{}, 0
		if err := through(t, Watch(tc.without(w.deps()), func(Failpoint, sink.Partition) { points++ }), o, w); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.calls, w.calls); diff != "" {
			t.Errorf("without %s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([]string{tc.metadata}, o.metadata); diff != "" {
			t.Errorf("without %s, metadata (-want +got):\n%s", name, diff)
		}
		if points != len(Failpoints) {
			t.Errorf("without %s: %d points, want %d", name, points, len(Failpoints))
		}
	}
}
