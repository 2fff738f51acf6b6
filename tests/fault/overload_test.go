package fault

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

const (
	// memoryBound is what an edge may occupy, whatever is asked of it.
	memoryBound = 256 << 20
	// lateCollector is what may be added to it where the machine does something else
	// too: the collector's limit is a soft one, and what it comes too late for is still
	// there. An edge without the limit, or without admission, occupies twice as much.
	lateCollector = 96 << 20
)

// target is an edge in a process of its own that a load is sent to.
type target struct {
	*front
	*child
	at    string // where requests go
	admin string
	bound int64 // what it may occupy
}

// newTarget starts one with the default caps, or with what change makes of them.
func (s *stage) newTarget(change func(*front)) *target {
	s.t.Helper()
	f := s.newFront(1)
	e := &f.settings[0]
	e.Admin.Listen, e.Log.Level = testkit.FreeAddr(s.t), "warn"
	e.Ingest.Deadline, e.Kafka.MaxBufferedBytes = 5*time.Second, 256<<20
	if !testkit.Strict() { // a broker may stand still for some seconds
		e.Ingest.Deadline = 25 * time.Second
	}
	if change != nil {
		change(f)
	}
	return &target{front: f, child: f.spawn(0), at: e.Ingest.Listen, admin: e.Admin.Listen, bound: memoryBound}
}

// addr is where requests go.
func (x *target) addr() string { return x.at }

// request makes a request of one event, whose id is its number behind a prefix.
func (x *target) request(website, prefix string) func([]byte, int) []byte {
	return x.requestOf(x.fixture.Key, website, prefix)
}

// requestOf is request with a key.
func (x *target) requestOf(key, website, prefix string) func([]byte, int) []byte {
	head := "POST /track?website_id=" + website + " HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + key +
		"\r\nContent-Length: %d\r\n\r\n%s"
	body := `{"name":"purchase","eventId":"` + prefix +
		`%09d","path":"https://shop.example/checkout?step=3","sessionId":"sess_9d8c7b6a",` +
		`"properties":{"currency":"EUR","value":129.95,"items":3,"coupon":"SPRING","plan":"pro","experiment":"checkout-b","first":true}}`
	return func(buf []byte, n int) []byte {
		b := fmt.Sprintf(body, n)
		return fmt.Appendf(buf, head, len(b), b)
	}
}

// page is request for pages of the first website, whose visitors' ids are hashed.
func (x *target) page(prefix string) func([]byte, int) []byte {
	head := "POST /track?website_id=" + x.fixture.ClientID + " HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s"
	body := `{"name":"purchase","eventId":"` + prefix + `%09d","anonymousId":"visitor","anonymizeVisitorIds":true}`
	return func(buf []byte, n int) []byte {
		b := fmt.Sprintf(body, n)
		return fmt.Appendf(buf, head, len(b), b)
	}
}

// metric reads one of the edge's.
func (x *target) metric(name string, labels ...string) float64 {
	x.s.t.Helper()
	var v float64
	testkit.Eventually(x.s.t, patience, func() (err error) {
		v, err = harness.ReadMetric(x.s.t.Context(), x.admin, name, labels...)
		return err
	})
	return v
}

// bounded fails the test unless the host has always kept its bound.
func (x *target) bounded() {
	x.s.t.Helper()
	peak, err := peakBytes(x.cmd.Process.Pid, false)
	if err != nil {
		x.s.t.Logf("the edge's memory is not known here: %v", err)
		return
	}
	x.s.t.Logf("it occupied %d MB at most", peak>>20)
	bound := x.bound
	if !testkit.Strict() {
		bound += lateCollector
	}
	if harness.Raced { // the detector keeps 5 to 10 times as much beside what the program has
		bound *= 10
	}
	if peak > bound {
		x.s.t.Errorf("it occupied %d MB, want at most %d", peak>>20, bound>>20)
	}
}

// warm sends for a moment, so that caches are filled and the memory is that of an
// edge at work.
func (x *target) warm(request func([]byte, int) []byte) {
	x.s.t.Helper()
	heard := newTally()
	l := load{addr: x.addr(), rate: 200, wires: 8, request: request, heard: heard.heard}
	l.run(x.s.t.Context(), time.Second)
	if heard.byStatus[200] == 0 || heard.others(200) > 0 {
		x.s.t.Fatalf("an edge without a load answered %s", heard)
	}
}

// capacity is how many requests a second the edge takes, with so many under way.
// Where the machine may do something else too, which is a plain test run, some may
// wait for too long and be rejected; with many seeds none may.
func (x *target) capacity(request func([]byte, int) []byte, wires int, d time.Duration) int {
	x.s.t.Helper()
	heard := newTally()
	l := load{addr: x.addr(), wires: wires, request: request, heard: heard.heard}
	l.run(x.s.t.Context(), d)
	allowed := []int{200}
	if !thorough() {
		allowed = append(allowed, 503)
	}
	if n := heard.others(allowed...); n > 0 || len(heard.errs) > 0 || heard.byStatus[200] == 0 {
		x.s.t.Fatalf("within its capacity the edge answered %s", heard)
	}
	return int(float64(heard.byStatus[200]) / d.Seconds())
}

// brief is d where many seeds were asked for, else a second: for what is measured to
// be compared, or to choose a load by.
func brief(d time.Duration) time.Duration {
	if thorough() {
		return d
	}
	return time.Second
}

// long is d where many seeds were asked for, else a short time.
func long(d time.Duration) time.Duration {
	if thorough() {
		return d
	}
	return 3 * time.Second
}

// Three times as much as an edge can take: its memory stays what it is, what it
// accepts arrives, everything else is told when to come again, and afterwards it
// takes everything at once.
func TestAnEdgeUnderThreefoldLoadKeepsItsMemoryAndWhatItAccepts(t *testing.T) {
	tr := trial{
		fault: "F21 overload", point: "3 times the capacity for a minute", on: kfakeOnly, few: 1, alone: true, once: true,
		body: func(t *testing.T, s *stage) {
			x := s.newTarget(func(f *front) {
				// All come from one address here.
				f.settings[0].Ingest.QueueTime, f.settings[0].Ingest.MaxPerAddr = 100*time.Millisecond, 0
			})
			x.warm(x.request(x.fixture.WebsiteID, "w"))
			capacity := x.capacity(x.request(x.fixture.WebsiteID, "c"), 64, brief(5*time.Second))
			heard := newTally()
			before := x.funnel()
			l := load{
				addr: x.addr(), rate: 3 * capacity, wires: 3000, request: x.request(x.fixture.WebsiteID, "o"), heard: heard.heard,
			}
			lasts := long(time.Minute)
			l.run(t.Context(), lasts)
			// Nobody here waits as a rejection asks for, so rejections take much of the processor.
			// What they leave must be used: without the pause before them it is a twentieth.
			if want := int(float64(capacity)*lasts.Seconds()) / 6; thorough() && heard.byStatus[200] < want {
				t.Errorf("%d requests were accepted, want at least a sixth of what could have been without refusals: %d",
					heard.byStatus[200], want)
			}
			t.Logf("capacity %d/s, then %d/s: %s; refused for memory %.0f, share %.0f, queue %.0f", capacity, 3*capacity, heard,
				x.metric("millrace_admission_refused_total", "reason", "memory"),
				x.metric("millrace_admission_refused_total", "reason", "share"),
				x.metric("millrace_admission_refused_total", "reason", "queue"))
			if n := heard.others(200, 503, 429); n > 0 || heard.silent > 0 || len(heard.errs) > 0 {
				t.Errorf("%d answers were of other statuses, %d refusals named no time, errors: %v",
					n, heard.silent, first(texts(heard.errs), 3))
			}
			if diff := cmp.Diff(before.after(heard), x.funnel()); diff != "" {
				t.Errorf("what the edge counts of its events (-heard +counted):\n%s", diff)
			}
			x.bounded()
			// At once; where the machine does something else too, in one of some attempts.
			tries := 1
			if !testkit.Strict() {
				tries = 10
			}
			var after *tally
			for taken := false; !taken && tries > 0; tries-- {
				after = newTally()
				l = load{
					addr: x.addr(), rate: capacity / 4, wires: 64, request: x.request(x.fixture.WebsiteID, fmt.Sprint("a", tries)),
					heard: after.heard,
				}
				l.run(t.Context(), 2*time.Second)
				taken = after.byStatus[200] > 0 && float64(after.others(200)) <= 0.1*float64(after.byStatus[200])
				if !taken && tries == 1 {
					t.Errorf("after the load the edge answered %s", after)
				}
			}
			s.took = after.quantile(1)
			x.stop()
			s.verdict = verdict{Acked: len(heard.accepted), partly: true, Missing: len(s.lost("o", heard.accepted))}
			if s.verdict.Missing > 0 {
				t.Errorf("%d of %d accepted requests are not in the log", s.verdict.Missing, len(heard.accepted))
			}
		},
	}
	tr.run(t)
}

// funnel is what an edge says of the events that it received: together, and of those the accepted
// and the rejected ones.
type funnel struct{ Received, Accepted, Rejected float64 }

func (x *target) funnel() (f funnel) {
	f.Received = x.metric("millrace_ingest_events_received_total")
	f.Accepted = x.metric("millrace_ingest_events_total", `outcome="accepted"`)
	f.Rejected = x.metric("millrace_ingest_events_total") - f.Accepted
	return f
}

// after is the funnel once what was heard is counted too, of requests of one event.
func (f funnel) after(heard *tally) funnel {
	accepted, rejected := float64(heard.byStatus[200]), float64(heard.others(200))
	return funnel{f.Received + accepted + rejected, f.Accepted + accepted, f.Rejected + rejected}
}

func texts(errs []error) (all []string) {
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}

// lost returns which of the numbers after a prefix are no event's in the log.
func (s *stage) lost(prefix string, numbers []int) (lost []int) {
	s.t.Helper()
	there := map[string]bool{}
	s.eachLogged(func(e logged) {
		if strings.HasPrefix(e.ID, prefix) {
			there[e.ID] = true
		}
	})
	for _, n := range numbers {
		if !there[fmt.Sprintf("%s%09d", prefix, n)] {
			lost = append(lost, n)
		}
	}
	return lost
}

// better is the tally with the lower p99; a may be nil.
func better(a, b *tally) *tally {
	if a != nil && a.quantile(0.99) <= b.quantile(0.99) {
		return a
	}
	return b
}
