package tombstone_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/privacy/tombstone"
)

var moment = time.UnixMilli(1_800_000_000_000)

func about(owner string, kind tombstone.Kind, id string, before time.Time) tombstone.Tombstone {
	t := tombstone.Tombstone{Owner: owner, Kind: kind, Before: before}
	if kind != tombstone.Website {
		t.ID = tombstone.IDOf(kind, []byte(owner), []byte(id))
	}
	return t
}

func TestWhatATombstoneCovers(t *testing.T) {
	t.Parallel()
	set := tombstone.NewSet([]tombstone.Tombstone{
		about("gone", tombstone.Website, "", tombstone.Forever),
		about("shop", tombstone.Profile, "anna", moment),
		about("shop", tombstone.Profile, "anna", moment.Add(-time.Hour)), // an earlier one takes nothing back
		about("shop", tombstone.Visitor, "v1", moment.Add(-time.Minute)),
	})
	at := moment.UnixMilli()
	for name, tc := range map[string]struct {
		owner, profile, visitor string
		received                int64
		want                    bool
	}{
		"everything of a website that is gone":      {"gone", "x", "y", at + 1e12, true},
		"also what names nobody":                    {"gone", "", "", at, true},
		"a profile's record at the moment":          {"shop", "anna", "", at, true},
		"and not one millisecond later":             {"shop", "anna", "", at + 1, false},
		"a visitor's at its moment":                 {"shop", "", "v1", at - 60_000, true},
		"and not later":                             {"shop", "", "v1", at - 59_999, false},
		"either id is enough":                       {"shop", "other", "v1", at - 60_000, true},
		"another profile":                           {"shop", "annabel", "v2", at, false},
		"the same id as a visitor":                  {"shop", "", "anna", at, false},
		"the same id of another owner":              {"else", "anna", "v1", at, false},
		"nobody is not who has an empty id":         {"shop", "", "", at, false},
		"what was received at no time":              {"shop", "", "", 0, false},
		"an owner whose name begins as another one": {"shop\x00", "anna", "", at, false},
	} {
		if got := set.Covers([]byte(tc.owner), []byte(tc.profile), []byte(tc.visitor), tc.received); got != tc.want {
			t.Errorf("%s: Covers() = %t", name, got)
		}
	}
	var none *tombstone.Set
	if none.Covers([]byte("shop"), []byte("anna"), nil, 0) ||
		tombstone.NewSet(nil).Covers([]byte("shop"), []byte("anna"), nil, 0) {
		t.Error("an empty set covers something")
	}
}

func TestAnIDIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	for _, id := range []tombstone.ID{{}, tombstone.IDOf(tombstone.Profile, []byte("o"), []byte("x"))} {
		if got, err := tombstone.ParseID(id.String()); err != nil || got != id {
			t.Errorf("ParseID(%q) = %v, %v", id, got, err)
		}
	}
	for _, bad := range []string{"0", "zz", "00", "000000000000000000000000000000000000"} {
		if _, err := tombstone.ParseID(bad); err == nil {
			t.Errorf("ParseID(%q) succeeded", bad)
		}
	}
}

func TestASetDiffersForTheOwnersThatGotATombstone(t *testing.T) {
	t.Parallel()
	first := about("shop", tombstone.Profile, "anna", moment)
	was := tombstone.NewSet([]tombstone.Tombstone{first})
	for name, tc := range map[string]struct {
		is, was *tombstone.Set
		want    bool
	}{
		"the same":   {was, was, false},
		"read again": {tombstone.NewSet([]tombstone.Tombstone{first}), was, false},
		"somebody else's": {
			tombstone.NewSet([]tombstone.Tombstone{first, about("else", tombstone.Website, "", moment)}), was, false,
		},
		"one more": {
			tombstone.NewSet([]tombstone.Tombstone{first, about("shop", tombstone.Visitor, "v", moment)}), was, true,
		},
		"a later moment": {
			tombstone.NewSet([]tombstone.Tombstone{first, about("shop", tombstone.Profile, "anna", moment.Add(1e6))}), was, true,
		},
		"the first of all":   {was, nil, true},
		"nothing at all yet": {nil, nil, false},
	} {
		if got := tc.is.Differs(tc.was, "shop"); got != tc.want {
			t.Errorf("%s: Differs() = %t", name, got)
		}
	}
}

// table is a source that notes how often it is asked.
type table struct {
	asked int
	rows  []tombstone.Tombstone
	err   error
}

func (s *table) Tombstones(_ context.Context, known string) ([]tombstone.Tombstone, string, bool, error) {
	s.asked++
	if state := string(rune('0' + len(s.rows))); s.err != nil || state != known {
		return s.rows, state, true, s.err
	}
	return nil, "", false, nil
}

func TestAWatchIsNeverOlderThanItMayBe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &table{}
		reg := prometheus.NewRegistry()
		watch := tombstone.NewWatch(source, 5*time.Second, reg)
		owners := func(want, asked int) {
			t.Helper()
			set, err := watch.Current(t.Context())
			if err != nil || set.Len() != want || source.asked != asked {
				t.Errorf("%d owners, %v, after asking %d times; want %d after %d", set.Len(), err, source.asked, want, asked)
			}
		}
		owners(0, 1)
		source.rows = append(source.rows, about("shop", tombstone.Website, "", moment))
		time.Sleep(5*time.Second - 1) //nolint:forbidigo // the clock of the bubble
		owners(0, 1)
		time.Sleep(time.Nanosecond) //nolint:forbidigo // the clock of the bubble
		owners(1, 2)
		source.rows = append(source.rows, about("shop", tombstone.Visitor, "v", moment),
			about("shop", tombstone.Visitor, "w", moment), about("shop", tombstone.Visitor, "w", moment.Add(time.Second)))
		time.Sleep(5 * time.Second) //nolint:forbidigo // the clock of the bubble
		owners(1, 3)
		const counted = "# HELP millrace_sink_tombstones Tombstones in memory: one for each erased website, " +
			"visitor id or user id. Those of visitors and users end when no record with the id can come back.\n" +
			"# TYPE millrace_sink_tombstones gauge\nmillrace_sink_tombstones 3\n"
		if err := testutil.GatherAndCompare(reg, strings.NewReader(counted), "millrace_sink_tombstones"); err != nil {
			t.Error(err)
		}
		source.rows = source.rows[:1] // those of visitors have ended
		time.Sleep(5 * time.Second)   //nolint:forbidigo // the clock of the bubble
		owners(1, 4)
		if set, err := watch.Current(t.Context()); err != nil || set.Size() != 1 {
			t.Errorf("once tombstones have ended: %d are there, %v", set.Size(), err)
		}
		source.err = errors.New("connection refused")
		time.Sleep(5 * time.Second) //nolint:forbidigo // the clock of the bubble
		if _, err := watch.Current(t.Context()); !errors.Is(err, source.err) {
			t.Errorf("Current() of a source that is away = %v", err)
		}
	})
}

func BenchmarkCovers(b *testing.B) {
	var all []tombstone.Tombstone
	for i := range 1000 {
		all = append(all, about("shop", tombstone.Profile, string(rune(i)), moment))
	}
	set, owner, other, id := tombstone.NewSet(all), []byte("shop"),
		[]byte("web_01J9ZC5Q3V8M4T2K7R6N0PBXYD"), []byte("user_4711")
	for name, f := range map[string]func() bool{
		"no tombstones":    func() bool { return (*tombstone.Set)(nil).Covers(owner, id, id, 1) },
		"another owner":    func() bool { return set.Covers(other, id, id, 1) },
		"a younger record": func() bool { return set.Covers(owner, id, id, moment.UnixMilli()+1) },
		"an older record":  func() bool { return set.Covers(owner, id, id, 1) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
}
