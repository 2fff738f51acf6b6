package main

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	teststage "github.com/millrace/millrace/tests/harness/stage"
)

func TestMain(m *testing.M) { clickhousetest.Main(m) }

// stage runs commands at a broker and a ClickHouse.
type stage struct{ *teststage.Stage }

func newStage(t *testing.T) *stage {
	t.Helper()
	return &stage{teststage.New(t)}
}

type sent = teststage.Event

// flags point a command at the stage.
func (s *stage) flags(line string) []string {
	return append(strings.Fields(line), "--kafka.brokers="+s.Kafka.Brokers[0],
		"--clickhouse.addr="+s.ClickHouse.Addr[0], "--clickhouse.database="+s.ClickHouse.Database)
}

func (s *stage) millrace(t *testing.T, line string) (stdout string, err error) {
	t.Helper()
	stdout, _, err = millrace(t, s.flags(line)...)
	return stdout, err
}

// must runs a command and compares what it prints, without runs of blanks, with a
// regular expression.
func (s *stage) must(t *testing.T, line, want string) {
	t.Helper()
	out, err := s.millrace(t, line)
	if err != nil {
		t.Fatalf("millrace %s: %v", line, err)
	}
	wantMatch(t, "millrace "+line, out, want)
}

// rejected runs a command that has to end with an error.
func (s *stage) rejected(t *testing.T, line, want string) {
	t.Helper()
	out, err := s.millrace(t, line)
	if err == nil {
		t.Errorf("millrace %s is not refused, and prints\n%s", line, out)
		return
	}
	wantMatch(t, "millrace "+line, err.Error(), want)
}
