package deletion

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

func TestOnlyWhatATombstoneCoversIsDeleted(t *testing.T) {
	t.Parallel()
	const owner = `web'\1` // as no id is
	for name, tc := range map[string]struct {
		stones []tombstone.Tombstone
		left   []string
	}{
		"a profile": {
			[]tombstone.Tombstone{clickhousetest.Stone(owner, tombstone.Profile, "anna")}, []string{"b", "c", "e", "f"},
		},
		"a visitor": {
			[]tombstone.Tombstone{clickhousetest.Stone(owner, tombstone.Visitor, "v1")}, []string{"b", "c", "d", "e", "f"},
		},
		"two visitors and a profile": {[]tombstone.Tombstone{
			clickhousetest.Stone(owner, tombstone.Visitor, "v1"), clickhousetest.Stone(owner, tombstone.Visitor, "v2"),
			clickhousetest.Stone("else", tombstone.Profile, "anna"),
		}, []string{"c", "d", "f"}},
		"a website": {
			[]tombstone.Tombstone{clickhousetest.Stone(owner, tombstone.Website, "")}, []string{"e", "f"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := stagetest.Migrated(t)
			i, e := stagetest.OpenInserter(t, cfg), stagetest.Opened(t, NewEraser(cfg))
			clickhousetest.Insert(t, i, "t",
				clickhousetest.AnEvent("a", clickhousetest.From(owner, "anna", "v1", clickhousetest.Received)),
				clickhousetest.AnEvent("b", clickhousetest.From(owner, "", "v2", clickhousetest.Received)),
				clickhousetest.AnEvent("c", clickhousetest.From(owner, "anna", "v1", clickhousetest.Received+1)),
				clickhousetest.AnEvent("d", clickhousetest.From(owner, "anna", "", clickhousetest.Received-1000)),
				clickhousetest.AnEvent("e", clickhousetest.From("else", "anna", "v1", clickhousetest.Received)),
				clickhousetest.AnEvent("f", clickhousetest.From("else", "ben", "v1", clickhousetest.Received)))
			found, err := e.Count(t.Context(), tc.stones)
			if err != nil || found["events"] == 0 {
				t.Fatalf("found %v, %v", found, err)
			}
			if err := e.Delete(t.Context(), tc.stones); err != nil {
				t.Fatal(err)
			}
			if left, err := e.Left(t.Context(), tc.stones); err != nil || len(left) > 0 {
				t.Errorf("rows are left: %v, %v", left, err)
			}
			sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b })
			if diff := cmp.Diff(tc.left, clickhousetest.Column(t, cfg, "event_id", "events"), sorted); diff != "" {
				t.Errorf("events left (-want +got):\n%s", diff)
			}
			if again, err := e.Count(t.Context(), tc.stones); err != nil || len(again) > 0 {
				t.Errorf("a second look finds %v, %v", again, err)
			}
		})
	}
}

// veryMany are tombstones of erasures that are due together, whose ids do not fit into one
// statement: of many visitor ids each, and of one that has even more.
func veryMany() (of [][]tombstone.Tombstone) {
	for i := range 101 {
		profile := fmt.Sprint("p", i)
		n := 80
		if i == 100 {
			n = 8000
		}
		stones := []tombstone.Tombstone{clickhousetest.Stone("web_1", tombstone.Profile, profile)}
		for v := range n {
			stones = append(stones, clickhousetest.Stone("web_1", tombstone.Visitor, fmt.Sprint(profile, "v", v)))
		}
		for v := range stones {
			stones[v].Before = stones[v].Before.Add(time.Duration(i) * time.Millisecond)
		}
		of = append(of, stones)
	}
	return of
}

func TestConditionsFitIntoStatementsAndLeaveNoIDOut(t *testing.T) {
	t.Parallel()
	stones := slices.Concat(veryMany()...)
	for _, rows := range []reach{buried, remaining, whenever} {
		for _, table := range erasable() {
			if !table.Has(profileColumn) || !table.Has(visitorColumn) {
				continue
			}
			all := conditions(table, stones, rows)
			for i, c := range all {
				if len(c) > maxConditionBytes || strings.Count(c, "(") != strings.Count(c, ")") {
					t.Errorf("%s: condition %d has %d bytes", table.Name, i, len(c))
				}
			}
			times := map[string]int{}
			for word := range strings.SplitSeq(strings.Join(all, ""), "'") {
				times[word]++
			}
			for _, s := range stones {
				if n := times[s.ID.String()]; n != 1 {
					t.Fatalf("%s: an id stands %d times in %d conditions", table.Name, n, len(all))
				}
			}
			if len(all) < 3 || len(all) > 6 {
				t.Errorf("%s: there are %d conditions", table.Name, len(all))
			}
		}
	}
}

// A row that two of an erasure's ids are about is one row.
func TestAnErasureOfVeryManyIDsIsCarriedOut(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	i, e := stagetest.OpenInserter(t, cfg), stagetest.Opened(t, NewEraser(cfg))
	event := func(id, profile, visitor string) *record.Event {
		return clickhousetest.AnEvent(id, clickhousetest.From("web_1", profile, visitor, clickhousetest.Received))
	}
	clickhousetest.Insert(t, i, "t", event("a", "p100", "p100v7999"), event("b", "", "p100v0"),
		event("c", "p100", "p100v4000"), event("d", "p100", ""), event("e", "p101", "v"))
	told(t, cfg, event("f", "p100", "p100v7999"))
	stones := veryMany()[100]
	if found, err := e.Count(t.Context(), stones); err != nil || found["events"] != 4 || found["identities"] != 1 {
		t.Errorf("found are %v, %v", found, err)
	}
	if err := e.Delete(t.Context(), stones); err != nil {
		t.Fatal(err)
	}
	if left, err := e.Left(t.Context(), stones); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	if diff := cmp.Diff([]string{"e"}, clickhousetest.Column(t, cfg, "event_id", "events")); diff != "" {
		t.Errorf("events left (-want +got):\n%s", diff)
	}
}

// An owner may have more visitors than the server has memory to group.
func TestTheVisitorIDsOfAProfileAreFoundAmongVeryMany(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	clickhousetest.Run(t, cfg, "INSERT INTO aliases (owner_id, anonymous_id, profile_id)"+
		" SELECT 'web_1', lower(hex(SHA256(toString(number)))), if(number < 3, 'anna', toString(number))"+
		" FROM numbers(1000000)")
	e := stagetest.Opened(t, NewEraser(cfg))
	var ids proto.ColStr
	var alone proto.ColUInt8
	q := links("web_1", tombstone.IDOf(tombstone.Profile, []byte("web_1"), []byte("anna")))
	q.Result = proto.Results{{Name: "anonymous_id", Data: &ids}, {Name: "alone", Data: &alone}}
	q.Settings = append(q.Settings, ch.Setting{Key: "max_memory_usage", Value: "100000000", Important: true})
	if err := e.Read(t.Context(), schema.Aliases.Name, q); err != nil || ids.Rows() != 3 {
		t.Errorf("%d ids, %v", ids.Rows(), err)
	}
}

func TestDaysThatLoseRowsAreListed(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	i, e := stagetest.OpenInserter(t, cfg), stagetest.Opened(t, NewEraser(cfg))
	clickhousetest.Insert(t, i, "t",
		clickhousetest.AnEvent("a", clickhousetest.From("web_1", "anna", "v1", clickhousetest.Received)),
		clickhousetest.AnEvent("b", clickhousetest.From("web_1", "ben", "v2", clickhousetest.Received)))
	if err := e.Delete(t.Context(),
		[]tombstone.Tombstone{clickhousetest.Stone("web_1", tombstone.Profile, "anna")}); err != nil {
		t.Fatal(err)
	}
	listed, err := e.Listed(t.Context())
	if err != nil || len(listed) != 1 || listed[0].Owner != "web_1" || listed[0].Reason != ledger.ReasonErased {
		t.Errorf("listed are %+v, %v", listed, err)
	}
	if got := clickhousetest.Column(t, cfg, "sum(events)", "events_15m"); got[0] != "2" {
		t.Errorf("the rollup has %s events; it is not to be touched while sinks run", got[0])
	}
}

// A deletion of much may fail for longer than a table remembers tokens.
func TestUsageIsKeptOnceHoweverLongTheDeletionFails(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	i, e := stagetest.OpenInserter(t, cfg), stagetest.Opened(t, NewEraser(cfg))
	clickhousetest.Insert(t, i, "t",
		clickhousetest.AnEvent("a", clickhousetest.From("web_1", "anna", "v1", clickhousetest.Received)),
		clickhousetest.AnEvent("b", clickhousetest.From("web_1", "", "", clickhousetest.Received)))
	stones := []tombstone.Tombstone{clickhousetest.Stone("web_1", tombstone.Website, "")}
	clickhousetest.Run(t, cfg, "RENAME TABLE events TO events_away")
	if err := e.Delete(t.Context(), stones); err == nil {
		t.Fatal("nothing failed")
	}
	clickhousetest.Run(t, cfg, "ALTER TABLE usage_1d MODIFY SETTING non_replicated_deduplication_window = 0")
	clickhousetest.Run(t, cfg, "RENAME TABLE events_away TO events")
	if err := e.Delete(t.Context(), stones); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"org_1 2"}, clickhousetest.Column(t, cfg,
		"concat(owner_id, ' ', toString(sum(events)))", "usage_1d GROUP BY owner_id")); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

// told inserts identify calls, from which views make profiles, traits and aliases.
func told(t *testing.T, cfg config.ClickHouse, events ...*record.Event) {
	t.Helper()
	for _, e := range events {
		e.Type, e.Name = []byte(record.TypeIdentify), []byte("identify")
		if e.Properties == nil {
			e.Properties = []byte(`{"plan":"pro"}`)
		}
	}
	stagetest.InsertTo(t, cfg, record.TopicIdentities, "identities "+string(events[0].ID), events...)
}

func TestTheVisitorIDsOfAProfileAreThoseThatNoOtherHas(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	e := stagetest.Opened(t, NewEraser(cfg))
	told(t, cfg, clickhousetest.AnEvent("1", clickhousetest.From("web_1", "anna", "v1", clickhousetest.Received)),
		clickhousetest.AnEvent("2", clickhousetest.From("web_1", "anna", "v2", clickhousetest.Received)),
		clickhousetest.AnEvent("3", clickhousetest.From("web_1", "anna", "shared", clickhousetest.Received)),
		clickhousetest.AnEvent("4", clickhousetest.From("web_1", "ben", "shared", clickhousetest.Received)),
		clickhousetest.AnEvent("5", clickhousetest.From("web_1", "ben", "v3", clickhousetest.Received)),
		clickhousetest.AnEvent("6", clickhousetest.From("web_2", "anna", "v4", clickhousetest.Received)),
		clickhousetest.AnEvent("7", clickhousetest.From("web_1", "anna", "", clickhousetest.Received)))
	own, shared, err := e.Links(t.Context(), "web_1", tombstone.IDOf(tombstone.Profile, []byte("web_1"), []byte("anna")))
	if err != nil || shared != 1 {
		t.Fatalf("%d ids are shared, %v", shared, err)
	}
	var ids []string
	for _, id := range own {
		ids = append(ids, string(id))
	}
	if diff := cmp.Diff([]string{"v1", "v2"}, ids,
		cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
		t.Errorf("visitor ids (-want +got):\n%s", diff)
	}
}

// Profiles, traits and aliases have no time of receipt: what they tell of a call
// that came later is new.
func TestWhatIsToldAgainAfterAnErasureStays(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	e := stagetest.Opened(t, NewEraser(cfg))
	told(t, cfg, clickhousetest.AnEvent("1", clickhousetest.From("web_1", "anna", "v1", clickhousetest.Received)),
		clickhousetest.AnEvent("2", clickhousetest.From("web_1", "ben", "v2", clickhousetest.Received)))
	stones := []tombstone.Tombstone{
		clickhousetest.Stone("web_1", tombstone.Profile, "anna"), clickhousetest.Stone("web_1", tombstone.Visitor, "v1"),
	}
	if found, err := e.Count(t.Context(), stones); err != nil || found["profiles"] != 1 || found["profile_traits"] != 1 ||
		found["aliases"] != 1 || found["identities"] != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
	if err := e.Delete(t.Context(), stones); err != nil {
		t.Fatal(err)
	}
	if left, err := e.Left(t.Context(), stones); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	told(t, cfg, clickhousetest.AnEvent("3", clickhousetest.From("web_1", "anna", "v1", clickhousetest.Received+1)))
	if left, err := e.Left(t.Context(), stones); err != nil || len(left) > 0 {
		t.Errorf("after a later call, left are %v, %v", left, err)
	}
	for _, table := range []string{"profiles", "profile_traits", "aliases"} {
		if got := clickhousetest.Column(t, cfg, "toString(uniqExact(profile_id))", table); got[0] != "2" {
			t.Errorf("%s has %s profiles", table, got[0])
		}
	}
}

// Of a user who is told of again while the erasure waits, what was told before goes and
// what was told since stays.
func TestWhatIsToldAgainBeforeAnErasureIsDoneStays(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	e := stagetest.Opened(t, NewEraser(cfg))
	traits := func(id, profile, visitor, traits string, at int64) *record.Event {
		return clickhousetest.AnEvent(id, clickhousetest.From("web_1", profile, visitor, at),
			func(e *record.Event) { e.Properties = []byte(traits) })
	}
	told(t, cfg,
		traits("1", "anna", "v1", `{"mail":"a","plan":"free"}`, clickhousetest.Received),
		traits("2", "anna", "v2", `{"plan":"pro"}`, clickhousetest.Received+1),
		traits("3", "ben", "v3", `{"plan":"free"}`, clickhousetest.Received),
		traits("4", "cleo", "v3", `{"plan":"free"}`, clickhousetest.Received+1))
	stones := []tombstone.Tombstone{
		clickhousetest.Stone("web_1", tombstone.Profile, "anna"), clickhousetest.Stone("web_1", tombstone.Visitor, "v1"),
		clickhousetest.Stone("web_1", tombstone.Visitor, "v3"),
	}
	for range 2 { // as a job does that failed after it
		if err := e.Delete(t.Context(), stones); err != nil {
			t.Fatal(err)
		}
		if left, err := e.Left(t.Context(), stones); err != nil || len(left) > 0 {
			t.Errorf("left are %v, %v", left, err)
		}
		for expression, want := range map[string][]string{
			"profile_id || ' ' || trait || ' ' || value FROM profile_traits FINAL": {
				`anna plan "pro"`, `ben plan "free"`, `cleo plan "free"`,
			},
			"profile_id || ' ' || toString(toUnixTimestamp64Milli(first_seen)) FROM profiles FINAL": {
				fmt.Sprint("anna ", clickhousetest.Received+1), fmt.Sprint("ben ", clickhousetest.Received),
				fmt.Sprint("cleo ", clickhousetest.Received+1),
			},
			"anonymous_id || ' ' || profile_id FROM aliases FINAL": {"v2 anna", "v3 cleo"},
		} {
			what, table, _ := strings.Cut(expression, " FROM ")
			if diff := cmp.Diff(want, clickhousetest.Column(t, cfg, what, table),
				cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
				t.Errorf("%s (-want +got):\n%s", table, diff)
			}
		}
	}
}

func TestTombstonesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	e := stagetest.Opened(t, NewEraser(cfg))
	all, state, changed, err := e.Tombstones(t.Context(), "")
	if err != nil || !changed || len(all) != 0 {
		t.Fatalf("%d tombstones, changed %t, %v", len(all), changed, err)
	}
	want := []tombstone.Tombstone{
		clickhousetest.Stone("web_1", tombstone.Profile, "anna"), clickhousetest.Stone("web_1", tombstone.Visitor, "v"),
		clickhousetest.Stone("web_2", tombstone.Website, ""),
	}
	want[2].Before = tombstone.Forever
	for range 2 {
		if err := e.Bury(t.Context(), "era_1", want); err != nil {
			t.Fatal(err)
		}
	}
	all, state, changed, err = e.Tombstones(t.Context(), state)
	if err != nil || !changed {
		t.Fatalf("changed %t, %v", changed, err)
	}
	for i := range want {
		want[i].Before = want[i].Before.UTC()
	}
	byID := cmpopts.SortSlices(func(a, b tombstone.Tombstone) bool { return a.Kind < b.Kind })
	if diff := cmp.Diff(want, all, byID); diff != "" {
		t.Errorf("tombstones (-want +got):\n%s", diff)
	}
	if all, _, changed, err := e.Tombstones(t.Context(), state); err != nil || changed || len(all) > 0 {
		t.Errorf("asked again, %d tombstones, changed %t, %v", len(all), changed, err)
	}
}

func TestEraser_LiftsTombstonesOfVisitorsAlone(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	e := stagetest.Opened(t, NewEraser(cfg))
	stone := clickhousetest.Stone
	for id, stones := range map[string][]tombstone.Tombstone{
		`era'1`: {
			stone("web_1", tombstone.Profile, "anna"), stone("web_1", tombstone.Visitor, "v1"),
			stone("web_1", tombstone.Website, ""), // no erasure has both
		},
		"era_2": {stone("web_1", tombstone.Visitor, "v2")},
		"era_3": {stone("web_3", tombstone.Website, "")},
	} {
		if err := e.Bury(t.Context(), id, stones); err != nil {
			t.Fatal(err)
		}
	}
	old, err := e.Buried(t.Context(), time.Now().Add(-time.Hour))
	if err != nil || len(old) != 0 {
		t.Errorf("of an hour ago there are %v, %v", old, err)
	}
	all, err := e.Buried(t.Context(), time.Now().Add(time.Hour))
	if slices.Sort(all); err != nil || !slices.Equal(all, []string{`era'1`, "era_2"}) {
		t.Errorf("there are %v, %v", all, err)
	}
	_, before, _, err := e.Tombstones(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	lifted := []string{`era'1`, "era_3"}
	if err := e.Lift(t.Context(), lifted, time.Now().Add(-time.Hour)); err != nil { // all are younger
		t.Fatal(err)
	}
	if _, _, changed, err := e.Tombstones(t.Context(), before); err != nil || changed {
		t.Errorf("younger tombstones were lifted, %v", err)
	}
	if err := e.Lift(t.Context(), lifted, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	left, _, changed, err := e.Tombstones(t.Context(), before)
	if err != nil || !changed {
		t.Errorf("the tombstones changed: %t, %v", changed, err)
	}
	var kinds []string
	for _, s := range left {
		kinds = append(kinds, s.Owner+" "+string(s.Kind))
	}
	if slices.Sort(kinds); !slices.Equal(kinds, []string{"web_1 visitor", "web_1 website", "web_3 website"}) {
		t.Errorf("%v are left", kinds)
	}
}

// Whatever table is added, what it has of visitors is found by these columns.
func TestEveryTableWithIdsOfVisitorsIsErasable(t *testing.T) {
	t.Parallel()
	stones := []tombstone.Tombstone{
		clickhousetest.Stone("o", tombstone.Profile, "p"), clickhousetest.Stone("o", tombstone.Visitor, "v"),
	}
	for i := range schema.Tables {
		table := &schema.Tables[i]
		ids := table.Has(profileColumn) || table.Has(visitorColumn)
		if ids && (!table.Has(ownerColumn) || len(conditions(table, stones, buried)) == 0) {
			t.Errorf("%s has ids of visitors, and no erasure finds them", table.Name)
		}
		if table.Has("session_id") && !ids {
			t.Errorf("%s has sessions of nobody", table.Name)
		}
	}
}
