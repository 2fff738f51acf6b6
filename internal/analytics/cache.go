package analytics

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/dgraph-io/ristretto/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// resultKey names one response: a statement with its values, and the version of the
// data. It is a hash that nobody can aim: of two responses with one key, one could
// be another tenant's.
type resultKey [sha256.Size]byte

// keyOf returns the key of a statement's response. Texts go in with their lengths, so
// that no two statements run into each other.
func keyOf(s *Statement, version uint64) resultKey {
	h := sha256.New()
	var n [8]byte
	number := func(x uint64) {
		binary.LittleEndian.PutUint64(n[:], x)
		h.Write(n[:])
	}
	text := func(t string) {
		number(uint64(len(t)))
		h.Write([]byte(t))
	}
	number(version)
	text(s.SQL)
	for i := range s.Params {
		p := &s.Params[i]
		text(p.Name)
		text(p.Type)
		text(p.Text)
	}
	var key resultKey
	h.Sum(key[:0])
	return key
}

// results keeps tables, as many as fit into its memory. What it returns belongs to
// many: nobody writes to it.
type results struct {
	kept *ristretto.Cache[string, *kept]
	most int64 // bytes that one table may take
}

type kept struct {
	key     resultKey
	table   *Table
	expires time.Time
}

const (
	// keptBytes is about what a table takes besides its values.
	keptBytes = 512
	// usualBytes is what a table takes, so that the cache knows how many to count.
	usualBytes = 8 << 10
	// share is the part of the memory that one table may take at most.
	share = 8
)

// newResults returns a cache of that many bytes, which are some; close ends it.
func newResults(bytes int64, reg prometheus.Registerer) *results {
	cache, err := ristretto.NewCache(&ristretto.Config[string, *kept]{
		NumCounters: max(10*bytes/usualBytes, 1<<10), MaxCost: bytes, BufferItems: 64, Metrics: true,
		IgnoreInternalCost: true,
	})
	if err != nil { // only for figures that are not positive
		return nil
	}
	r := &results{kept: cache, most: bytes / share}
	r.gauges(reg)
	return r
}

// get returns the table of a key; nil when there is none. It may be called on nil.
func (r *results) get(key resultKey, now time.Time) *Table {
	if r == nil {
		return nil
	}
	k, ok := r.kept.Get(string(key[:]))
	if !ok || k.key != key || !now.Before(k.expires) {
		return nil
	}
	return k.table
}

// put keeps a table for a time, unless it is too large.
func (r *results) put(key resultKey, t *Table, life time.Duration) {
	if cost := int64(t.Bytes()) + keptBytes; cost <= r.most {
		r.kept.SetWithTTL(string(key[:]), &kept{key, t, time.Now().Add(life)}, cost, life)
	}
}

func (r *results) close() { r.kept.Close() }

// gauges are what the cache itself exports.
func (r *results) gauges(reg prometheus.Registerer) {
	f := promauto.With(reg)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_query_cache_bytes",
		Help: "Memory of the cached query results.",
	}, func() float64 { return float64(r.kept.MaxCost() - r.kept.RemainingCost()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_query_cache_max_bytes",
		Help: "Limit of millrace_query_cache_bytes.",
	}, func() float64 { return float64(r.kept.MaxCost()) })
	f.NewCounterFunc(prometheus.CounterOpts{
		Name: "millrace_query_cache_evictions_total",
		Help: "Query results that left the cache, because it was full or they were too old.",
	}, func() float64 { return float64(r.kept.Metrics.KeysEvicted()) })
}

// cacheMetrics say what became of each statement, once.
type cacheMetrics struct{ hit, miss, shared, bypass prometheus.Counter }

func newCacheMetrics(f promauto.Factory) cacheMetrics {
	served := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_query_cache_statements_total",
		Help: "Statements by result: hit (from the cache), miss (run), shared (joined a run already in progress) or bypass " +
			"(run without the cache).",
	}, []string{"result"})
	return cacheMetrics{
		hit: served.WithLabelValues("hit"), miss: served.WithLabelValues("miss"),
		shared: served.WithLabelValues("shared"), bypass: served.WithLabelValues("bypass"),
	}
}
