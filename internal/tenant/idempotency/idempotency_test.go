package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/idempotency"
)

var (
	errDown = errors.New("the store is away")
	start   = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
)

// store keeps rows in memory, by caller and key.
type store struct {
	mu     sync.Mutex
	now    time.Time
	err    error // of every call
	rows   map[string]idempotency.Row
	forgot []time.Time
}

func newStore() *store { return &store{now: start, rows: map[string]idempotency.Row{}} }

// calls are those that go by the store's clock, as another process would.
func (s *store) calls() *idempotency.Calls {
	return idempotency.New(s, func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.now
	})
}

func (s *store) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func name(r *idempotency.Row) string { return r.Caller + string(r.Key[:]) }

func (s *store) ClaimCall(
	_ context.Context, r *idempotency.Row, since, lost time.Time,
) (*idempotency.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, there := s.rows[name(r)]
	nothing := before.Sealed == nil && !before.Changed && !before.StartedAt.After(lost)
	if there && !before.StartedAt.Before(since) && !nothing || s.err != nil {
		return &before, s.err
	}
	s.rows[name(r)] = *r
	return nil, nil //nolint:nilnil // the interface says so
}

func (s *store) FinishCall(_ context.Context, r *idempotency.Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[name(r)] = *r
	return s.err
}

func (s *store) AbandonCall(_ context.Context, r *idempotency.Row, unchanged bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !unchanged || !s.rows[name(r)].Changed {
		delete(s.rows, name(r))
	}
	return s.err
}

// change notes that the call of a context has changed something.
func (s *store) change(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.rows[name(idempotency.Of(ctx))]
	row.Changed = true
	s.rows[name(&row)] = row
}

func (s *store) ForgetCalls(_ context.Context, before time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgot = append(s.forgot, before)
	return s.err
}

func call() *idempotency.Call {
	return &idempotency.Call{
		Caller: "user:usr_1", Key: "once", Operation: "/rpc/things/create", Body: []byte(`{"name":"x"}`), Credential: "token",
	}
}

func begin(t *testing.T, k *idempotency.Calls) *idempotency.Claim {
	t.Helper()
	claim, response, err := k.Begin(t.Context(), call())
	if claim == nil || response != nil || err != nil {
		t.Fatalf("Begin() = %v, %q, %v, want a claim", claim, response, err)
	}
	return claim
}

func TestACallThatComesAgainWithinADayGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	s := newStore()
	if err := begin(t, s.calls()).Finish(t.Context(), []byte("answer")); err != nil {
		t.Fatal(err)
	}
	s.pass(idempotency.Keep)
	if claim, response, err := s.calls().Begin(t.Context(), call()); claim != nil ||
		string(response) != "answer" || err != nil {
		t.Errorf("after a day: %v, %q, %v", claim, response, err)
	}
	s.pass(time.Nanosecond)
	begin(t, s.calls())
}

func TestWhatIsLeftOfACallThatHasChangedSomethingIsRejected(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]string{
		0: "still running", time.Minute - 1: "still running",
		time.Minute: "was interrupted", idempotency.Keep: "was interrupted",
	} {
		s := newStore()
		first := begin(t, s.calls())
		s.change(first.Within(t.Context()))
		if err := first.AbandonUnchanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.pass(after)
		claim, response, err := s.calls().Begin(t.Context(), call())
		if claim != nil || response != nil || !apierr.Is(err, apierr.Conflict) || !strings.Contains(err.Error(), want) {
			t.Errorf("after %s: %v, %q, %v, want %q", after, claim, response, err, want)
		}
	}
}

func TestACallThatWasCutOffBeforeItChangedAnythingIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := newStore()
	begin(t, s.calls())
	s.pass(time.Minute - 1)
	if _, _, err := s.calls().Begin(t.Context(), call()); !apierr.Is(err, apierr.Conflict) {
		t.Errorf("while it may still run: %v", err)
	}
	s.pass(1)
	begin(t, s.calls())
	s = newStore()
	if err := begin(t, s.calls()).AbandonUnchanged(t.Context()); err != nil {
		t.Fatal(err)
	}
	begin(t, s.calls()) // at once, where it is known that it failed
	if idempotency.Of(t.Context()) != nil {
		t.Error("a change without a call is one's")
	}
}

func TestACallThatWasRejectedLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newStore()
	if err := begin(t, s.calls()).Abandon(t.Context()); err != nil || len(s.rows) != 0 {
		t.Errorf("Abandon() = %v, %d rows", err, len(s.rows))
	}
	begin(t, s.calls())
}

func TestAKeyStandsForOneCallOfOneCaller(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct {
		change func(*idempotency.Call)
		want   apierr.Code // none where it is a call of its own
	}{
		"another body":      {func(c *idempotency.Call) { c.Body = []byte("{}") }, apierr.KeyReused},
		"another operation": {func(c *idempotency.Call) { c.Operation += "x" }, apierr.KeyReused},
		"a part moved": {
			func(c *idempotency.Call) { c.Operation, c.Body = c.Operation+"{", c.Body[1:] }, apierr.KeyReused,
		},
		"another credential": {func(c *idempotency.Call) { c.Credential = "another" }, apierr.Conflict},
		"another caller":     {func(c *idempotency.Call) { c.Caller = "user:usr_2" }, ""},
		"another key":        {func(c *idempotency.Call) { c.Key = "twice" }, ""},
	} {
		s := newStore()
		if err := begin(t, s.calls()).Finish(t.Context(), []byte("secret")); err != nil {
			t.Fatal(err)
		}
		c := call()
		tc.change(c)
		claim, response, err := s.calls().Begin(t.Context(), c)
		if response != nil || (claim == nil) != (tc.want != "") || (err == nil) != (tc.want == "") ||
			err != nil && !apierr.Is(err, tc.want) {
			t.Errorf("%s: %v, %q, %v, want %s", what, claim, response, err, tc.want)
		}
	}
}

// Neither the response nor the caller's key can be read in what is kept.
func TestTheStoreHoldsNoSecret(t *testing.T) {
	t.Parallel()
	s := newStore()
	if err := begin(t, s.calls()).Finish(t.Context(), []byte("the secret")); err != nil {
		t.Fatal(err)
	}
	for _, row := range s.rows {
		if bytes.Contains(row.Sealed, []byte("secret")) || bytes.Contains(row.Key[:], []byte("once")) {
			t.Errorf("kept %+v", row)
		}
		row.Sealed = row.Sealed[:3]
		s.rows[name(&row)] = row
	}
	if _, response, err := s.calls().Begin(t.Context(), call()); response != nil || !apierr.Is(err, apierr.Conflict) {
		t.Errorf("of a cut row: %q, %v", response, err)
	}
}

func TestAKeyIsPrintableAndNotTooLong(t *testing.T) {
	t.Parallel()
	k := newStore().calls()
	for key, good := range map[string]bool{
		"k": true, strings.Repeat("k", idempotency.MaxKeyLen): true, "!~": true,
		"": false, strings.Repeat("k", idempotency.MaxKeyLen+1): false, "a b": false, "a\x7f": false, "é": false,
	} {
		c := call()
		c.Key = key
		if claim, _, err := k.Begin(t.Context(), c); (claim != nil) != good || !good && !apierr.Is(err, apierr.Validation) {
			t.Errorf("key %.10q of %d bytes: %v, %v", key, len(key), claim, err)
		}
	}
}

func TestOldCallsAreForgottenHourly(t *testing.T) {
	t.Parallel()
	s := newStore()
	k := s.calls()
	for _, after := range []time.Duration{0, time.Hour - 1, 1} {
		s.pass(after)
		if _, _, err := k.Begin(t.Context(), call()); err != nil && !apierr.Is(err, apierr.Conflict) {
			t.Fatal(err)
		}
	}
	want := []time.Time{start.Add(-idempotency.Keep), start.Add(time.Hour - idempotency.Keep)}
	if diff := cmp.Diff(want, s.forgot); diff != "" {
		t.Errorf("forgotten before (-want +got):\n%s", diff)
	}
}

func TestOfCallsAtOneTimeOneIsMade(t *testing.T) {
	t.Parallel()
	s := newStore()
	var wg sync.WaitGroup
	claims := make(chan *idempotency.Claim, 8)
	for range cap(claims) {
		k := s.calls()
		wg.Go(func() {
			if claim, _, err := k.Begin(t.Context(), call()); claim != nil || !apierr.Is(err, apierr.Conflict) {
				claims <- claim
			}
		})
	}
	wg.Wait()
	if len(claims) != 1 {
		t.Errorf("%d calls were made", len(claims))
	}
}

func TestAStoreThatIsAwayIsNoClaim(t *testing.T) {
	t.Parallel()
	s := newStore()
	claim := begin(t, s.calls())
	s.err = errDown
	if got, response, err := s.calls().Begin(t.Context(), call()); got != nil || response != nil ||
		!errors.Is(err, errDown) {
		t.Errorf("Begin() = %v, %q, %v", got, response, err)
	}
	if err := claim.Finish(t.Context(), nil); !errors.Is(err, errDown) {
		t.Errorf("Finish() = %v", err)
	}
}
