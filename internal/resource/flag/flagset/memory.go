package flagset

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/readcache"
	"github.com/millrace/millrace/internal/resource/flag"
)

// ErrGone says that an organization does not exist, or was deleted.
var ErrGone = errors.New("the organization no longer exists")

// Contents are the flags of an organization that are not archived, and its segments, but for
// those of deleted websites, as they were at one time.
type Contents struct {
	Mark     Mark
	Flags    []*flag.Flag
	Segments []*flag.Segment
}

// Store is where flags are.
type Store interface {
	// FlagSet returns what an organization has, or ErrGone. What is in a set that is held, which
	// may be nil, in the same version may be returned as it is there.
	FlagSet(ctx context.Context, organizationID string, held *Set) (*Contents, error)
	// FlagSetMarks returns how new the sets of organizations are. The version of one that
	// never had a flag, or that is gone, is 0.
	FlagSetMarks(ctx context.Context, organizationIDs []string) (map[string]Mark, error)
}

// Config bounds a memory. A zero field means the default.
type Config struct {
	Bytes int64         // that sets may take together; 256 MiB
	Stale time.Duration // for which what is held answers while the store is away; 24 h
}

// Deps are the parts of a memory; all but Metrics and Now are required.
type Deps struct {
	Store   Store
	Log     *slog.Logger
	Metrics prometheus.Registerer // nil for none
	Now     func() time.Time      // nil means time.Now
}

// Memory holds sets. It is safe for concurrent use, but for Run, which is to be called once.
type Memory struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	index   *index
	reads   *readcache.Reads[*Set]
	again   *readcache.Again[struct{}] // organizations whose sets are to be read again; no more than are held or watched

	born  time.Time
	right atomic.Int64  // age of the memory, up to which all is right that is held and not doubted
	wake  chan struct{} // says that changes may have been missed

	mu            sync.Mutex
	order         *list.List // of entries; those at the front give way first
	bytes         int64      // that are held
	lowWatermarks lowWatermarks
	ended         int64                          // organizations that ended
	watches       map[string]map[*Watch]struct{} // by organization
	asked         map[string]bool                // organizations of which somebody heard that their sets are newer
	askedC        chan struct{}                  // says that there are some

	doubts, settled int64     // times that changes may have been missed; as many of them are settled
	trusted         time.Time // changes are told until then
	looked          time.Time // when marks were last compared
	failing         bool      // that failed, which was logged
	broken          string    // the last that was logged of sets that cannot be used
}

// entry is the place of one organization.
type entry struct {
	id    string
	is    atomic.Pointer[held]
	used  atomic.Bool   // since it was last looked at for giving way
	place *list.Element // under the memory's mu
}

// held is a set as it is held. It is replaced and does not change.
type held struct {
	set *Set
	// right is the age of the memory up to which the set is known to be right by itself, and
	// doubted says that a change of it is left to be read: nothing else makes it right.
	right   time.Duration
	doubted bool
}

const (
	defaultBytes = 256 << 20
	defaultStale = 24 * time.Hour
	// retryAfter is what callers are told to wait while nobody knows.
	retryAfter = 5 * time.Second
	// currentFor is how long a set is relied on; later, the store is away.
	currentFor = 6 * time.Second
)

// NewMemory returns a memory that holds nothing. It follows changes while Run runs.
func NewMemory(cfg Config, deps Deps) *Memory {
	if cfg.Bytes <= 0 {
		cfg.Bytes = defaultBytes
	}
	if cfg.Stale <= 0 {
		cfg.Stale = defaultStale
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	m := &Memory{
		cfg: cfg, deps: deps, index: newIndex(), again: readcache.NewAgain[struct{}](0), born: deps.Now(),
		wake:  make(chan struct{}, 1),
		reads: readcache.NewReads[*Set](readcache.Config{Name: "flag_sets"}, isGone, deps.Metrics),
		order: list.New(), lowWatermarks: newLowWatermarks(), watches: make(map[string]map[*Watch]struct{}),
		asked: make(map[string]bool), askedC: make(chan struct{}, 1),
	}
	m.metrics = newMetrics(deps.Metrics, m)
	return m
}

func isGone(err error) bool { return errors.Is(err, ErrGone) }

// Get returns the flags of an organization: what is held, or else what the store says. An
// organization without flags, and one that is gone, has an empty set. It returns a
// ServiceUnavailable error where the store cannot be asked, and nothing is held that was right
// within Config.Stale.
func (m *Memory) Get(ctx context.Context, organizationID string) (*Set, error) {
	if e := m.index.find(organizationID); e != nil {
		h := e.is.Load()
		if age := m.age(h); age < m.cfg.Stale {
			e.touch()
			m.metrics.found(age)
			return h.set, nil
		}
	}
	m.metrics.misses.Inc()
	set, err := m.read(ctx, organizationID)
	if err != nil {
		return nil, &apierr.Error{
			Code: apierr.ServiceUnavailable, RetryAfter: retryAfter,
			Err: fmt.Errorf("reading the flags of organization %s: %w", organizationID, err),
		}
	}
	return set, nil
}

// now is the age of the memory.
func (m *Memory) now() time.Duration { return m.deps.Now().Sub(m.born) }

// age is how long ago a set was right.
func (m *Memory) age(h *held) time.Duration { return m.now() - m.rightOf(h) }

// rightOf is the age of the memory up to which a set is known to be right.
func (m *Memory) rightOf(h *held) time.Duration {
	if h.doubted {
		return h.right
	}
	return max(h.right, time.Duration(m.right.Load()))
}

// touch notes that a set is asked for. It writes seldom: many do it at the same time.
func (e *entry) touch() {
	if !e.used.Load() {
		e.used.Store(true)
	}
}
