package httpkit

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

var (
	listed    = Proxies{Trusted: trusted}
	forwarded = Proxies{Trusted: trusted, Header: "forwarded"}
	trusted   = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}
)

func TestTheClientsAddressIsWhatTheLastTrustedProxySaw(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		proxies Proxies
		peer    string
		header  []string // lines, each with its name
		want    string
	}{
		{"nobody is trusted", Proxies{}, "10.0.0.1", []string{"X-Forwarded-For: 1.2.3.4"}, "10.0.0.1"},
		{"the peer is no proxy", listed, "192.0.2.1", []string{"X-Forwarded-For: 1.2.3.4"}, "192.0.2.1"},
		{"a proxy that speaks for itself", listed, "10.0.0.1", nil, "10.0.0.1"},
		{"one proxy", listed, "10.0.0.1", []string{"X-Forwarded-For: 192.0.2.1"}, "192.0.2.1"},
		{"what the caller wrote before it", listed, "10.0.0.1", []string{"X-Forwarded-For: 1.2.3.4, 192.0.2.1"}, "192.0.2.1"},
		{"two proxies", listed, "10.0.0.1", []string{"X-Forwarded-For: 1.2.3.4, 192.0.2.1,10.9.9.9"}, "192.0.2.1"},
		{"two lines", listed, "10.0.0.1", []string{"X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 10.9.9.9"}, "192.0.2.1"},
		{
			"the caller's line first", listed, "10.0.0.1",
			[]string{"X-Forwarded-For: 1.2.3.4", "X-Forwarded-For: 192.0.2.1"},
			"192.0.2.1",
		},
		{"all of them trusted", listed, "10.0.0.1", []string{"X-Forwarded-For: 10.3.3.3, 10.2.2.2"}, "10.3.3.3"},
		{"a proxy that knows nothing", listed, "10.0.0.1", []string{"X-Forwarded-For: 1.2.3.4, unknown"}, "10.0.0.1"},
		{
			"nonsense behind the first proxy", listed, "10.0.0.1", []string{"X-Forwarded-For: 1.2.3.4, x, 10.2.2.2"}, "10.2.2.2",
		},
		{"an empty item", listed, "10.0.0.1", []string{"X-Forwarded-For: 1.2.3.4,"}, "10.0.0.1"},
		{"an address with a port", listed, "10.0.0.1", []string{"X-Forwarded-For: 192.0.2.1:4711"}, "192.0.2.1"},
		{"IPv6", listed, "10.0.0.1", []string{"X-Forwarded-For: 2a00::1"}, "2a00::1"},
		{"IPv6 with a port", listed, "10.0.0.1", []string{"X-Forwarded-For: [2a00::1]:80"}, "2a00::1"},
		{"IPv6 in brackets", listed, "10.0.0.1", []string{"X-Forwarded-For: [2a00::1]"}, "2a00::1"},
		{"IPv4 in brackets", listed, "10.0.0.1", []string{"X-Forwarded-For: [1.2.3.4]"}, "10.0.0.1"},
		{"IPv4 in IPv6", listed, "::ffff:10.0.0.1", []string{"X-Forwarded-For: ::ffff:192.0.2.1"}, "192.0.2.1"},
		{"a zone", listed, "10.0.0.1", []string{"X-Forwarded-For: fe80::1%eth0"}, "fe80::1"},
		{"a bracket alone", listed, "10.0.0.1", []string{"X-Forwarded-For: ["}, "10.0.0.1"},
		{"an endless item", listed, "10.0.0.1", []string{"X-Forwarded-For: 1.2.3.4" + strings.Repeat("4", 100)}, "10.0.0.1"},
		{"octal digits", listed, "10.0.0.1", []string{"X-Forwarded-For: 1.2.3.010"}, "10.0.0.1"},
		{"the header that is not chosen", listed, "10.0.0.1", []string{"Forwarded: for=192.0.2.1"}, "10.0.0.1"},
		{
			"a header of another kind", listed, "10.0.0.1",
			[]string{"X-Real-IP: 192.0.2.1", "CF-Connecting-IP: 192.0.2.1"},
			"10.0.0.1",
		},

		{"Forwarded", forwarded, "10.0.0.1", []string{"Forwarded: for=192.0.2.1;proto=http;by=10.0.0.1"}, "192.0.2.1"},
		{
			"Forwarded, and the header that is not chosen", forwarded, "10.0.0.1",
			[]string{"X-Forwarded-For: 192.0.2.1"},
			"10.0.0.1",
		},
		{"Forwarded, in capitals", forwarded, "10.0.0.1", []string{"Forwarded: By=x; FOR = 192.0.2.1"}, "192.0.2.1"},
		{"Forwarded, quoted", forwarded, "10.0.0.1", []string{`Forwarded: for="192.0.2.1:4711"`}, "192.0.2.1"},
		{
			"Forwarded, IPv6", forwarded, "10.0.0.1",
			[]string{`Forwarded: for="[2a00::1]:4711", for="[2001:db8::1]"`},
			"2a00::1",
		},
		{
			"Forwarded, what the caller wrote", forwarded, "10.0.0.1",
			[]string{"Forwarded: for=1.2.3.4, for=192.0.2.1"},
			"192.0.2.1",
		},
		{
			"Forwarded, two lines", forwarded, "10.0.0.1",
			[]string{"Forwarded: for=192.0.2.1", "Forwarded: for=10.1.1.1"},
			"192.0.2.1",
		},
		{"Forwarded, unknown", forwarded, "10.0.0.1", []string{"Forwarded: for=1.2.3.4, for=unknown"}, "10.0.0.1"},
		{"Forwarded, hidden", forwarded, "10.0.0.1", []string{"Forwarded: for=1.2.3.4, for=_secret"}, "10.0.0.1"},
		{"Forwarded, without for", forwarded, "10.0.0.1", []string{"Forwarded: for=1.2.3.4, proto=http"}, "10.0.0.1"},
		{
			"Forwarded, a comma in quotes", forwarded, "10.0.0.1",
			[]string{`Forwarded: for=192.0.2.1;host="a, for=1.2.3.4"`},
			"192.0.2.1",
		},
		{
			"Forwarded, a quote in quotes", forwarded, "10.0.0.1",
			[]string{`Forwarded: for=192.0.2.1;host="a\", for=1.2.3.4"`},
			"192.0.2.1",
		},
		{
			"Forwarded, a backslash in quotes", forwarded, "10.0.0.1",
			[]string{`Forwarded: for=1.2.3.4;host="a\\", for=192.0.2.1`},
			"192.0.2.1",
		},
		{
			"Forwarded, a quote that the caller left open", forwarded, "10.0.0.1",
			[]string{`Forwarded: for=1.2.3.4;host=", for=192.0.2.1`},
			"192.0.2.1",
		},
		{
			"Forwarded, an escape that the caller left open", forwarded, "10.0.0.1",
			[]string{`Forwarded: for=1.2.3.4;host="\, for="192.0.2.1"`},
			"192.0.2.1",
		},
		{"Forwarded, a quote that nobody opened", forwarded, "10.0.0.1", []string{`Forwarded: for=1.2.3.4"`}, "10.0.0.1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			rc := contextFrom(tc.peer, tc.header...)
			if got := tc.proxies.resolve(rc); got.String() != tc.want {
				t.Errorf("resolve() = %s, want %s", got, tc.want)
			}
		})
	}
}

func contextFrom(addr string, header ...string) *fasthttp.RequestCtx {
	var req fasthttp.Request
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Add(name, value)
	}
	rc := &fasthttp.RequestCtx{}
	rc.Init(&req, &net.TCPAddr{IP: net.ParseIP(addr), Port: 4711}, nil)
	return rc
}

func TestHandlersSeeTheClientsAddress(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{Proxies: Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	Handle(app, "GET", "/addr", func(c *fiber.Ctx) error { return c.SendString(ClientAddr(c).String()) })
	addr := serve(t, app)
	for header, want := range map[string]string{"": "127.0.0.1", "192.0.2.1": "192.0.2.1", "192.0.2.2": "192.0.2.2"} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/addr", http.NoBody)
		req.RequestURI = ""
		req.Header.Set(fiber.HeaderXForwardedFor, header)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, resp).body; got != want {
			t.Errorf("with %q the address is %s, want %s", header, got, want)
		}
	}
}

// FuzzForwarded holds that whatever a caller writes, what the proxy appends to it
// counts.
func FuzzForwarded(f *testing.F) {
	for _, s := range []string{"", "for=1.2.3.4", `for="`, `for="\`, `"`, ",", ";", `for=1;a="b,`} {
		f.Add(s)
	}
	appended := []string{
		`for=192.0.2.1`, `for="192.0.2.1:80";proto=https`, `by="[::1]";for="192.0.2.1"`, `for=192.0.2.1;host="a,b;c=\"d"`,
	}
	f.Fuzz(func(t *testing.T, written string) {
		if got, _ := lastListed([]byte(written + ", 192.0.2.1")); got.String() != "192.0.2.1" {
			t.Errorf("after %q the address is %s", written, got)
		}
		for _, a := range appended {
			got, before := lastForwarded([]byte(written + "," + a))
			if got.String() != "192.0.2.1" || string(before) != written {
				t.Errorf("after %q, %q is %s, and before it stands %q", written, a, got, before)
			}
		}
	})
}

func BenchmarkClientAddr(b *testing.B) {
	for name, proxies := range map[string]Proxies{"from the peer": {}, "behind two proxies": listed} {
		b.Run(name, func(b *testing.B) {
			rc := contextFrom("10.0.0.1", "X-Forwarded-For: 1.2.3.4, 192.0.2.1, 10.2.2.2")
			b.ReportAllocs()
			for b.Loop() {
				if !proxies.resolve(rc).IsValid() {
					b.Fatal("no address")
				}
			}
		})
	}
}

// What a caller writes behind the last chunk stands in no place where a proxy writes.
func TestTheEndOfABodySaysNothingOfTheClientsAddress(t *testing.T) {
	t.Parallel()
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for _, name := range []string{"Forwarded", "X-Forwarded-For"} {
		app := newApp(t, Config{Host: Ingestion, Proxies: Proxies{Trusted: loopback, Header: strings.ToLower(name)}})
		Handle(app, "POST", "/who", func(c *fiber.Ctx) error {
			if _, err := Body(c); err != nil {
				return err
			}
			return c.SendString(ClientAddr(c).String())
		})
		said := map[string]string{"Forwarded": "for=", "X-Forwarded-For": ""}[name]
		responses := raw(t, serve(t, app), "POST /who HTTP/1.1\r\nHost: x\r\n"+name+": "+said+"192.0.2.1\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"+name+": "+said+"198.51.100.9\r\n\r\n")
		if len(responses) != 1 || responses[0].status == 200 && responses[0].body != "192.0.2.1" {
			t.Errorf("%s: %+v", name, responses)
		}
	}
}
