// Package nameserver answers DNS questions of tests, as a resolver does.
package nameserver

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// Server is a resolver on loopback, by UDP and TCP. Names that it was told nothing of do not
// exist. It is safe for concurrent use.
type Server struct {
	Addr string // host:port

	mu      sync.Mutex
	records map[string][]dns.RR // by name
	rcodes  map[string]int
	silent  bool
	asked   map[string]int // by name and transport
}

// Start serves until the test has ended.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{records: map[string][]dns.RR{}, rcodes: map[string]int{}, asked: map[string]int{}}
	listener, packets := listen(tb)
	s.Addr = listener.Addr().String()
	for _, server := range []*dns.Server{
		{Listener: listener, Handler: s.over("tcp")}, {PacketConn: packets, Handler: s.over("udp")},
	} {
		started, ended := make(chan struct{}), make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		go func() {
			defer close(ended)
			if err := server.ActivateAndServe(); err != nil {
				tb.Error(err)
			}
		}()
		<-started
		tb.Cleanup(func() {
			if err := server.Shutdown(); err != nil {
				tb.Error(err)
			}
			<-ended
		})
	}
	return s
}

// listen finds a port that is free for both.
func listen(tb testing.TB) (net.Listener, net.PacketConn) {
	tb.Helper()
	var config net.ListenConfig
	for range 10 {
		listener, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		packets, err := config.ListenPacket(tb.Context(), "udp", listener.Addr().String())
		if err == nil {
			return listener, packets
		}
		listener.Close()
	}
	tb.Fatal("no port is free for UDP and TCP")
	return nil, nil
}

// Set replaces what there is of a name by records, each as in a zone file without the name:
// `TXT "a" "b"`, `A 192.0.2.1`, `CNAME other.example.`; by none, it does not exist.
func (s *Server) Set(tb testing.TB, name string, records ...string) {
	tb.Helper()
	var all []dns.RR
	for _, text := range records {
		r, err := dns.NewRR(dns.Fqdn(name) + " 60 IN " + text)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[strings.ToLower(dns.Fqdn(name))] = all
}

// Fail has a name be answered by a code, such as dns.RcodeServerFailure.
func (s *Server) Fail(name string, rcode int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rcodes[strings.ToLower(dns.Fqdn(name))] = rcode
}

// Silence has nothing be answered, or all again.
func (s *Server) Silence(silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = silent
}

// Asked returns how many questions about a name there were over a transport, "udp" or "tcp".
func (s *Server) Asked(name, network string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[network+" "+strings.ToLower(dns.Fqdn(name))]
}

func (s *Server) over(network string) dns.HandlerFunc {
	return func(w dns.ResponseWriter, q *dns.Msg) {
		m := s.answer(network, q)
		if m == nil {
			return
		}
		if network == "udp" {
			size := dns.MinMsgSize
			if opt := q.IsEdns0(); opt != nil {
				size = int(opt.UDPSize())
			}
			m.Truncate(size)
		}
		_ = w.WriteMsg(m) // who asked does not wait any more
	}
}

func (s *Server) answer(network string, q *dns.Msg) *dns.Msg {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.ToLower(q.Question[0].Name)
	s.asked[network+" "+name]++
	if s.silent {
		return nil
	}
	m := new(dns.Msg).SetReply(q)
	m.RecursionAvailable = true
	if m.Rcode = s.rcodes[name]; m.Rcode == dns.RcodeSuccess {
		s.follow(m, name, q.Question[0].Qtype)
	}
	return m
}

// follow adds the records of a name, and of what it is another name for.
func (s *Server) follow(m *dns.Msg, name string, qtype uint16) {
	records := s.records[name]
	if len(records) == 0 {
		m.Rcode = dns.RcodeNameError
		return
	}
	for _, r := range records {
		alias, isAlias := r.(*dns.CNAME)
		if r.Header().Rrtype == qtype || isAlias {
			m.Answer = append(m.Answer, r)
		}
		if isAlias && len(m.Answer) < 8 {
			s.follow(m, strings.ToLower(alias.Target), qtype)
		}
	}
}
