package doctor

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/millrace/millrace/internal/platform/config"
)

// service is one that a setting names and that is not asked anything: what would be is a
// mail, a decision or a trace.
type service struct {
	check, key, addr string
	isURL            bool
	roles            []Role
	away             Level
	why, do          string
}

func services(s *config.Settings) []service {
	return []service{
		{
			"billing.reach", "billing.url", s.Billing.URL, true,
			[]Role{Edge, Query},
			Fail,
			"the last decisions apply for five minutes, and then requests with events return 503",
			"start the service, or correct billing.url",
		},
		{
			"mail.reach", "mail.smtp.addr", s.Mail.SMTP.Addr, false,
			[]Role{Query},
			Warn,
			"invitations, password resets and notices are not delivered", "start the mail server, or correct mail.smtp.addr",
		},
		{
			"trace.reach", "trace.endpoint", s.Trace.Endpoint, true, Roles, Warn,
			"requests work, but no trace is recorded",
			"start the collector, or correct trace.endpoint (OTLP over HTTP, port 4318)",
		},
	}
}

// lookAtServices finds out whether what the settings name besides the servers takes
// connections.
func lookAtServices(ctx context.Context, o *Options, n *notebook) {
	for _, s := range services(&o.Settings) {
		if s.addr == "" || !o.has(s.roles...) {
			continue
		}
		addr, through := s.addr, ""
		if s.isURL {
			addr, through = dialled(s.addr)
		}
		conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", addr)
		if err != nil {
			what := fmt.Sprintf("%s: %s%s does not respond: %s", s.key, addr, through, reason(err))
			n.findings = append(n.findings, Finding{s.check, s.away, what, s.why, s.do})
			continue
		}
		conn.Close()
		n.ok(s.check, fmt.Sprintf("%s: %s%s accepts connections", s.key, addr, through))
	}
}

// dialled returns where a daemon connects to for a URL, which is a proxy's address where
// the environment names one.
func dialled(text string) (addr, through string) {
	u, err := url.Parse(text)
	if err != nil {
		return text, ""
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err == nil && proxy != nil {
		u, through = proxy, ", the proxy,"
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port), through
}
