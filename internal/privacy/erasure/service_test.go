package erasure

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/privacy/tombstone"
	"github.com/millrace/millrace/internal/tenant/attempt"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// registry is a Registry that knows salts.
type registry struct {
	Registry

	salts   map[time.Time][]byte
	charged map[[32]byte]int
}

// Charge implements attempt.Store: of a registry with counts.
func (b registry) Charge(_ context.Context, _ time.Time, all ...attempt.Charge) (*attempt.Rejection, error) {
	for _, c := range all {
		if b.charged != nil && b.charged[c.Key] >= c.Burst {
			return &attempt.Rejection{Charge: c, Wait: c.Interval}, nil
		}
		if b.charged != nil {
			b.charged[c.Key]++
		}
	}
	return nil, nil
}

func (b registry) Salts(context.Context) (map[time.Time][]byte, error)   { return b.salts, nil }
func (registry) CreateErasure(context.Context, audit.By, *Erasure) error { return nil }

// requested asks for an erasure at a time and returns what sinks are told.
func requested(t *testing.T, b registry, at time.Time, subject Subject) (*Erasure, *tombstone.Set) {
	t.Helper()
	subject.OrganizationID, subject.OwnerID = "org_1", "web_1"
	e, err := NewService(b, func() time.Time { return at }).Request(t.Context(), audit.By{}, subject)
	if err != nil {
		t.Fatal(err)
	}
	return e, tombstone.NewSet(e.Tombstones())
}

func TestAnErasureTakesWhatEdgesAheadHadReceivedAndLeavesWhoComesBack(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC)
	e, set := requested(t, registry{}, at, Subject{ProfileID: "anna"})
	if want := at.Truncate(time.Millisecond); !e.RequestedAt.Equal(want) {
		t.Errorf("requested at %s, want %s", e.RequestedAt, want)
	}
	for after, want := range map[time.Duration]bool{
		-time.Hour: true, 0: true, ClockSlack: true, ClockSlack + time.Millisecond: false,
	} {
		if got := set.Covers([]byte("web_1"), []byte("anna"), nil, at.Add(after).UnixMilli()); got != want {
			t.Errorf("what was received %s after the request is covered: %t", after, got)
		}
	}
}

func TestAVisitorIsErasedUnderTheHashesThatEdgesMayHaveMade(t *testing.T) {
	t.Parallel()
	yesterday := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	today := yesterday.AddDate(0, 0, 1)
	salts := registry{salts: map[time.Time][]byte{yesterday: []byte("y"), today: []byte("t")}}
	for _, tc := range []struct {
		before time.Duration // midnight
		days   []string
	}{
		{time.Hour, []string{"2026-03-01"}},
		{ClockSlack + time.Millisecond, []string{"2026-03-01"}},
		{ClockSlack, []string{"2026-03-01", "2026-03-02"}}, // an edge that is ahead may hash with it
		{-time.Minute, []string{"2026-03-01", "2026-03-02"}},
	} {
		at := today.Add(-tc.before)
		e, set := requested(t, salts, at, Subject{AnonymousID: "v"})
		if diff := cmp.Diff(tc.days, e.Days); diff != "" {
			t.Errorf("%s before midnight (-want +got):\n%s", tc.before, diff)
		}
		hashed := event.AppendHashedVisitor(nil, []byte("v"), []byte("t"))
		if got := set.Covers([]byte("web_1"), nil, hashed, e.Before.UnixMilli()); got != (len(tc.days) == 2) {
			t.Errorf("%s before midnight the next day's hash is covered: %t", tc.before, got)
		}
	}
}

func TestAUserWhoIsCalledByAnAddressIsErasedUnderItsHashToo(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for profile, stones := range map[string]int{"Ada@example.com": 2, "ada": 1} {
		e, set := requested(t, registry{}, at, Subject{ProfileID: profile})
		hash := event.AppendHashedEmail(nil, []byte("web_1"), []byte("ada@example.com"))
		if got := set.Covers([]byte("web_1"), hash, nil, at.UnixMilli()); got != (stones == 2) || len(e.Stones) != stones {
			t.Errorf("%s: %d stones, the hash is covered: %t", profile, len(e.Stones), got)
		}
		if !set.Covers([]byte("web_1"), []byte(profile), nil, at.UnixMilli()) ||
			e.Stones[0].ID != tombstone.IDOf(tombstone.Profile, []byte("web_1"), []byte(profile)) {
			t.Errorf("%s is not what the erasure is about first", profile)
		}
	}
}

func TestAUserIsErasedTogetherWithAVisitorIDThatIsNamed(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	e, set := requested(t, registry{salts: map[time.Time][]byte{day: []byte("s")}}, day.Add(time.Hour),
		Subject{ProfileID: "anna", AnonymousID: "v"})
	anna := tombstone.IDOf(tombstone.Profile, []byte("web_1"), []byte("anna"))
	if e.Kind != tombstone.Profile || e.Stones[0].ID != anna || len(e.Days) != 1 {
		t.Errorf("the erasure is %+v", e)
	}
	hashed := event.AppendHashedVisitor(nil, []byte("v"), []byte("s"))
	for visitor, want := range map[string]bool{"v": true, string(hashed): true, "w": false} {
		if got := set.Covers([]byte("web_1"), nil, []byte(visitor), day.UnixMilli()); got != want {
			t.Errorf("rows of visitor %s are covered: %t", visitor, got)
		}
	}
	if _, err := NewService(registry{}, nil).Request(t.Context(), audit.By{}, Subject{OwnerID: "web_1"}); err == nil {
		t.Error("nobody is erased")
	}
}

func TestService_BoundsTheRequestsOfAnOrganization(t *testing.T) {
	t.Parallel()
	s := NewService(registry{charged: map[[32]byte]int{}}, nil)
	request := func(organization string) error {
		anna := Subject{OrganizationID: organization, OwnerID: "web_1", ProfileID: "anna"}
		_, err := s.Request(t.Context(), audit.By{}, anna)
		return err
	}
	for range Requests.Burst {
		if err := request("org_1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := request("org_1"); !apierr.Is(err, apierr.RateLimited) || apierr.Of(err).RetryAfter != Requests.Interval {
		t.Errorf("one more: %v", err)
	}
	if err := request("org_2"); err != nil {
		t.Errorf("of another organization: %v", err)
	}
	_, err := s.Request(t.Context(), audit.By{}, Subject{OrganizationID: "org_1", OwnerID: "web_1"})
	if !apierr.Is(err, apierr.Validation) {
		t.Errorf("without a visitor: %v", err)
	}
}
