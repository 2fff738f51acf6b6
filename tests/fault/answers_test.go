package fault

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

const (
	// queryLimit is the memory limit of a query host in the chart, and queryCollector its GOMEMLIMIT.
	queryLimit     = 3 << 30
	queryCollector = queryLimit / 10 * 9
	// answersBound is what the attacks below leave of it: the host itself, its gate of 256 MiB with what
	// the collector has not freed, and the pages and results under way.
	answersBound = 1024 << 20
)

// costly is a kind of request that costs more than its bytes.
type costly struct {
	name string
	// request is a whole one.
	request string
	// unread leaves the responses in the connections.
	unread bool
	atOnce int // ten times as many where many seeds are asked for
}

// post makes a request with a body, compressed.
func post(tb testing.TB, path, lines, body string) string {
	tb.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(body)); err != nil {
		tb.Fatal(err)
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n%s"+
		"Content-Length: %d\r\n\r\n%s", path, lines, packed.Len(), packed.String())
}

func (x *target) costlyRequests() []costly {
	f := x.fixture
	tree := "[" + strings.Repeat("[],", 349_000) + "[]]"
	key := "X-Api-Key: " + f.Key + "\r\n"
	// The largest result: 10,000 rows of 2 KB. Each asks for another range, so that none is shared.
	result := `{"parameters":["top_pages"],"startDate":"2026-04-01","endDate":"2026-04-02","limit":10000}`
	website := "?website_id=" + f.PublicWebsiteID
	var texts strings.Builder
	for i := range costlyTexts {
		fmt.Fprintf(&texts, `,"text%d":"%s%d"`, i, strings.Repeat("a", 250), i)
	}
	return []costly{
		{name: "trees for /v1/query", request: post(x.s.t, "/v1/query"+website, "", tree), atOnce: 30},
		{name: "trees for /v1/query/compile", request: post(x.s.t, "/v1/query/compile"+website, "", tree), atOnce: 30},
		{name: "trees for session/signIn", request: post(x.s.t, "/rpc/session/signIn", "", tree), atOnce: 30},
		{
			name: "trees for exposures", atOnce: 30,
			request: post(x.s.t, "/public/v1/flags/exposures?clientId="+f.ClientID, "", tree[len(tree)-250_000:]),
		},
		{name: "results", request: post(x.s.t, "/v1/query"+website, "", result), unread: true, atOnce: 24},
		{
			name: "results as CSV", unread: true, atOnce: 24,
			request: post(x.s.t, "/v1/query"+website, "Accept: text/csv\r\n", result),
		},
		{name: "pages of links", request: post(x.s.t, "/rpc/links/list", key, `{"limit":100}`), unread: true, atOnce: 150},
		{
			name: "evaluations", atOnce: 4,
			request: post(x.s.t, "/public/v1/flags/"+f.ClientID+"/ofrep/v1/evaluate/flags/"+costlyFlag, "",
				`{"context":{"targetingKey":"u"`+texts.String()+`}}`),
		},
		{
			name: "sign-ins", atOnce: 30,
			request: post(x.s.t, "/rpc/session/signIn", "", `{"email":"stranger@example.com","password":"a long wrong password"}`),
		},
		{
			name: "definitions over HTTP/1.0", unread: true, atOnce: 40,
			request: "GET /public/v1/flags/definitions?clientId=" + f.ClientID + " HTTP/1.0\r\nHost: x\r\n" + key + "\r\n",
		},
	}
}

// newAnswersTarget starts a query host with the memory of the chart, with large pages, links and results.
func (s *stage) newAnswersTarget() *target {
	s.t.Helper()
	x := s.newQueryTargetOf(queryCollector)
	s.exec(fmt.Sprintf(`INSERT INTO events (owner_id, website_id, event_date, event_time, received_at_inv, name, type,
	event_key, event_id, session_id, path)
SELECT '%[1]s', '%[1]s', toDate('2026-04-01'), toDateTime64('2026-04-01 12:00:00', 3, 'UTC'), number, 'screen_view', 'web',
	cityHash64(number), toString(number), toString(number), concat('/', toString(number), repeat('p', 2000))
FROM numbers(10000)`, x.fixture.PublicWebsiteID))
	values := `"` + strings.Repeat(strings.Repeat("v", 96)+`","`, 249) + `v"`
	rule := `{"conditions":[{"field":"city","op":"in","value":[` + values + `]}],"url":"https://example.com/"}`
	body := fmt.Sprintf(`{"name":"large","url":"https://example.com/","rules":[%s,%[1]s]}`, rule)
	for range 100 {
		x.call("links/create", body)
	}
	x.makeCostlyFlag()
	return x
}

// costlyFlag is the key of a flag that costs as much as the limits of flags allow: costlyTexts attributes
// are each compared with costlyPatterns patterns of 1,000 instructions.
const (
	costlyFlag     = "costly"
	costlyTexts    = 40
	costlyPatterns = 10
)

func (x *target) makeCostlyFlag() {
	t := x.s.t
	t.Helper()
	var rules []flageval.Rule
	for i := range costlyTexts {
		var conditions []flageval.Condition
		for j := range costlyPatterns {
			pattern := fmt.Sprintf("(?:a?){310}b%d", j)
			conditions = append(conditions, flageval.Condition{
				Attribute: fmt.Sprint("text", i), Op: flageval.OpMatches, Values: flageval.Operands{pattern},
			})
		}
		rules = append(rules, flageval.Rule{
			Conditions: &flageval.Conditions{Any: conditions}, Serve: flageval.Serve{Variant: "on"},
		})
	}
	makeFlag(t, x.front, costlyFlag, rules)
}

// call makes a management call with the fixture's key.
func (x *target) call(operation, body string) {
	x.s.t.Helper()
	w := wire{addr: x.addr()}
	defer w.close()
	w.buf = []byte(post(x.s.t, "/rpc/"+operation, "X-Api-Key: "+x.fixture.Key+"\r\n", body))
	if r := w.do(); r.err != nil || r.status/100 != 2 {
		x.s.t.Fatalf("%s = %d, %v", operation, r.status, r.err)
	}
}

// attack sends the requests of an attack at once, each from an address of its own, and leaves after a
// while.
func (x *target) attack(ctx context.Context, a *costly, n int) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 3, byte(i/250), byte(1+i%250))}}
			conn, err := d.DialContext(ctx, "tcp", x.addr())
			if err != nil {
				return
			}
			defer conn.Close()
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			defer stop()
			if a.unread {
				conn.(*net.TCPConn).SetReadBuffer(4 << 10)
			}
			for ctx.Err() == nil {
				if _, err := conn.Write([]byte(a.request)); err != nil {
					return
				}
				if a.unread {
					<-ctx.Done()
					return
				}
				buffer := make([]byte, 4<<10)
				if _, err := conn.Read(buffer); err != nil {
					return
				}
			}
		})
	}
	all.Wait()
}

// TestQueryHost_KeepsItsMemoryUnderAttack sends requests that cost more than their bytes, and leaves
// large responses unread.
func TestQueryHost_KeepsItsMemoryUnderAttack(t *testing.T) {
	tr := trial{
		fault: "F30 costly requests", point: "at the query host", on: kfakeOnly, few: 1, alone: true, once: true,
		body: func(t *testing.T, s *stage) {
			x := s.newAnswersTarget()
			x.bound = answersBound
			others := "GET /v1/query/websites HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + x.fixture.ForeignKey + "\r\n\r\n"
			lasts, times := time.Second, 1
			if exacting() {
				lasts, times = 10*time.Second, 10
			}
			for _, a := range x.costlyRequests() {
				ctx, leave := context.WithTimeout(t.Context(), lasts)
				var all sync.WaitGroup
				all.Go(func() { x.attack(ctx, &a, times*a.atOnce) })
				heard := newTally()
				l := load{
					addr: x.addr(), rate: 100, wires: 8, heard: heard.heard,
					request: func(buf []byte, _ int) []byte { return append(buf, others...) },
				}
				l.run(t.Context(), lasts)
				now, _ := peakBytes(x.cmd.Process.Pid, true)
				leave()
				all.Wait()
				t.Logf("%d %s: others %s; %d MB", times*a.atOnce, a.name, heard, now>>20)
				if heard.others(http.StatusOK) > 0 || len(heard.errs) > 0 || heard.byStatus[http.StatusOK] == 0 {
					t.Errorf("beside %s the others were answered %s", a.name, heard)
				}
				s.took = max(s.took, heard.quantile(0.99)) // for the report: 100 ms is the goal
				testkit.Eventually(t, patience, func() error { return x.idle() })
			}
			s.verdict.partly = true
			x.bounded()
			x.stop()
		},
	}
	tr.run(t)
}

// idle reports whether nothing is claimed any more.
func (x *target) idle() error {
	used, err := harness.ReadMetric(x.s.t.Context(), x.admin, "millrace_admission_bytes", "host", "query")
	if err == nil && used > 0 {
		err = fmt.Errorf("%g bytes are still claimed", used)
	}
	return err
}
