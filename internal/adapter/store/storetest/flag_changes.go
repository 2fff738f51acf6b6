package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/schemas/sql"
)

// padFirst makes the definition of a flag's first version longer, past the store.
func (f *Fixture) padFirst(of *flag.Flag, bytes int) {
	f.tb.Helper()
	pad := "repeat('x', %d)"
	if strings.HasPrefix(f.URL, sqlitePrefix) {
		pad = "printf('%%.*c', %d, 'x')"
	}
	f.execute(fmt.Sprintf("UPDATE flag_versions SET definition = definition || "+pad+
		" WHERE flag_id = '%s' AND version = 1", bytes, of.ID))
}

// versionBytes is what a version counts.
func (f *Fixture) versionBytes(of *flag.Flag, version int64) (bytes int) {
	f.tb.Helper()
	db := f.database()
	defer db.Close()
	if err := db.QueryRowContext(f.tb.Context(), fmt.Sprintf("SELECT 1024 + octet_length(about) + octet_length(definition) "+
		"FROM flag_versions WHERE flag_id = '%s' AND version = %d", of.ID, version)).Scan(&bytes); err != nil {
		f.tb.Fatal(err)
	}
	return bytes
}

// flagChangeTests are those of changes: at once, told, kept as versions.
var flagChangeTests = map[string]func(*testing.T, *Fixture){
	"of changes at once that would close a circle together one is not made": func(t *testing.T, f *Fixture) {
		s := f.flags()
		for range 3 { // it takes luck to be made at once
			o := f.Organization()
			ring := make([]*flag.Flag, 8)
			for i := range ring {
				ring[i] = f.flag(s, o.ID, "", fmt.Sprint("f", i))
			}
			errs := make([]error, len(ring))
			begin := make(chan struct{})
			var wg sync.WaitGroup
			for i := range ring {
				next := ring[(i+1)%len(ring)].Key()
				wg.Go(func() {
					<-begin
					_, errs[i] = s.Update(t.Context(), somebody, toFlag(ring[i]), flag.Fields{Prerequisites: needed(next)})
				})
			}
			close(begin)
			wg.Wait()
			rejected := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
			if len(rejected) != 1 || !errors.Is(rejected[0], flag.ErrCycle) {
				t.Errorf("rejected: %v, want one %v", rejected, flag.ErrCycle)
			}
		}
	},
	"of changes at once that are based on one version one is made": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		a := f.flag(s, o.ID, "", "a")
		errs := make([]error, 4)
		var wg sync.WaitGroup
		for i := range errs {
			target := toFlag(a)
			target.Version = 1
			wg.Go(func() { _, errs[i] = s.Update(t.Context(), somebody, target, flag.Fields{Owner: new(strconv.Itoa(i))}) })
		}
		wg.Wait()
		made := 0
		for _, err := range errs {
			if err == nil {
				made++
			} else if !errors.Is(err, managed.ErrChanged) {
				t.Errorf("Update() = %v, want %v", err, managed.ErrChanged)
			}
		}
		if made != 1 {
			t.Errorf("%d were made: %v", made, errs)
		}
	},
	"each change of flags and segments raises the set's version, is announced and audited, and one that changes " +
		"nothing is not": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		want := int64(0)
		raised := func(after string, action string, more int64) {
			t.Helper()
			want += more
			marks, err := f.Store().FlagSetMarks(t.Context(), []string{o.ID, "org_none"})
			wanted := map[string]flagset.Mark{o.ID: {Epoch: 1, Version: want}, "org_none": {Epoch: 1}}
			if diff := cmp.Diff(wanted, marks); diff != "" || err != nil {
				t.Errorf("after %s: %v, marks (-want +got):\n%s", after, err, diff)
			}
			announced := f.announced()
			if last := announced[len(announced)-1]; last.Kind != control.Flags || last.ID != o.ID ||
				last.OrganizationID != o.ID || last.Version != want || last.State != "" {
				t.Errorf("after %s: change events %+v", after, last)
			}
			if entry := f.entryOf(o.ID, action); entry.ResourceID == "" {
				t.Errorf("after %s: no entry of %s", after, action)
			}
		}
		a := f.flag(s, o.ID, "", "a")
		raised("a flag is made", "flag.created", 1)
		if _, err := s.Update(t.Context(), somebody, toFlag(a), flag.Fields{
			Owner: new("ann"), Targets: &[]flageval.Target{{Variant: "on", Emails: []string{"secret@example.com"}}},
		}); err != nil {
			t.Fatal(err)
		}
		raised("it is changed", "flag.updated", 1)
		if diff := cmp.Diff(map[string]audit.Change{
			"owner": {To: "ann"}, "targets": {To: audit.Masked}, "defaultVariant": {From: "on", To: "off"},
		}, f.entryOf(o.ID, "flag.updated").Changes); diff != "" {
			t.Errorf("the entry (-want +got):\n%s", diff)
		}
		if same, err := s.Update(t.Context(), somebody, toFlag(a),
			flag.Fields{Owner: new("ann")}); err != nil || same.Version != 2 {
			t.Errorf("a change that changes nothing: %+v, %v", same, err)
		}
		raised("nothing is changed", "flag.updated", 0)
		f.switched(s, a, flag.Archiving)
		raised("it is archived", "flag.archived", 1)
		if _, err := s.Delete(t.Context(), somebody, toFlag(a)); err != nil {
			t.Fatal(err)
		}
		raised("it is deleted", "flag.deleted", 1)
		g, err := s.CreateSegment(t.Context(), somebody, flag.Spec{OrganizationID: o.ID, Key: "g"},
			flag.SegmentFields{UserIDs: &[]string{"u"}})
		if err != nil {
			t.Fatal(err)
		}
		raised("a segment is made", "segment.created", 1)
		if _, err := s.DeleteSegment(t.Context(), somebody, toSegment(g)); err != nil {
			t.Fatal(err)
		}
		raised("it is deleted", "segment.deleted", 1)
		if got := fmt.Sprintf("%+v", f.announced()); strings.Contains(got, "secret@") {
			t.Errorf("the change events tell of people: %s", got)
		}
	},
	"the last versions of a flag are kept": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		a := f.flag(s, o.ID, "", "a")
		by := somebody
		for i := range flag.KeptVersions {
			if _, err := s.Update(t.Context(), by, toFlag(a), flag.Fields{Owner: new(strconv.Itoa(i))}); err != nil {
				t.Fatal(err)
			}
		}
		for number, want := range map[int64]error{
			1: flag.ErrVersionNotFound, 2: nil, flag.KeptVersions + 1: nil, flag.KeptVersions + 2: flag.ErrVersionNotFound,
		} {
			if was, err := s.Was(t.Context(), toFlag(a), number); !errors.Is(err, want) || err == nil && was.Version != number {
				t.Errorf("version %d: %+v, %v, want %v", number, was, err, want)
			}
		}
		page, err := s.Versions(t.Context(), toFlag(a), 4, 10)
		if err != nil || len(page) != 2 || page[0].Number != 3 || page[1].Number != 2 ||
			page[0].ActorID != somebody.Actor.ID ||
			page[0].Action != managed.Updated || !slices.Equal(page[0].Changed, []string{"owner"}) {
			t.Errorf("those before 4: %+v, %v", page, err)
		}
		back, err := s.Rollback(t.Context(), somebody, toFlag(a), 2)
		if err != nil || back.Version != flag.KeptVersions+2 || back.About.Owner != "0" {
			t.Errorf("rolled back: %+v, %v", back, err)
		}
	},
	"the versions of an organization are bounded in bytes": func(t *testing.T, f *Fixture) {
		for beyond := range 2 {
			s, o, other := f.flags(), f.Organization(), f.Organization()
			change := func(flags ...*flag.Flag) {
				t.Helper()
				for _, one := range flags {
					f.Clock.Set(f.Clock.Now().Add(time.Second))
					if _, err := s.Update(t.Context(), somebody, toFlag(one),
						flag.Fields{Owner: new(strconv.FormatInt(f.Clock.Now().Unix(), 10))}); err != nil {
						t.Fatal(err)
					}
				}
			}
			create := func(organizationID, key string) *flag.Flag {
				f.Clock.Set(f.Clock.Now().Add(time.Second))
				return f.flag(s, organizationID, "", key)
			}
			still, foreign, a, b := create(o.ID, "still"), create(other.ID, "a"), create(o.ID, "a"), create(o.ID, "b")
			// Those before the current ones will be a 1, b 1 and a 2, and with the last change b 2.
			f.padFirst(still, 1<<20) // the current one
			f.padFirst(foreign, 1<<20)
			f.padFirst(a, 20<<20)
			change(a, b, foreign, a)
			taken := f.versionBytes(a, 1) + f.versionBytes(a, 2) + f.versionBytes(b, 1) + f.versionBytes(b, 2)
			f.padFirst(b, flag.KeptVersionBytes-taken+beyond)
			change(b)
			dropped := flag.ErrVersionNotFound
			if beyond == 0 {
				dropped = nil
			}
			for _, v := range []struct {
				of     *flag.Flag
				number int64
				want   error
			}{
				{a, 1, dropped},
				{a, 2, nil},
				{a, 3, nil},
				{b, 1, nil},
				{b, 2, nil},
				{b, 3, nil},
				{still, 1, nil},
				{foreign, 1, nil},
			} {
				all, err := s.Versions(t.Context(), toFlag(v.of), v.number+1, 1)
				if has := len(all) == 1 && all[0].Number == v.number; has != (v.want == nil) || err != nil {
					t.Errorf("%d bytes beyond, version %d of %s is kept: %t, %v", beyond, v.number, v.of.Key(), has, err)
				}
			}
			if beyond == 0 {
				continue
			}
			if _, err := s.Was(t.Context(), toFlag(a), 1); !errors.Is(err, flag.ErrVersionNotFound) {
				t.Errorf("a version that was dropped: %v", err)
			}
			back, err := s.Rollback(t.Context(), somebody, toFlag(a), 2)
			if err != nil || back.Version != 4 {
				t.Errorf("rolled back: %+v, %v", back, err)
			}
		}
	},
	"a migration counts the versions that are there": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		a := f.flag(s, o.ID, "", "a")
		f.flag(s, o.ID, "", "b")
		if _, err := s.Update(t.Context(), somebody, toFlag(a), flag.Fields{Owner: new("ann")}); err != nil {
			t.Fatal(err)
		}
		files, dialect := sql.Postgres, "postgres"
		if strings.HasPrefix(f.URL, sqlitePrefix) {
			files, dialect = sql.SQLite, "sqlite"
		}
		text, err := files.ReadFile(dialect + "/00003_flag_version_bytes.sql")
		if err != nil {
			t.Fatal(err)
		}
		_, update, _ := strings.Cut(string(text), ";") // what adds the column
		f.execute("UPDATE flags SET version_bytes = 1", update)
		db := f.database()
		defer db.Close()
		var counted int
		if err := db.QueryRowContext(t.Context(), "SELECT sum(version_bytes) FROM flags").Scan(&counted); err != nil {
			t.Fatal(err)
		}
		if want := f.versionBytes(a, 1); counted != want {
			t.Errorf("%d bytes are counted, want %d", counted, want)
		}
	},
	"the versions of a website that moves count in its new organization": func(t *testing.T, f *Fixture) {
		s, o, from := f.flags(), f.Organization(), f.Organization()
		w := f.Website(from.ID)
		moving := f.flag(s, from.ID, w.ID, "a")
		f.Clock.Set(f.Clock.Now().Add(time.Second))
		own := f.flag(s, o.ID, "", "b")
		for _, one := range []*flag.Flag{moving, own} {
			f.Clock.Set(f.Clock.Now().Add(time.Second))
			f.padFirst(one, flag.KeptVersionBytes*3/4)
			if _, err := s.Update(t.Context(), somebody, toFlag(one), flag.Fields{Owner: new("ann")}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.sites().Move(t.Context(), somebody, site(w), o.ID, nil); err != nil {
			t.Fatal(err)
		}
		moving.OrganizationID = o.ID
		for want, one := range []*flag.Flag{moving, own} {
			all, err := s.Versions(t.Context(), toFlag(one), 2, 1)
			if err != nil || len(all) != want {
				t.Errorf("%d earlier versions of %s, %v, want %d", len(all), one.Key(), err, want)
			}
		}
	},
	"lists select and cut pages": func(t *testing.T, f *Fixture) {
		s, o := f.flags(), f.Organization()
		w := f.Website(o.ID)
		for i, site := range []string{"", w.ID, "", w.ID} {
			made := f.flag(s, o.ID, site, fmt.Sprint("flag", i))
			fields := flag.Fields{Tags: &[]string{fmt.Sprint("t", i%2)}, Description: new("about N_" + strconv.Itoa(i))}
			if _, err := s.Update(t.Context(), somebody, toFlag(made), fields); err != nil {
				t.Fatal(err)
			}
			if i == 3 {
				f.switched(s, made, flag.Archiving)
			}
			if _, err := s.CreateSegment(t.Context(), somebody,
				flag.Spec{OrganizationID: o.ID, WebsiteID: site, Key: fmt.Sprint("seg", i)},
				flag.SegmentFields{UserIDs: &[]string{"u"}}); err != nil {
				t.Fatal(err)
			}
		}
		f.flag(s, f.Organization().ID, "", "foreign")
		for _, c := range []struct {
			filter flag.Filter
			want   string
		}{
			{flag.Filter{}, "flag0 flag1 flag2"},
			{flag.Filter{Newest: true, Limit: 2}, "flag2 flag1"},
			{flag.Filter{WebsiteID: w.ID}, "flag1"},
			{flag.Filter{Shared: true}, "flag0 flag2"},
			{flag.Filter{State: flag.Archived}, "flag3"},
			{flag.Filter{State: flag.Inactive, Tag: "t0"}, "flag0 flag2"},
			{flag.Filter{Search: "n_1"}, "flag1"},
			{flag.Filter{Search: "n%1"}, ""},
		} {
			c.filter.OrganizationID = o.ID
			found, err := s.List(t.Context(), c.filter)
			var keys []string
			for _, one := range found {
				keys = append(keys, one.Key())
				if len(one.Definition.Variants) > 0 || one.About.Description == "" {
					t.Errorf("listed: %+v", one)
				}
			}
			if got := strings.Join(keys, " "); got != c.want || err != nil {
				t.Errorf("%+v: %q, %v, want %q", c.filter, got, err, c.want)
			}
		}
		all, err := s.ListSegments(t.Context(), flag.Filter{OrganizationID: o.ID, WebsiteID: w.ID})
		if err != nil || len(all) != 2 || all[0].Key() != "seg1" {
			t.Errorf("segments %v, %v", all, err)
		}
	},
}
