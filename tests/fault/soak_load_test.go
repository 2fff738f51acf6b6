package fault

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/time/rate"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

const (
	soakClients = 8
	soakBatch   = 50
	// again is every how many-th batch is sent again after it was acknowledged.
	again = 10
)

// soakLoad are the clients of a soak, and what was acknowledged to them. To remember
// every event would take more memory than all that is tested, so it keeps their
// number and what their hashes come to.
type soakLoad struct {
	mu    sync.Mutex
	ids   int // clients that were started
	acked checksum

	responses, rejected, unreached int64
}

// checksum tells a set of events from others.
type checksum struct{ events, xor, sum uint64 }

func (l *soakLoad) sum() checksum {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked
}

func (l *soakLoad) unique() uint64 { return l.sum().events }

// start has clients send so many events a second, together, or all they can, until
// it is ended.
func (l *soakLoad) start(s *soak, perSecond float64) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	limit := rate.NewLimiter(rate.Inf, 0)
	if perSecond > 0 {
		limit = rate.NewLimiter(rate.Limit(perSecond), soakClients*soakBatch)
	}
	var all sync.WaitGroup
	for range soakClients {
		l.ids++
		n := l.ids
		all.Go(func() {
			m := maker{rng: rand.New(rand.NewPCG(s.seed, uint64(n))), prefix: fmt.Sprint("s", n, "-")}
			for turn := n; limit.WaitN(ctx, soakBatch) == nil; turn++ {
				batch := m.events(soakBatch)
				for i := range batch {
					batch[i].owner = s.websites[n%len(s.websites)]
				}
				if err := l.insist(s, turn, batch); err != nil {
					s.t.Error(err)
					return
				}
				l.add(batch)
				if turn%again == 0 { // by another edge, as by a client that has not heard
					if err := l.insist(s, turn+1, batch); err != nil {
						s.t.Error(err)
						return
					}
				}
			}
		})
	}
	return sync.OnceFunc(func() { cancel(); all.Wait() })
}

// everywhere makes websites until each partition has one, so that whichever a sink owns, something
// comes for it.
func (f *front) everywhere(partitions int) (websites []string) {
	f.s.t.Helper()
	db, err := store.Open(f.s.t.Context(), f.store, store.Options{})
	if err != nil {
		f.s.t.Fatal(err)
	}
	defer db.Close()
	place := kgo.StickyKeyPartitioner(nil).ForTopic(record.TopicEvents)
	has := map[int]bool{}
	for n := 0; len(has) < partitions; n++ {
		w, err := website.New(f.fixture.OrganizationID, "soak", fmt.Sprintf("soak-%d.example", n), time.Now())
		if err != nil {
			f.s.t.Fatal(err)
		}
		p := place.Partition(&kgo.Record{Key: []byte(w.ID)}, partitions)
		if has[p] {
			continue
		}
		if err := db.CreateWebsite(f.s.t.Context(), audit.BySystem(), w); err != nil {
			f.s.t.Fatal(err)
		}
		has[p], websites = true, append(websites, w.ID)
	}
	return websites
}

// insist sends a batch to one edge after the other until one acknowledges it.
func (l *soakLoad) insist(s *soak, turn int, batch []happening) error {
	body, err := trackBody(batch)
	if err != nil {
		return err
	}
	return testkit.WaitFor(patience, func() error {
		to := s.front.settings[turn%len(s.front.settings)].Ingest.Listen
		turn++
		a, err := harness.Post(context.WithoutCancel(s.t.Context()), "http://"+to+"/track?website_id="+batch[0].owner,
			s.front.fixture.Key, body)
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case err != nil:
			l.unreached++
			return err
		case a.Status == http.StatusOK:
			l.responses++
			return nil
		case a.Status == http.StatusServiceUnavailable:
			l.responses, l.rejected = l.responses+1, l.rejected+1
		}
		return fmt.Errorf("answer %d %s", a.Status, a.Body)
	})
}

// add remembers the events of a batch, each once.
func (l *soakLoad) add(batch []happening) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[string]bool{}
	for _, h := range batch {
		if seen[h.id] {
			continue
		}
		seen[h.id] = true
		hash := record.HashOf([]byte(h.owner), []byte(h.id))
		key := binary.BigEndian.Uint64(hash[:8])
		l.acked.events++
		l.acked.xor ^= key
		l.acked.sum += key
	}
}
