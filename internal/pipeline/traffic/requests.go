package traffic

import "time"

// Mix says how events are sent. A zero share is none.
type Mix struct {
	// Batch is how many events a request carries at most; at least 1.
	Batch int
	// PerVisit has each request carry events of one visit only, as browsers send
	// them, and the user agent of its visitor. Otherwise events of a website are put
	// together until there are Batch of them, as servers send them.
	PerVisit bool
	// Duplicates is the share of events that are sent again, with the same id, in a
	// later request. Disorder is the share that are sent later than those behind
	// them; of 1 it is a little less, since some must go first. The two are at most 1
	// together. Late is the share of visits that are sent up to three days after they
	// took place, as by who was offline.
	Duplicates, Disorder, Late float64
}

// mostDelayed bounds the events of a queue that wait for a later request, in
// batches: enough that no share comes near it but a Disorder of nearly 1.
const mostDelayed = 16

// latest is how much later the events of a late visit are sent at most.
const latest = 72 * time.Hour

// Request is a body for one of the ingestion host's routes.
type Request struct {
	Way Way
	// Website is the website of all of its events.
	Website string
	// UserAgent is that of the visitor, or of the first of several.
	UserAgent string
	Body      []byte // an array
	Events    int
}

// Requests puts the events of visits into requests. It is for one goroutine at a
// time.
type Requests struct {
	source *Source
	mix    Mix
	open   map[queueKey]*queue
	ready  []Request
}

type queueKey struct {
	site int
	way  Way
}

// queue is the request that is being filled, and what goes into later ones.
type queue struct {
	agent string
	body  []byte
	count int
	again []delayed
}

// delayed is an event that goes into a later request.
type delayed struct {
	agent string
	event []byte
}

// Requests returns the requests of a stream's visits.
func (w *World) Requests(stream uint64, mix Mix) *Requests {
	mix.Batch = max(1, mix.Batch)
	return &Requests{source: w.Source(stream), mix: mix, open: map[queueKey]*queue{}}
}

// Next returns the next request, whose events took place until now. Its body is the
// caller's.
func (r *Requests) Next(now time.Time) Request {
	for len(r.ready) == 0 {
		r.visit(now)
	}
	next := r.ready[0]
	r.ready = r.ready[1:]
	return next
}

// visit puts a visit into requests.
func (r *Requests) visit(now time.Time) {
	s := r.source
	site := s.Site()
	events := s.Visit(site, now)
	late := events[len(events)-1].TimeMillis - now.UnixMilli()
	if s.random.chance(r.mix.Late) {
		late += int64(s.random.unit() * float64(latest.Milliseconds()))
	}
	for i := range events {
		r.add(site, &events[i], late)
	}
	if !r.mix.PerVisit {
		return
	}
	for _, way := range []Way{Pages, Custom, Vitals, Errors} {
		key := queueKey{site, way}
		for q := r.open[key]; q != nil && (q.count > 0 || len(q.again) > 0); {
			r.flush(key, q)
		}
	}
}

// add puts an event into the request that is being filled, or, and as well, into
// the one after it.
func (r *Requests) add(site int, e *Event, late int64) {
	key := queueKey{site, e.Way()}
	q := r.open[key]
	if q == nil {
		q = &queue{}
		r.open[key] = q
	}
	dice := r.source.random.unit()
	if dice < r.mix.Duplicates+r.mix.Disorder && len(q.again) < mostDelayed*r.mix.Batch {
		q.again = append(q.again, delayed{e.UserAgent, e.AppendJSON(nil, late)})
		if dice >= r.mix.Duplicates {
			return
		}
	}
	q.begin(e.UserAgent)
	q.body = e.AppendJSON(q.body, late)
	if q.count >= r.mix.Batch {
		r.flush(key, q)
	}
}

// begin makes room for one event more, of a visitor with a user agent.
func (q *queue) begin(agent string) {
	if q.count++; q.count == 1 {
		q.agent, q.body = agent, append(q.body, '[')
	} else {
		q.body = append(q.body, ',')
	}
}

// flush hands out what is filled and begins the next with what waits for it.
func (r *Requests) flush(key queueKey, q *queue) {
	for {
		if q.count > 0 { // of a visit, all may be delayed
			r.ready = append(r.ready, Request{
				Way: key.way, Website: r.source.world.SiteID(key.site), UserAgent: q.agent, Body: append(q.body, ']'),
				Events: q.count,
			})
			q.body, q.count = make([]byte, 0, cap(q.body)), 0
		}
		for len(q.again) > 0 && q.count < r.mix.Batch {
			q.begin(q.again[0].agent)
			q.body = append(q.body, q.again[0].event...)
			q.again = q.again[1:]
		}
		if q.count < r.mix.Batch {
			return
		}
	}
}
