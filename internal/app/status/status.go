// Package status tells on one screen how an installation is: versions, topics and
// lag, windows, plans, ledger, rollups, tables, disks, migrations and quotas.
//
// It asks Kafka, ClickHouse and the metadata store themselves, so that it answers
// also where no daemon runs. It promises to change nothing and to end in bounded
// time: a part that cannot be asked says so, and the others are told all the same.
package status

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/platform/buildinfo"
	"github.com/millrace/millrace/internal/platform/config"
)

// State is the sum of it all.
type State string

// The states.
const (
	Healthy   State = "healthy"
	Attention State = "attention"
	Unknown   State = "unknown"
)

// Seconds is a duration as JSON tells it.
type Seconds float64

// Duration is the same for Go.
func (s Seconds) Duration() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

func seconds(d time.Duration) Seconds { return Seconds(d.Round(time.Millisecond).Seconds()) }

// Status is how an installation is.
type Status struct {
	At       time.Time `json:"at"`
	Millrace string    `json:"millrace"`
	State    State     `json:"state"`
	// Attention says what to look at, one sentence each.
	Attention []string `json:"attention"`
	// Unknown says which part could not be asked, and why.
	Unknown []string `json:"unknown"`

	Kafka      *Kafka      `json:"kafka,omitempty"`
	Ledger     *Ledger     `json:"ledger,omitempty"`
	ClickHouse *ClickHouse `json:"clickhouse,omitempty"`
	Store      *Store      `json:"store,omitempty"`
	Daemons    []Daemon    `json:"daemons,omitempty"`
}

// Options say what to ask.
type Options struct {
	// Settings name the backends, all of them.
	Settings config.Settings
	// Pipelines are the topics that sinks store.
	Pipelines []repair.Pipeline
	// Admins are private listeners of daemons, host:port.
	Admins []string
	// Timeout bounds everything; 0 means 10 s.
	Timeout time.Duration
}

// Read asks all parts side by side.
func Read(ctx context.Context, o Options) *Status {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	r := &reader{Options: o, status: &Status{
		At: time.Now().UTC(), Millrace: buildinfo.Version(), State: Healthy, Attention: []string{}, Unknown: []string{},
	}}
	var all sync.WaitGroup
	for name, part := range map[string]func(context.Context) error{
		"Kafka": r.kafka, "ledger": r.ledger, "ClickHouse": r.clickhouse, "metadata store": r.store, "daemons": r.daemons,
	} {
		all.Go(func() {
			if err := part(ctx); err != nil {
				r.unknown(name, err)
			}
		})
	}
	all.Wait()
	switch s := r.status; {
	case len(s.Unknown) > 0:
		s.State = Unknown
	case len(s.Attention) > 0:
		s.State = Attention
	}
	return r.status
}

// reader collects what parts tell.
type reader struct {
	Options

	mu     sync.Mutex
	status *Status
}

func (r *reader) attend(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Attention = append(r.status.Attention, fmt.Sprintf(format, args...))
}

func (r *reader) unknown(part string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Unknown = append(r.status.Unknown, fmt.Sprintf("%s: %v", part, err))
}

// tell keeps what a part has found.
func (r *reader) tell(keep func(*Status)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	keep(r.status)
}
