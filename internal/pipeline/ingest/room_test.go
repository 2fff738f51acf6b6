package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/tally"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/privacy/salt"
)

// gated returns an Acceptor with a gate of its own.
func gated(w *world, to Publisher, memory int64) (*Acceptor, *admission.Gate) {
	g := admission.New(admission.Config{Host: "test", Memory: memory}, admission.Deps{Metrics: prometheus.NewRegistry()})
	now := func() time.Time { return noon }
	counts := tally.New(tally.Deps{Publisher: w, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	return New(Deps{
		Access: w, Salts: salt.New(w, slog.New(slog.DiscardHandler), now), Publisher: to,
		Metrics: prometheus.NewRegistry(), Now: now, Gate: g, Tally: counts,
	}), g
}

// scale is a Publisher that weighs what is alive when it is asked.
type scale struct {
	gate    *admission.Gate
	alive   int64 // at most
	claimed int64
	forced  uint32 // collections that were asked for until then
	windows []int
	until   []time.Time // deadlines of the contexts; zero for none
	from    int         // the window that fails first
	err     error
}

func (s *scale) Publish(ctx context.Context, recs []record.Record) error {
	s.alive = max(s.alive, alive())
	s.claimed, s.forced = s.gate.Used(), heap().NumForcedGC
	end, _ := ctx.Deadline()
	s.windows, s.until = append(s.windows, len(recs)), append(s.until, end)
	if len(s.windows) <= s.from {
		return nil
	}
	return s.err
}

func alive() int64 {
	runtime.GC()
	runtime.GC() // and what pools keep
	return int64(heap().HeapAlloc)
}

// heap is what the runtime tells of the heap.
func heap() (m runtime.MemStats) {
	runtime.ReadMemStats(&m)
	return m
}

// repeated is a batch of so many of an event.
func repeated(event string, n int) string {
	return "[" + strings.Repeat(event+",", n-1) + event + "]"
}

// manyKeys are members of an object.
func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%x":1,`, i)
	}
	return b.String() + `"z":1`
}

const usual = `{"name":"purchase","eventId":"3f2b8c1e-7a64-4d5e-9b1a-0c2d3e4f5a6b","path":"/checkout","anonymousId":"anon_5f0c1f0e",` +
	`"sessionId":"sess_9d8c7b6a","properties":{"currency":"EUR","value":129.95,"items":3,"coupon":"SPRING"}}`

func TestWhatARequestClaimsCoversWhatItTakes(t *testing.T) { //nolint:paralleltest // the heap is the process's
	for _, tc := range []struct { //nolint:paralleltest // see above
		name  string
		route *Route
		body  string
	}{
		{"an event", Track, usual},
		{"a hundred events", Track, repeated(usual, 100)},
		{"6,000 events", Track, repeated(usual, 6000)},
		{"100,000 tiny events", Track, repeated(`{"name":"a"}`, 100_000)},
		{"5,000 vitals", Vitals, repeated(`{"timestamp":1772366400000,"metricName":"LCP","metricValue":1,"path":"/"}`, 5000)},
		{"5,000 page events", Batch, repeated(`{"type":"track","eventId":"e","anonymousId":"a","sessionId":"s","timestamp":1772366400000,"name":"screen_view","path":"https://x.example/"}`, 5000)},
		{"a text full of braces", Track, `{"name":"a","properties":{"t":"` + strings.Repeat("{", 30_000) + `"}}`},
		{
			"6,000 events and a text full of braces", Track,
			repeated(`{"name":"a"}`, 6000)[:6000*13] + `,{"name":"a","t":"` + strings.Repeat("{", 1_900_000) + `"}]`,
		},
		{"5,000 fields", Track, `{"name":"a",` + manyKeys(5000) + `}`},
		{"200,000 keys of a field", Track, `{"name":"a","x":{` + manyKeys(200_000) + `}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &scale{}
			a, gate := gated(&world{}, s, 512<<20)
			s.gate = gate
			req := request("global", "web_1", tc.body)
			req.Route = tc.route
			before := alive()
			got, err := a.Accept(t.Context(), req)
			if err != nil || len(s.windows) == 0 {
				t.Fatalf("%+v, %v", got, err)
			}
			took := s.alive - before
			t.Logf("%d bytes of body: %d were alive, %d claimed", len(tc.body), took, s.claimed)
			// Some is for the producer, which keeps something for each record.
			if took > s.claimed*9/10 || s.claimed > 6*took+1<<20 {
				t.Errorf("%d bytes were alive, %d claimed", took, s.claimed)
			}
			if gate.Used() != 0 {
				t.Errorf("%d bytes are claimed afterwards", gate.Used())
			}
		})
	}
}

// Which keys there are shows only while a body is read.
func TestKeysForWhichThereIsNoRoomAreNotRead(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"properties": `{"name":"a","properties":{` + manyKeys(50_000) + `}}`,
		"a field":    `{"name":"a","x":{` + manyKeys(50_000) + `}}`,
		"fields":     `{"name":"a",` + manyKeys(50_000) + `}`,
	} {
		w := &world{}
		a, gate := gated(w, w, 4<<20)
		if _, err := track(t, a, request("global", "web_1", body)); !errors.Is(err, admission.ErrRejected) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := a.Check(t.Context(), request("global", "web_1", `{"name":"a",`+manyKeys(5000)+`}`)); err != nil {
			t.Errorf("%s: what is only looked at: %v", name, err)
		}
		if gate.Used() != 0 || len(w.published) > 0 {
			t.Errorf("%s: %d bytes are claimed afterwards, %d records published", name, gate.Used(), len(w.published))
		}
	}
}

// The largest claim that ends at once is collectBytes.
//
//nolint:paralleltest // collections are the process's
func TestAClaimWaitsForTheCollectorFromOneByteBeyondOn(t *testing.T) {
	for _, beyond := range []int64{0, 1} {
		a, gate := gated(&world{}, &scale{}, 512<<20)
		r := &run{Acceptor: a, claim: gate.Open(admission.Work, "web_1", "")}
		if err := r.claim.Take(collectBytes + beyond); err != nil {
			t.Fatal(err)
		}
		before := heap().NumForcedGC
		r.leaveRoom()
		if got := heap().NumForcedGC > before; got != (beyond > 0) || gate.Used() != 0 {
			t.Errorf("%d beyond: collected is %t; %d bytes are claimed", beyond, got, gate.Used())
		}
	}
}

// One request after another takes the room of the one before: what that leaves behind must
// not be memory any more by then, nor wait in a pool.
//
//nolint:paralleltest // the heap is the process's
func TestAVeryLargeClaimEndsOnceTheCollectorHasBeenThrough(t *testing.T) {
	for _, tc := range []struct { //nolint:paralleltest // see above
		events    int
		collected bool
	}{{30_000, false}, {100_000, true}} {
		t.Run(strconv.Itoa(tc.events), func(t *testing.T) {
			s := &scale{}
			a, gate := gated(&world{}, s, 512<<20)
			s.gate = gate
			req := request("global", "web_1", repeated(`{"name":"a"}`, tc.events))
			before := alive()
			if _, err := a.Accept(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			after := heap()
			if got := after.NumForcedGC > s.forced; got != tc.collected || got != (s.claimed > collectBytes) {
				t.Errorf("of %d claimed bytes: collected is %t, want %t", s.claimed, got, tc.collected)
			}
			if left := int64(after.HeapAlloc) - before; tc.collected && left > 4<<20 {
				t.Errorf("%d bytes are left although nothing is claimed for them", left)
			}
			runtime.KeepAlive(a)
		})
	}
}

func TestBracesWithinAnEventClaimNoRoomForEvents(t *testing.T) {
	t.Parallel()
	for name, properties := range map[string]string{
		"a text":  `"` + strings.Repeat("{", 30_000) + `"`,
		"JSON":    `"` + strings.Repeat(`{\"a\":{\"b\":1}},`, 1500) + `"`,
		"objects": `[` + strings.Repeat(`{"a":{}},`, 3000) + `{}]`,
	} {
		w := &world{}
		a, gate := gated(w, w, 1<<20)
		other := gate.Open(admission.Work, "other", "")
		if err := other.Take(768 << 10); err != nil {
			t.Fatal(err)
		}
		if _, err := track(t, a, request("global", "web_1", `{"name":"a","properties":{"p":`+properties+`}}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVeryManyEventsArePublishedAWindowAtATime(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		events int
		want   []int
	}{
		{1, []int{1}},
		{window, []int{window}},
		{window + 1, []int{window, 1}},
		{2*window + 7, []int{window, window, 7}},
	} {
		s := &scale{}
		a, gate := gated(&world{}, s, 512<<20)
		s.gate = gate
		if n, err := track(t, a,
			request("global", "web_1", repeated(`{"name":"a"}`, tc.events))); err != nil || n != tc.events {
			t.Errorf("%d events: %d are taken, %v", tc.events, n, err)
		}
		if fmt.Sprint(s.windows) != fmt.Sprint(tc.want) {
			t.Errorf("%d events were published as %v, want %v", tc.events, s.windows, tc.want)
		}
	}
}

func TestAWindowThatIsNotConfirmedEndsTheRequest(t *testing.T) {
	t.Parallel()
	s := &scale{err: apierr.Wrap(apierr.DeliveryUnavailable, errors.New("no"))}
	a, gate := gated(&world{}, s, 512<<20)
	s.gate = gate
	_, err := track(t, a, request("global", "web_1", repeated(`{"name":"a"}`, 3*window)))
	if !apierr.Is(err, apierr.DeliveryUnavailable) || len(s.windows) != 1 || gate.Used() != 0 {
		t.Errorf("%v after %d windows, %d bytes are claimed", err, len(s.windows), gate.Used())
	}
}

func TestAllWindowsOfARequestShareItsDeadline(t *testing.T) {
	t.Parallel()
	s := &scale{from: 2, err: apierr.Wrap(apierr.DeliveryUnavailable, errors.New("no"))}
	a, gate := gated(&world{}, s, 512<<20)
	s.gate, a.deps.Deadline = gate, time.Hour
	if _, err := track(t, a, request("global", "web_1", repeated(`{"name":"a"}`, 4*window))); !apierr.Is(err,
		apierr.DeliveryUnavailable) {
		t.Error(err)
	}
	if len(s.until) != 3 || s.until[0].IsZero() || s.until[0] != s.until[1] || s.until[0] != s.until[2] {
		t.Errorf("the windows' deadlines are %v, want three times the same", s.until)
	}
	// Two windows are stored, one may be, and the last was never sent.
	if n := testutil.ToFloat64(a.metrics.unconfirmed); n != 3*window {
		t.Errorf("%v events may be stored, want %d", n, 3*window)
	}
}

func TestARequestWithoutRoomIsRejectedAfterItsCredentialAndBeforeItsBodyIsRead(t *testing.T) {
	t.Parallel()
	w := &world{}
	a, gate := gated(w, w, 1<<20)
	for range 64 { // there is nothing left
		c := gate.Open(admission.Work, "", "")
		if err := c.Take(16 << 10); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		key, body string
		want      apierr.Code
	}{
		{"unknown", `{"name":"a"}`, apierr.AuthRequired},
		{"global", `{"name":"a"}`, apierr.ServiceUnavailable},
		{"global", `not JSON`, apierr.ServiceUnavailable},
	} {
		if _, err := track(t, a, request(tc.key, "web_1", tc.body)); !apierr.Is(err, tc.want) {
			t.Errorf("key %s, body %s: %v, want %s", tc.key, tc.body, err, tc.want)
		}
	}
	// Nor is the store asked whose the request was.
	w.asked = nil
	for _, site := range []string{"client-1", "made up"} {
		if _, err := track(t, a, request("", site, `{"name":"a"}`)); !apierr.Is(err, apierr.ServiceUnavailable) {
			t.Errorf("for %s: %v", site, err)
		}
	}
	if len(w.published) > 0 || len(w.asked) > 0 {
		t.Errorf("%d records were published, asked was for %v", len(w.published), w.asked)
	}
}

// However a caller names its website, and whatever else it names, it has one share.
func TestNamesThatACallerMakesUpAreNoSharesOfTheirOwn(t *testing.T) {
	t.Parallel()
	turns := func(names ...string) func(int) string { return func(i int) string { return names[i%len(names)] } }
	for name, tc := range map[string]struct {
		key  string // none for a client id
		site func(i int) string
	}{
		"a website of the key":            {"global", turns("web_1")},
		"names that are none":             {"global", strconv.Itoa},
		"another organization's websites": {"global", turns("web_3", "client-3")},
		"what a limited key may not name": {"limited", turns("web_1", "web_2", "x")},
		"names of one website":            {"", turns("client-1", "client-0", "web_1")},
		"client ids that are none":        {"", strconv.Itoa},
	} {
		const memory = 1 << 20
		a, gate := gated(&world{}, &world{}, memory)
		for i := 0; ; i++ {
			r := &run{Acceptor: a, req: request(tc.key, tc.site(i), `{"name":"a"}`), principal: keys[tc.key]}
			if r.req.Addr = netip.AddrFrom16([16]byte{0x20, 1, 8: byte(i)}); tc.key == "" {
				r.clientID = r.req.WebsiteID
			}
			if r.admit(t.Context()) != nil {
				break
			}
		}
		if got := gate.Used(); got > memory*6/10 { // half, and the last one
			t.Errorf("%s: %d bytes of %d are held", name, got, memory)
		}
	}
}

// An organization has its share of the room also where its websites' pages send.
func TestPagesTakeOfTheirOrganizationsShare(t *testing.T) {
	t.Parallel()
	w := &world{}
	a, gate := gated(w, w, 1<<20)
	for i := 0; ; i++ {
		c := gate.Open(admission.Work, strconv.Itoa(i), "org_1")
		if c.Take(16<<10) != nil {
			break
		}
	}
	for site, want := range map[string]bool{"client-2": false, "client-3": true} {
		_, err := track(t, a, request("", site, `{"name":"a"}`))
		if (err == nil) != want || err != nil && !errors.Is(err, admission.ErrRejected) {
			t.Errorf("for %s: %v", site, err)
		}
	}
}
