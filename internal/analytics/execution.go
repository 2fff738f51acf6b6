package analytics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/platform/fair"
)

// Freshness says what a caller wants of responses that are kept.
type Freshness struct {
	// NoRead has every statement run, whatever is known.
	NoRead bool
	// NoStore has what it answers not kept either.
	NoStore bool
}

// Execution is a request under way. It is used by one goroutine at a time: Prepare
// makes it, Begin starts it, Wait brings each response, Close ends it.
type Execution struct {
	engine *Engine
	plans  []Plan
	wants  Freshness
	runs   [][]run
	held   int              // bytes of the tables so far; guarded by the engine's flights
	claim  *admission.Claim // for the same bytes, likewise; nil for none
}

// Bill has the execution claim the memory of its tables, from when they are there until Close. It is
// called before Begin. A statement whose table has no memory fails with ErrUnavailable. The claim is
// the execution's until Close, which does not release it.
func (x *Execution) Bill(claim *admission.Claim) { x.claim = claim }

// run is what becomes of one statement.
type run struct {
	of        *Execution
	statement *Statement

	stamped bool // key and life are known
	key     resultKey
	life    time.Duration
	flight  *flight // nil when there is none, or not any more
	known   bool    // table and err are there, and stay
	// table and err are written by the flight before it is done, while this waits for it.
	table *Table
	err   error
}

// take has the run keep a table, if the request has room for it: from the moment in which
// it is there, not from that in which somebody asks for it. The lock of flights is held.
func (r *run) take(t *Table, err error) {
	x := r.of
	switch {
	case err != nil || t == nil:
	case x.held+t.Bytes() > x.engine.cfg.MaxResultBytes:
		t, err = nil, errResultsTooLarge
	case x.claim != nil && x.claim.Take(int64(t.Bytes())) != nil:
		t, err = nil, errNoMemory
	default:
		x.held += t.Bytes()
	}
	r.table, r.err = t, err
}

// The reasons why a statement that did not fail has no response.
var (
	errNoMemory        = fmt.Errorf("%w: no memory for the result", ErrUnavailable)
	errResultsTooLarge = fmt.Errorf("%w: the results of the request together", ErrTooLarge)
	errLeft            = errors.New("no request waits for the result")
)

// versionsAtOnce is how many versions one request reads at the same time.
const versionsAtOnce = 4

// Prepare finds out of what state of the data the responses will be, unless they are
// neither to be found nor to be kept by it. It runs no statement.
func (e *Engine) Prepare(ctx context.Context, plans []Plan, wants Freshness) *Execution {
	x := &Execution{engine: e, plans: plans, wants: wants, runs: make([][]run, len(plans))}
	var g errgroup.Group
	g.SetLimit(versionsAtOnce)
	for i := range plans {
		x.runs[i] = make([]run, len(plans[i].Statements))
		for j := range plans[i].Statements {
			r := &x.runs[i][j]
			r.of, r.statement = x, &plans[i].Statements[j]
			switch {
			case r.statement.Empty:
				r.stamped, r.key = !r.statement.Volatile, keyOf(r.statement, 0)
				r.known, r.table = true, &Table{}
			case e.versions != nil && !r.statement.Volatile && wants != (Freshness{NoRead: true, NoStore: true}):
				g.Go(func() error {
					x.stamp(ctx, r)
					return nil
				})
			}
		}
	}
	_ = g.Wait() // a version that cannot be read keeps a response from being kept, no more
	return x
}

func (x *Execution) stamp(ctx context.Context, r *run) {
	st, err := x.engine.versions.stampOf(ctx, r.statement)
	if err != nil {
		x.engine.metrics.versionless.Inc()
		return
	}
	r.stamped, r.key, r.life = true, keyOf(r.statement, st.number), st.life
}

// Tag returns what tells the responses from those that the same request gets once the
// data has changed; false when that cannot be told, as with statements about the
// present, or was not found out.
func (x *Execution) Tag() (tag []byte, ok bool) {
	for i := range x.runs {
		for j := range x.runs[i] {
			r := &x.runs[i][j]
			if !r.stamped {
				return nil, false
			}
			tag = append(tag, r.key[:]...)
		}
	}
	return tag, true
}

// Begin starts every statement that needs to run, or none: then the error is a
// RateLimited or ServiceUnavailable error. It does not wait. The context gives the
// runs its values and no deadline; they end when nobody waits for them.
func (x *Execution) Begin(ctx context.Context) error {
	e := x.engine
	e.flights.mu.Lock()
	defer e.flights.mu.Unlock()
	fresh, joins, same := x.sort()
	if len(fresh) > 0 {
		subject := fresh[0].statement.Subject
		claims, err := e.slots.Admit(subject.owner(), len(fresh))
		if err != nil {
			return e.rejection(err, subject.Kind)
		}
		for i, r := range fresh {
			e.flights.begin(ctx, r.key, r.stamped && !x.wants.NoRead).join(r)
			life := r.life
			if x.wants.NoStore || !r.stamped {
				life = 0
			}
			go e.fly(r.flight, r.statement, claims[i], life)
		}
	}
	for r, f := range joins {
		f.join(r)
	}
	for r, first := range same {
		first.flight.join(r)
	}
	return nil
}

// sort tells what has to run from what is known, what runs for somebody else, and
// what this request asks twice.
func (x *Execution) sort() (fresh []*run, joins map[*run]*flight, same map[*run]*run) {
	e, now := x.engine, time.Now()
	joins, same = map[*run]*flight{}, map[*run]*run{}
	own := map[resultKey]*run{}
	count := &e.metrics.served
	for i := range x.runs {
		for j := range x.runs[i] {
			r := &x.runs[i][j]
			switch {
			case r.known:
				continue
			case !r.stamped:
				r.key = keyOf(r.statement, 0) // within this request
				count.bypass.Inc()
			case x.wants.NoRead:
				count.bypass.Inc()
			default:
				if t := e.results.get(r.key, now); t != nil {
					x.hit(r, t)
					count.hit.Inc()
					continue
				}
				if f := e.flights.byKey[r.key]; f != nil {
					joins[r] = f
					count.shared.Inc()
					continue
				}
				count.miss.Inc()
			}
			if first := own[r.key]; first != nil {
				same[r] = first
				continue
			}
			own[r.key] = r
			fresh = append(fresh, r)
		}
	}
	return fresh, joins, same
}

// rejection is the error of a request whose statements find no slot.
func (e *Engine) rejection(err error, kind SubjectKind) error {
	limit := e.cfg.OwnerSlots + e.cfg.OwnerQueue
	switch {
	case errors.Is(err, fair.ErrTenantFull):
		kind, limit = Organization, e.cfg.Slots+e.cfg.TenantQueue
	case !errors.Is(err, fair.ErrOwnerFull):
		return &apierr.Error{
			Code: apierr.ServiceUnavailable, Message: "Too many queries are waiting", RetryAfter: retryAfter, Err: err,
		}
	}
	what := map[SubjectKind]string{Website: "website", Organization: "organization", Link: "link"}[kind]
	return &apierr.Error{
		Code: apierr.RateLimited, Message: "Too many queries of this " + what + " are waiting", RetryAfter: retryAfter,
		Err:  err,
		Rate: &apierr.Rate{Limit: limit, Reset: time.Now().Add(retryAfter)},
	}
}

// retryAfter is what a caller is told to wait whose statements find no slot.
const retryAfter = time.Second

// Wait returns the response of an output of a plan, which is there when its statement
// ran, or a part of the context's time before its deadline.
func (x *Execution) Wait(ctx context.Context, plan, output int) Result {
	o := &x.plans[plan].Outputs[output]
	if o.Rejected != nil {
		return Result{Output: o, Err: o.Rejected}
	}
	r := &x.runs[plan][o.Statement]
	if !r.known {
		x.wait(ctx, r)
	}
	result := Result{Output: o, Statement: r.statement, Err: r.err}
	if r.err == nil {
		result.Table = o.pick(r.table)
	}
	return result
}

func (x *Execution) wait(ctx context.Context, r *run) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-x.engine.cfg.Reserve))
		defer cancel()
	}
	select {
	case <-r.flight.done:
		r.flight = nil
	case <-ctx.Done():
		x.engine.flights.leave(r, ctx.Err())
		x.engine.failed(ctx, r.statement, ctx.Err())
		r.table, r.err = nil, ctx.Err()
	}
	r.known = true
}

// hit has a run take a table that is kept. The lock of flights is held.
func (x *Execution) hit(r *run, t *Table) {
	if r.take(t, nil); r.err != nil {
		x.engine.failed(context.Background(), r.statement, r.err)
	}
	r.known = true
}

// Known reports whether every response is there, so that Wait does not wait, and
// whether there is one to everything that is not rejected.
func (x *Execution) Known() (all, good bool) {
	good = true
	for i := range x.runs {
		for j := range x.runs[i] {
			r := &x.runs[i][j]
			if !r.known {
				select {
				case <-r.flight.done:
				default:
					return false, false
				}
			}
			good = good && r.err == nil
		}
	}
	return true, good
}

// Close ends what runs for nobody else.
func (x *Execution) Close() {
	for i := range x.runs {
		for j := range x.runs[i] {
			if r := &x.runs[i][j]; r.flight != nil {
				x.engine.flights.leave(r, errLeft)
			}
		}
	}
}
