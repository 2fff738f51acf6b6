// Package doctor looks at an installation as its daemons would meet it, and says
// what is wrong, why that matters and what to do about it.
//
// It promises to change nothing, to look at every part although others fail, and
// to end in bounded time whatever is away: each part has a deadline of its own and
// all are looked at side by side. What it could not look at is a finding too; it
// never calls well what it has not seen. No finding shows a secret.
package doctor

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/platform/config"
)

// Level says how bad a finding is.
type Level string

// The levels.
const (
	OK   Level = "ok"
	Warn Level = "warn" // works, and will not in some case that What names
	Fail Level = "fail" // does not work, or loses something
)

// Finding is what a look at one thing brought.
type Finding struct {
	// Check names what was looked at, such as kafka.topics.
	Check string `json:"check"`
	Level Level  `json:"level"`
	// What is wrong, or in order, in one sentence.
	What string `json:"what"`
	// Why it matters and what to Do; empty where nothing is wrong.
	Why string `json:"why,omitempty"`
	Do  string `json:"do,omitempty"`
}

// Report is what all looks brought.
type Report struct {
	Findings []Finding `json:"findings"`
}

// Worst returns the worst level of the findings.
func (r *Report) Worst() Level {
	worst := OK
	for _, f := range r.Findings {
		if f.Level == Fail || f.Level == Warn && worst == OK {
			worst = f.Level
		}
	}
	return worst
}

// Role is a daemon whose needs are looked at.
type Role string

// The roles, named as their programs.
const (
	Edge  Role = "ingest-edge"
	Sink  Role = "sink"
	Query Role = "query"
)

// Roles are all of them.
var Roles = []Role{Edge, Sink, Query}

// Options say what to look at.
type Options struct {
	// Settings are those of the daemons, with all backends named.
	Settings config.Settings
	// Embedded says that standalone mode brings a backend along, so that its data
	// folder matters.
	Embedded bool
	// Roles are the daemons that run with the settings; none means all.
	Roles []Role
	// Timeout bounds the look at one part; 0 means 10 s.
	Timeout time.Duration
	// Now is this machine's clock; nil means time.Now.
	Now func() time.Time
}

// Run looks at everything.
func Run(ctx context.Context, o Options) *Report {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if len(o.Roles) == 0 {
		o.Roles = Roles
	}
	notes := make([]notebook, len(parts))
	var all sync.WaitGroup
	for i, look := range parts {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, o.Timeout)
			defer cancel()
			look(ctx, &o, &notes[i])
		})
	}
	all.Wait()
	r := &Report{}
	for _, n := range notes {
		r.Findings = append(r.Findings, n.findings...)
	}
	return r
}

// parts are looked at side by side and told in this order.
var parts = []func(context.Context, *Options, *notebook){
	lookAtFiles, lookAtFolder, lookAtListeners, lookAtAddresses, lookAtKafka, lookAtClickHouse, lookAtStore, lookAtRedis,
	lookAtServices,
}

func (o *Options) has(roles ...Role) bool {
	return slices.ContainsFunc(o.Roles, func(r Role) bool { return slices.Contains(roles, r) })
}

// notebook collects the findings of one look.
type notebook struct{ findings []Finding }

func (n *notebook) ok(check, what string) {
	n.findings = append(n.findings, Finding{Check: check, Level: OK, What: what})
}

func (n *notebook) warn(check, what, why, do string) {
	n.findings = append(n.findings, Finding{check, Warn, what, why, do})
}

func (n *notebook) fail(check, what, why, do string) {
	n.findings = append(n.findings, Finding{check, Fail, what, why, do})
}

// well notes that all is well unless something else was noted of the check.
func (n *notebook) well(check, what string) {
	for _, f := range n.findings {
		if f.Check == check && f.Level != OK {
			return
		}
	}
	n.ok(check, what)
}
