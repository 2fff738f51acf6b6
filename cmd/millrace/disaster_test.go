package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/contract/record"
	teststage "github.com/millrace/millrace/tests/harness/stage"
)

// guideSQL returns the statements that a guide gives clickhouse-client, with the
// names of this test's database and backup.
func (s *stage) guideSQL(t *testing.T, guide, backup string) (statements []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/guides/" + guide)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`clickhouse-client [^\n]*-q "([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
		statements = append(statements, strings.NewReplacer("DATABASE millrace", "DATABASE "+s.ClickHouse.Database,
			"millrace-2026-11-22", backup).Replace(m[1]))
	}
	return statements
}

// dropped is a ClickHouse that was lost: the database with everything in it.
func (s *stage) dropped(t *testing.T) {
	t.Helper()
	s.Run(t, "DROP DATABASE "+s.ClickHouse.Database+" SYNC")
}

// storedAgain lets sinks store everything, replays included.
func (s *stage) storedAgain(t *testing.T) {
	t.Helper()
	s.Store(t)
	if _, err := s.millrace(t, "rollups rebuild"); err != nil {
		t.Fatal(err)
	}
}

func (s *stage) exact(t *testing.T, events uint64) {
	t.Helper()
	s.Holds(t, teststage.Merging, events, events, events, 0)
	if r, err := s.verified(t, ""); err != nil || r.Total.Distinct != int64(events) || r.Total.InBase != int64(events) {
		t.Errorf("millrace verify: %+v, %v", r.Total, err)
	}
}

// TestALostClickHouseIsBuiltAnewFromKafka is the runbook, step by step.
func TestALostClickHouseIsBuiltAnewFromKafka(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Produce(t, several(40)...)
	s.Store(t)
	s.Produce(t, several(50)[30:]...) // ten resent, and ten that only Kafka has when it happens
	s.dropped(t)

	s.must(t, "migrate --store.url=sqlite:"+filepath.Join(t.TempDir(), "m.db"), "ClickHouse is up to date")
	s.must(t, "replay --all-topics --from 9000h", `(?m)^events\.v1:\n`)
	s.storedAgain(t)
	s.exact(t, 50)
	committed, err := s.Offsets.Committed(t.Context(), s.Sink.Group, record.TopicEvents)
	if err != nil || committed[0].Offset != 30 {
		t.Errorf("partition 0 is at %d, %v, want 30", committed[0].Offset, err)
	}
}

// TestABackupIsRestoredAndTheRestComesFromKafka walks the guide: the backup is
// older than what was stored, and Kafka has the difference.
func TestABackupIsRestoredAndTheRestComesFromKafka(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	backup := s.ClickHouse.Database
	statements := s.guideSQL(t, "backup-and-restore.md", backup)
	if len(statements) != 2 || !strings.HasPrefix(statements[0], "BACKUP") ||
		!strings.HasPrefix(statements[1], "RESTORE") {
		t.Fatalf("the guide's statements are %q, want a BACKUP and a RESTORE", statements)
	}
	s.Produce(t, several(20)...)
	s.Store(t)
	s.Run(t, statements[0])
	s.Produce(t, several(40)[20:]...)
	s.Store(t)
	s.Produce(t, several(50)[40:]...)
	s.dropped(t)

	s.onDefault(t, statements[1])
	s.Holds(t, 20, 20, 20, 20, 0)
	s.must(t, "replay --all-topics --from 1h", `events\.v1`)
	s.storedAgain(t)
	s.exact(t, 50)
}

// onDefault runs a statement where the stage's database does not exist.
func (s *stage) onDefault(t *testing.T, sql string) {
	t.Helper()
	at := *s.Stage
	at.ClickHouse.Database = "default"
	at.Run(t, sql)
}
