package flagapi

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/website"
)

// sent notes what is written, and so long after its making in seconds.
type sent struct {
	began time.Time
	lines []string
}

func (s *sent) Write(p []byte) (int, error) {
	what := "comment"
	if strings.Contains(string(p), "data:") {
		what = "event"
	} else if strings.Contains(string(p), "id:") {
		what = "begin"
	}
	s.lines = append(s.lines, fmt.Sprintf("%s %.0f", what, time.Since(s.began).Seconds()))
	return len(p), nil
}

// told has a stream run for a time in a bubble, and returns what it sent.
func told(t *testing.T, length time.Duration, seen *state, c *changing, during func()) []string {
	t.Helper()
	h := c.host()
	s := &telling{host: h, ref: "web_1", trusted: true, websiteID: "web_1", organizationID: "org_1"}
	if seen != nil {
		s.seen, s.knows = *seen, true
	}
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	to, done := &sent{began: time.Now()}, make(chan error)
	go func() { done <- s.write(ctx, to) }()
	if during != nil {
		during()
	}
	if err := <-done; err != nil || c.watched() > 0 {
		t.Errorf("%v, %d watches", err, c.watched())
	}
	return to.lines
}

func TestSomethingIsSentNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := told(t, 80*time.Second, nil, newChanging(t, boolean("nav")), nil)
		if diff := cmp.Diff([]string{"begin 0", "comment 25", "comment 50", "comment 75"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestTimesAtWhichFlagsChangeAreTold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		flags func() []*flag.Flag
		want  []string
	}{
		"a schedule that ends": {
			func() []*flag.Flag { return []*flag.Flag{ending("a", 10*time.Second), ending("b", 40*time.Second)} },
			[]string{"begin 0", "event 10", "comment 25", "event 40", "comment 50", "comment 75", "comment 100"},
		},
		"a ramp, each minute": {
			func() []*flag.Flag { return []*flag.Flag{ramping("a", 110*time.Second)} },
			[]string{"begin 0", "comment 25", "comment 50", "event 60", "comment 75", "comment 100", "event 110"},
		},
		"one that was over before": {
			func() []*flag.Flag { return []*flag.Flag{ending("a", -time.Second)} },
			[]string{"begin 0", "comment 25", "comment 50", "comment 75", "comment 100"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if diff := cmp.Diff(tc.want, told(t, 112*time.Second, nil, newChanging(t, tc.flags()...), nil)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestTimesThatPassedWhileNobodyListenedAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, ending("a", -time.Minute))
		view := c.set.View("web_1", true)
		for ago, want := range map[time.Duration]string{
			2 * time.Minute: "event 0", time.Second: "begin 0", -time.Hour: "begin 0",
		} {
			seen := stateOf(c.set, view, time.Now().Add(-ago))
			if got := told(t, time.Second, &seen, c, nil); len(got) != 1 || got[0] != want {
				t.Errorf("seen %s ago: %v, want %s", ago, got, want)
			}
		}
	})
}

// What cannot be read is looked at again with the next heartbeat, and nobody is sent away.
func TestAStreamOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, boolean("nav"))
		got := told(t, 60*time.Second, nil, c, func() {
			synctest.Wait()
			c.fail(apierr.New(apierr.ServiceUnavailable))
			c.change(t, 2, changed(boolean("nav")))
			<-time.After(30 * time.Second) // of the bubble
			c.fail(nil)
		})
		if diff := cmp.Diff([]string{"begin 0", "comment 25", "event 50"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestAStreamEndsInItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		told(t, 3*streamLife, nil, newChanging(t, boolean("nav")), nil)
		if took := time.Since(began); took < streamLife || took > streamLife+streamLife/4 {
			t.Errorf("it took %s", took)
		}
	})
}

// losing forgets its websites after a time.
type losing struct {
	tenants
	until time.Time
	err   error
}

func (l losing) FlagWebsite(ctx context.Context, ref string) (*website.Website, error) {
	if time.Now().After(l.until) {
		return nil, l.err
	}
	return l.tenants.FlagWebsite(ctx, ref)
}

func TestAStreamEndsWithItsWebsite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for err, want := range map[error]time.Duration{
			website.ErrNotFound: 2 * heartbeat, apierr.New(apierr.ServiceUnavailable): time.Minute,
		} {
			c := newChanging(t, boolean("nav"))
			h := c.host()
			h.deps.Websites = losing{until: time.Now().Add(heartbeat + time.Second), err: err}
			s := &telling{host: h, ref: "web_1", trusted: true, websiteID: "web_1", organizationID: "org_1"}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			began := time.Now()
			if err := s.write(ctx, &sent{began: began}); err != nil {
				t.Error(err)
			}
			cancel()
			if took := time.Since(began); took != want {
				t.Errorf("%v: it took %s, want %s", err, took, want)
			}
		}
	})
}

// revoking takes keys until a time.
type revoking struct {
	tenants
	at   time.Time
	with error
}

func (r revoking) Key(ctx context.Context, secret []byte, from auth.From) (auth.Principal, error) {
	if time.Now().After(r.at) {
		return auth.Principal{}, r.with
	}
	return r.tenants.Key(ctx, secret, from)
}

// A stream ends with the key that opened it, and tells nothing from then on; a store that is
// down ends none.
func TestAStreamEndsWithItsKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			with error
			want []string
		}{
			{apierr.New(apierr.AuthRequired), []string{"begin 0"}},
			{apierr.New(apierr.IPNotAuthorized), []string{"begin 0"}},
			{apierr.New(apierr.ServiceUnavailable), []string{"begin 0", "event 10", "comment 25"}},
		} {
			h := newChanging(t, ending("a", 10*time.Second)).host()
			h.deps.Keys = revoking{at: time.Now().Add(5 * time.Second), with: tc.with}
			s := &telling{
				host: h, ref: "web_1", trusted: true, websiteID: "web_1", organizationID: "org_1", key: []byte("manager"),
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			to := &sent{began: time.Now()}
			if err := s.write(ctx, to); err != nil {
				t.Error(err)
			}
			cancel()
			if diff := cmp.Diff(tc.want, to.lines); diff != "" {
				t.Errorf("%v (-want +got):\n%s", tc.with, diff)
			}
		}
	})
}
