package tally

import (
	"context"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/id"
	"github.com/millrace/millrace/internal/contract/record"
)

// Owner is whose events are counted.
type Owner struct {
	Organization string // organization id
	Website      string // website id; empty for the organization's own events
}

// id is what the owner's records are keyed by.
func (o Owner) id() string {
	if o.Website != "" {
		return o.Website
	}
	return o.Organization
}

// Publisher sends records to Kafka.
type Publisher interface {
	// Publish returns nil only when every record is acknowledged. After an error
	// the memory behind the records still belongs to the Publisher.
	Publish(ctx context.Context, recs []record.Record) error
}

// Deps are the parts a Tally needs; all but Now are required.
type Deps struct {
	Publisher Publisher
	Log       *slog.Logger
	Metrics   prometheus.Registerer
	Now       func() time.Time // nil means time.Now
}

// MaxCells is how many owners and minutes are counted at a time.
const MaxCells = 20_000

// shards is how many locks the counts are spread over.
const shards = 32

// Tally counts. It is safe for concurrent use; a nil Tally counts nothing.
type Tally struct {
	deps    Deps
	metrics metrics
	edge    string // names this process since its start
	seed    maphash.Seed
	shards  [shards]shard
	cells   atomic.Int64
	waiting atomic.Int64

	batch   int64   // of counts, since the start; of the goroutine that publishes, as is pending
	pending []count // to be published, in this order
}

// shard holds a part of the counts.
type shard struct {
	mu    sync.Mutex
	cells map[cell]*counts
	_     [40]byte // the locks of two shards are on cache lines of their own
}

// cell is what counts are kept by.
type cell struct {
	owner  string
	minute int64 // since 1970
}

type counts struct {
	organization string
	of           [numOutcomes]int64
}

// New returns an empty Tally. Run publishes what it counts.
func New(deps Deps) *Tally {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	t := &Tally{deps: deps, edge: id.New("edge"), seed: maphash.MakeSeed()}
	for i := range t.shards {
		t.shards[i].cells = map[cell]*counts{}
	}
	t.metrics = newMetrics(deps.Metrics, t)
	return t
}

// Add counts events of an owner that were received at a time. It keeps the
// owner's strings. Events of nobody, whose Organization is empty, are not counted.
func (t *Tally) Add(o Owner, what Outcome, events int, at time.Time) {
	if t == nil || events == 0 || o.Organization == "" {
		return
	}
	key := cell{o.id(), at.Unix() / secondsPerMinute}
	s := &t.shards[maphash.String(t.seed, key.owner)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cells[key]
	if c == nil {
		if t.cells.Load() >= MaxCells {
			t.metrics.uncounted.Add(float64(events))
			return
		}
		t.cells.Add(1)
		c = &counts{organization: o.Organization}
		s.cells[key] = c
	}
	c.of[what] += int64(events)
}

const secondsPerMinute = 60

// take empties a shard.
func (t *Tally) take(s *shard) map[cell]*counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.cells) == 0 {
		return nil
	}
	taken := s.cells
	s.cells = make(map[cell]*counts, len(taken))
	t.cells.Add(-int64(len(taken)))
	return taken
}
