package flagapi

import (
	"context"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
)

// work is what answering one request takes. It is pooled, so that evaluations allocate
// nothing. The next request finds nothing of a context in it: what the evaluator noted of one
// does not outlive its Reset.
type work struct {
	caller
	query

	keys        []string
	person      flageval.Context
	environment string
	at          time.Time
	evaluator   flageval.Evaluator
	client      client
	turn        flag.Turn // of the evaluator
	counted     [outcomes]int
	etag        []byte
	exposure    Exposure
	served      []served // by their keys; told once they are answered
}

// served is what a person gets of a flag.
type served struct {
	flag   *flagset.Flag
	result flageval.Result
}

var works = sync.Pool{New: func() any { return new(work) }}

// release gives a work back whose request is answered, and what it held.
func (w *work) release(c *fiber.Ctx) {
	w.caller.release(c)
	w.caller, w.query, w.person, w.environment = caller{}, query{}, flageval.Context{}, ""
	w.turn.Release()
	w.exposure, w.client, w.turn = Exposure{}, client{}, flag.Turn{}
	clear(w.keys)
	clear(w.served)
	w.keys, w.served = w.keys[:0], w.served[:0]
	works.Put(w)
}

// begin makes a work ready to evaluate flags of its caller's website, for the person whom
// the query string tells of.
func (h *Host) begin(c *fiber.Ctx, w *work) error {
	if err := h.person(&w.person, &w.query, w.trusted, httpkit.ClientAddr(c)); err != nil {
		return err
	}
	if err := h.load(c.UserContext(), &w.caller); err != nil {
		return err
	}
	w.environment, w.at = w.text[paramEnvironment], h.deps.Now()
	w.start(c)
	return nil
}

// start has the evaluator begin the request of c.
func (w *work) start(c *fiber.Ctx) {
	w.client = client{c.UserContext(), c}
	w.turn = flag.NewTurn(&w.client, w.website.OrganizationID)
	w.evaluator.Begin(&w.turn)
	w.evaluator.Reset(w.set.Compiled, &w.person, w.environment, w.at)
}

// client is the context of a request, which also ends when its client leaves.
type client struct {
	context.Context //nolint:containedctx // it is one

	request *fiber.Ctx
}

// Err implements context.Context. Who waits for Done learns nothing of a client that leaves.
func (c *client) Err() error {
	if httpkit.Gone(c.request) {
		return context.Canceled
	}
	return c.Context.Err()
}

// find returns a flag that the caller may know of; nil for none.
func (s *subject) find(key string) *flagset.Flag {
	if f := s.set.Find(s.website.ID, key); f != nil && s.sees(f) {
		return f
	}
	return nil
}

// evaluate returns what the person gets of a flag; ok is false where that is as good as none. The
// errors are those of the evaluator.
func (w *work) evaluate(f *flagset.Flag) (r flageval.Result, ok bool, err error) {
	if f == nil {
		w.counted[notFound]++
		return r, false, nil
	}
	if r, err = w.evaluator.Evaluate(f.Flag); err != nil {
		return r, false, err
	}
	w.counted[outcomeOf(r)]++
	return r, r.Reason != flageval.Off, nil
}

// expose tells that the person was served a flag that was asked for by its key.
func (h *Host) expose(w *work, f *flagset.Flag, r flageval.Result) {
	if h.deps.Exposures == nil {
		return
	}
	w.exposure = Exposure{ // in the work's memory, since whoever takes it is not known
		Website: w.website, Flag: f, Variant: r.Variant, Reason: r.Reason, Drawn: r.Drawn,
		UserID: w.text[paramUserID], Email: w.text[paramEmail], AnonymousID: w.text[paramAnonymousID],
		Country: w.person.Country, Environment: w.environment, Time: w.at,
	}
	h.deps.Exposures.Expose(&w.exposure)
}
