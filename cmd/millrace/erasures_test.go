package main

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/privacy/erasure"
	"github.com/millrace/millrace/internal/privacy/tombstone"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// erased has the metadata store of a --store.url flag know that a website was erased.
func erased(t *testing.T, flag, website string) {
	t.Helper()
	db, err := store.Open(t.Context(), strings.TrimPrefix(flag, "--store.url="), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Now().UTC()
	e := &erasure.Erasure{
		ID: "era_1", OrganizationID: "org_1", OwnerID: website, Kind: tombstone.Website, Before: now.Add(time.Minute),
		State: erasure.Requested, Deleted: map[string]int64{}, By: audit.BySystem().Actor, RequestedAt: now,
	}
	if err := db.CreateErasure(t.Context(), audit.BySystem(), e); err != nil {
		t.Fatal(err)
	}
	e.State, e.TombstonedAt, e.DoneAt = erasure.Done, now, now
	if err := db.SaveErasure(t.Context(), e, now); err != nil {
		t.Fatal(err)
	}
}

// TestWhatABackupBroughtBackIsErasedAgain restores a backup that is older than an
// erasure, and has Kafka bring the same events once more.
func TestWhatABackupBroughtBackIsErasedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	statements := s.guideSQL(t, "backup-and-restore.md", s.ClickHouse.Database)
	flag := emptyStore(t)
	repeat := "erasures repeat " + flag
	holds := func(when string, kept, gone uint64) {
		t.Helper()
		for website, want := range map[string]uint64{"web_0": kept, "web_1": gone} {
			if got := s.Count(t, "(SELECT count() FROM events FINAL WHERE owner_id = '"+website+"')"); got != want {
				t.Errorf("%s there are %d events of %s, want %d", when, got, website, want)
			}
		}
	}
	s.must(t, repeat, `^0 erasures repeated\n$`)
	s.Produce(t, several(20)...)
	s.Store(t)
	s.Run(t, statements[0])
	erased(t, flag, "web_1")
	s.must(t, repeat, `^1 erasures repeated\n$`)
	holds("after the erasure", 10, 0)

	s.dropped(t)
	s.onDefault(t, statements[1])
	holds("from the backup", 10, 10)
	s.must(t, repeat, `^1 erasures repeated\n$`)
	holds("erased again", 10, 0)
	s.must(t, "replay --all-topics --from 1h", `events\.v1`)
	s.storedAgain(t)
	holds("after a replay", 10, 0)
	s.must(t, repeat, `^1 erasures repeated\n$`)
	holds("once more", 10, 0)
}
