package sink

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// ownedBy returns the record of an event of some owner.
func ownedBy(owner, id string, received int64) buffer.Record {
	e := record.Event{
		Version: 1, ID: []byte(id), Organization: []byte("org_1"), Website: []byte(owner), Owner: []byte(owner),
		Type: []byte(record.TypeCustom),
		Name: []byte("n"), TimeMillis: noon, ReceivedAt: received,
	}
	return buffer.Record{ReceivedAt: received, Hash: record.HashOf(e.Owner, e.ID), Value: record.AppendEvent(nil, &e)}
}

func TestTheLedgerTellsWhoseRecordsAreNoRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		later := noon + millisPerHour
		spoilt := ownedBy("web_1", "c", later)
		spoilt.Value = []byte("{")
		silent := ownedBy("web_2", "d", 0)
		silent.BadHeaders, silent.ReceivedAt = true, 0
		w.produce(part,
			ownedBy("web_1", "a", noon), ownedBy("web_1", "a", noon), ownedBy("web_1", "a", noon+1),
			ownedBy("web_2", "a", noon), ownedBy("web_2", "a", later),
			spoilt, // its key says whose it was
			silent, // and the record before it when
			ownedBy("web_1", "refused", later), ownedBy("web_1", "b", later))
		w.rejects = func(id string) bool { return id == "refused" }
		stop := start(t, newSink(t, testConfig(), w))
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if len(w.ledger[part]) != 1 {
			t.Fatalf("%d entries, want 1", len(w.ledger[part]))
		}
		e := w.ledger[part][0]
		hour := noon / millisPerHour
		want := []ledger.Share{
			{Owner: "web_1", Hour: hour, Duplicates: 2},
			{Owner: "web_1", Hour: hour + 1, DeadLetters: 3}, // every key is web_1 here
			{Owner: "web_2", Hour: hour + 1, Duplicates: 1},
		}
		if diff := cmp.Diff(want, e.Shares); diff != "" {
			t.Errorf("shares (-want +got):\n%s", diff)
		}
		if e.Stored != 3 || e.Duplicates != 3 || e.DeadLetters != 3 {
			t.Errorf("%d stored, %d duplicates, %d dead letters, want 3 each", e.Stored, e.Duplicates, e.DeadLetters)
		}
	})
}

// Where no record of a range says when it was received, the log's time counts: an owner with
// any tombstone is told as others are, unless the website was erased after that.
func TestARangeWithoutAnyGoodRecordIsToldOf(t *testing.T) {
	t.Parallel()
	anna := tombstone.IDOf(tombstone.Profile, []byte("web_1"), []byte("anna"))
	someone := []tombstone.Tombstone{{Owner: "web_1", Kind: tombstone.Profile, ID: anna, Before: time.UnixMilli(noon)}}
	website := []tombstone.Tombstone{{Owner: "web_1", Kind: tombstone.Website, Before: time.UnixMilli(noon)}}
	told := func(at int64) []ledger.Share {
		return []ledger.Share{{Owner: "web_1", Hour: at / millisPerHour, DeadLetters: 2}}
	}
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() // where fake time begins
	for _, tc := range []struct {
		name   string
		erased []tombstone.Tombstone
		logged int64
		want   []ledger.Share
	}{
		{"nothing is erased", nil, noon, told(noon)},
		{"a person", someone, noon, told(noon)},
		{"the website, before", website, noon + 1, told(noon)},
		{"the website, after", website, noon, nil},
		{"a person, and the log has no time", someone, -1, told(now)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(part)
				for _, id := range []string{"a", "b"} {
					silent := ownedBy("web_1", id, tc.logged)
					silent.BadHeaders = true
					w.produce(part, silent)
				}
				runErasing(t, w, &cemetery{set: tombstone.NewSet(tc.erased)}, time.Minute)
				if e := w.ledger[part]; len(e) != 1 || e[0].DeadLetters != 2 {
					t.Fatalf("ledger %+v", e)
				}
				if diff := cmp.Diff(tc.want, w.ledger[part][0].Shares); diff != "" {
					t.Errorf("shares (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestARecordOfNobodyIsInNoShare(t *testing.T) {
	t.Parallel()
	var s shares
	s.add(nil, noon, ledger.Share{Duplicates: 1})
	s.add([]byte{0xff}, noon, ledger.Share{Duplicates: 1})
	s.add(make([]byte, maxOwnerBytes+1), noon, ledger.Share{Duplicates: 1})
	if got := s.list(); len(got) != 0 {
		t.Errorf("shares: %v", got)
	}
	s.add([]byte("web_1"), noon, ledger.Share{Erased: 1})
	s.add(make([]byte, maxOwnerBytes), noon, ledger.Share{Erased: 1})
	if got := s.list(); len(got) != 2 {
		t.Errorf("shares: %v, want 2", got)
	}
}
