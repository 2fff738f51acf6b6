package domaincheck

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/miekg/dns"
)

// question is what a resolver is asked: records of a type, of a name without a dot at the
// end.
type question struct {
	name  string
	qtype uint16
}

// answer is what came of it: records, or why there are none. err is nil where a resolver
// answered, whatever it said.
type answer struct {
	rcode   int
	records []dns.RR
	err     error
}

// errNoServer says that the system names no resolver.
var errNoServer = errors.New("no resolver is configured")

// servers are the resolvers to ask, in their order, each as host:port.
func (c *Checker) servers() ([]string, error) {
	if c.cfg.Resolver != "" {
		return []string{c.cfg.Resolver}, nil
	}
	system, err := dns.ClientConfigFromFile("/etc/resolv.conf")
	if err != nil {
		return nil, err
	}
	if len(system.Servers) == 0 {
		return nil, errNoServer
	}
	servers := make([]string, len(system.Servers))
	for i, s := range system.Servers {
		servers[i] = net.JoinHostPort(s, system.Port)
	}
	return servers, nil
}

// rounds is how often each server is asked that does not answer: a datagram may be lost.
const rounds = 2

// datagramSize is the most bytes of an answer by UDP: what arrives whole on every path.
const datagramSize = 1232

// ask asks one server after the other until one answers, and divides the time that is left
// among them.
func ask(ctx context.Context, servers []string, q question) (got answer) {
	tries := slices.Repeat(servers, rounds)
	for i, server := range tries {
		if got = askOne(ctx, server, q, share(ctx, len(tries)-i)); got.err == nil || ctx.Err() != nil {
			return got
		}
	}
	return got
}

// share is a part of the time that is left.
func share(ctx context.Context, parts int) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return DefaultTimeout
	}
	return time.Until(end) / time.Duration(parts)
}

// askOne asks a server by UDP, and by TCP where the answer does not fit.
func askOne(ctx context.Context, server string, q question, wait time.Duration) answer {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	m := new(dns.Msg).SetQuestion(dns.Fqdn(q.name), q.qtype)
	m.SetEdns0(datagramSize, false)
	for _, network := range []string{"udp", "tcp"} {
		client := dns.Client{Net: network, Timeout: wait}
		r, _, err := client.ExchangeContext(ctx, m, server)
		switch {
		case err != nil:
			return answer{err: err}
		case !r.Truncated || network == "tcp":
			return answer{rcode: r.Rcode, records: r.Answer}
		}
	}
	return answer{err: errNoServer}
}
