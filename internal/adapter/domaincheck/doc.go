// Package domaincheck asks DNS whether a hostname is whose it is said to be, and whether it
// leads to the host of short links.
//
// It promises one look within a bounded time, with a sentence for a person where the record
// is not there. It follows no zone by itself: CNAME records, caching and DNSSEC are the
// resolver's. It asks for nothing but the record, and the addresses of the two hosts.
package domaincheck

import (
	"context"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/millrace/millrace/internal/resource/link"
)

// DefaultTimeout is how long a whole check takes at most.
const DefaultTimeout = 5 * time.Second

// Config says whom to ask, and about what.
type Config struct {
	// Resolver is the host:port that is asked; empty for those of the system, which are
	// read again with each check.
	Resolver string
	// SharedHost is the name or address of the host that all organizations share; empty
	// where there is none, and no domain leads there.
	SharedHost string
	Timeout    time.Duration // of a whole check; 0 means DefaultTimeout
}

// Checker asks DNS. It is safe for concurrent use, and keeps nothing between two checks.
type Checker struct{ cfg Config }

// New returns a Checker that has asked nothing yet.
func New(cfg Config) *Checker {
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	cfg.SharedHost = link.HostKey(cfg.SharedHost)
	return &Checker{cfg: cfg}
}

// CheckDomain implements link.DomainChecker. All that it asks, it asks at the same time, so
// that what does not answer does not cost the rest its time.
func (c *Checker) CheckDomain(ctx context.Context, d *link.Domain) link.Proof {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	servers, err := c.servers()
	if err != nil {
		return link.Proof{Problem: "The resolver of the system is not known: /etc/resolv.conf cannot be read, or names none."}
	}
	questions := c.questions(d)
	answers := make([]answer, len(questions))
	var asked sync.WaitGroup
	for i, q := range questions {
		asked.Go(func() { answers[i] = ask(ctx, servers, q) })
	}
	asked.Wait()
	proof := link.Proof{
		Problem:    c.problem(d, &answers[0]),
		PointsHere: pointsHere(c.cfg.SharedHost, answers[1:3], answers[3:]),
	}
	for i := range answers {
		proof.Reached = proof.Reached || answers[i].err == nil
	}
	return proof
}

// questions are the record, the addresses of the domain, and those of the shared host.
func (c *Checker) questions(d *link.Domain) []question {
	all := []question{{d.RecordName(), dns.TypeTXT}, {d.Name, dns.TypeA}, {d.Name, dns.TypeAAAA}}
	if c.cfg.SharedHost != "" && !isAddress(c.cfg.SharedHost) {
		all = append(all, question{c.cfg.SharedHost, dns.TypeA}, question{c.cfg.SharedHost, dns.TypeAAAA})
	}
	return all
}
