package operate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/app/status"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
)

func TestTheStatusTellsHowAnInstallationIs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	got := s.status(t, nil, func(got *status.Status, code int) error {
		if code != 0 || got.State != status.Healthy || len(got.Attention)+len(got.Unknown) > 0 {
			return fmt.Errorf("it ends with %d, %s: %q, %q; want an installation that is well",
				code, got.State, got.Attention, got.Unknown)
		}
		return nil
	})
	name := s.kafka.TopicPrefix + "events.v1"
	at := slices.IndexFunc(got.Kafka.Topics, func(topic status.Topic) bool { return topic.Name == name })
	if at < 0 || got.Kafka.Topics[at].Partitions != s.kafka.Partitions {
		t.Errorf("topics %+v, want %s with %d partitions", got.Kafka.Topics, name, s.kafka.Partitions)
	}
	if got.ClickHouse.Version == "" || got.Store.Version == "" ||
		got.Store.Schema != got.Store.Known || got.Ledger == nil {
		t.Errorf("ClickHouse %+v, store %+v, ledger %v: something is missing", got.ClickHouse, got.Store, got.Ledger)
	}
	testkit.EventuallyEvery(t, time.Second, patience, func() error {
		screen, code := millrace(t, s.settings, "status")
		for _, want := range []string{"HEALTHY", name, "clickhouse"} {
			if code != 0 || !strings.Contains(screen, want) {
				return fmt.Errorf("it ends with %d, and the screen does not show %q:\n%s", code, want, screen)
			}
		}
		return nil
	})
}

// What is away is told as unknown, and the rest all the same.
func TestTheStatusTellsWhatItCouldNotAsk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.status(t, map[string]string{"CLICKHOUSE_ADDR": testkit.FreeAddr(t)}, func(got *status.Status, code int) error {
		if code != 2 || got.State != status.Unknown || !strings.Contains(strings.Join(got.Unknown, "\n"), "ClickHouse: ") {
			return fmt.Errorf("it ends with %d, %s, unknown: %q; want ClickHouse to be unknown", code, got.State, got.Unknown)
		}
		if got.Kafka == nil || len(got.Kafka.Topics) == 0 || got.Store == nil {
			return fmt.Errorf("without ClickHouse, Kafka is %+v and the store %+v", got.Kafka, got.Store)
		}
		return nil
	})
}

func TestTheStatusCallsForAttention(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.status(t, map[string]string{"STORE_URL": services.Postgres(t)}, func(got *status.Status, code int) error {
		if code != 1 || got.State != status.Attention ||
			!strings.Contains(strings.Join(got.Attention, "\n"), `run "millrace migrate"`) {
			return fmt.Errorf("it ends with %d, %s: %q; want a metadata store that was never migrated",
				code, got.State, got.Attention)
		}
		return nil
	})
}

// status asks for the status until it is as wanted: what a busy machine keeps from
// answering is unknown.
func (s *site) status(
	t *testing.T, changed map[string]string, wanted func(*status.Status, int) error,
) (got status.Status) {
	t.Helper()
	settings := s.with(changed)
	testkit.EventuallyEvery(t, time.Second, patience, func() error {
		out, code := millrace(t, settings, "status", "--json")
		got = status.Status{}
		if err := json.NewDecoder(strings.NewReader(out)).Decode(&got); err != nil {
			return fmt.Errorf("%w:\n%s", err, out)
		}
		return wanted(&got, code)
	})
	return got
}
