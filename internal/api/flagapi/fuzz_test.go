package flagapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/exposure"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// askingEach is a flag for each operator, which asks about the attribute x.
func askingEach() (all []*flag.Flag) {
	values := map[string][]any{
		flageval.OpExists: nil, flageval.OpMatches: {`(\d+)-[a-z]+$`}, flageval.OpDateBefore: {"-7d"},
		flageval.OpDateAfter: {"2026-01-02"}, flageval.OpInSegment: {"testers"}, flageval.OpIPInRange: {"192.0.2.0/24"},
	}
	for _, o := range flageval.Operators() {
		asked, known := values[o[0]]
		switch {
		case known:
		case len(o[0]) > 3 && o[0][:3] == "num":
			asked = []any{4.5}
		case len(o[0]) > 6 && o[0][:6] == "semver":
			asked = []any{"1.2.3-rc.1"}
		default:
			asked = []any{"ab"}
		}
		all = append(all, text("asks-"+o[0], two(where("x", o[0], asked...))))
	}
	return append(all, text("half", half("")), text("by-team", half("teamId")))
}

// unsalted are the salts of every day.
type unsalted struct{}

func (unsalted) Known(time.Time) []byte { return make([]byte, 32) }

// nobodyListens is where nothing is published: a collector that is not run sends it nothing.
type nobodyListens struct{}

func (nobodyListens) Send(*record.Record, func(error)) {}

// fuzzed returns what plays a request, and fails the test where it is answered with an error of
// the host, or with what is no JSON. Callers have an API key, whose contexts say more.
func fuzzed(f *testing.F) func(t *testing.T, method, uri string, body []byte) {
	f.Helper()
	told := exposure.New(exposure.Config{MaxBufferedBytes: 64 << 10}, exposure.Deps{
		Sender: nobodyListens{}, Salts: unsalted{}, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	app := mounted(f, append(testFlags(), askingEach()...), func(d *Deps) { d.Exposures = told })
	app.Handler() // builds the routes
	serve := app.Server().Handler
	return func(t *testing.T, method, uri string, body []byte) {
		t.Helper()
		var rc fasthttp.RequestCtx
		rc.Init(&fasthttp.Request{}, nil, nil)
		header := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nX-Api-Key: manager\r\nContent-Length: %d\r\n\r\n",
			method, written(uri), len(body))
		if err := rc.Request.Header.Read(bufio.NewReaderSize(strings.NewReader(header), len(header))); err != nil {
			t.Skip("it is no request")
		}
		if body != nil {
			rc.Request.SetBodyStream(bytes.NewReader(body), len(body))
		}
		serve(&rc)
		status, response := rc.Response.StatusCode(), rc.Response.Body()
		if status == http.StatusInternalServerError || !json.Valid(response) {
			t.Errorf("%s %s %q is answered %d %s", method, uri, body, status, response)
		}
	}
}

// written is a URI as it stands in a request, without what would end it.
func written(uri string) string {
	var b strings.Builder
	for i := range len(uri) {
		if c := uri[i]; c <= ' ' || c == 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// marks are parts of contexts that were worth a thought once.
var marks = []string{
	"", "ann", "anon_7", "anonymous", "a@b.example", "é\u0301", "\xff\xfe", "\x00", "%", "%ff", "+", "1e999", "-0",
	"null",
	"2026-11-01T12:00:00Z", "1.2.3-rc.1+b", "::ffff:192.0.2.1", "9999999999999999999",
}

func FuzzTheQueryOfARequest(f *testing.F) {
	for _, mark := range marks {
		said := url.QueryEscape(mark)
		f.Add("clientId=public-1&key=asks-matches&userId=" + said + "&email=" + said + "&teamId=" + said)
		f.Add("clientId=public-1&keys=nav,,half," + said + "&anonymousId=" + said + "&environment=" + said)
		properties := url.QueryEscape(`{"x":["` + mark + `",1],"y":{"z":` + mark + `}}`)
		f.Add("clientId=public-1&key=half&key=" + said + "&properties=" + properties)
		f.Add("clientId=" + said + "&" + said + "=" + mark)
	}
	play := fuzzed(f)
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{evaluatePath, bulkPath} {
			play(t, http.MethodGet, path+"?"+query, nil)
			play(t, http.MethodGet, path+"?clientId=public-1&key=half&"+query, nil)
		}
	})
}

func FuzzTheContextOfTheProtocol(f *testing.F) {
	for _, mark := range marks {
		f.Add(mark, `{"context":{"targetingKey":"`+mark+`","x":"`+mark+`"}}`)
		f.Add("half", `{"context":{"targetingKey":"`+mark+`","email":["`+mark+`"],"environment":"staging"}}`)
		f.Add("asks-eq", `{"context":{"x":[`+mark+`,"`+mark+`"],"$ip":"`+mark+`","$country":"`+mark+`"}}`)
		f.Add(mark, mark)
	}
	play := fuzzed(f)
	f.Fuzz(func(t *testing.T, key, body string) {
		if len(body) > MaxOFREPBytes {
			t.Skip("it is not read as far")
		}
		state := "?" + paramSeen + "=" + url.QueryEscape(key)
		play(t, http.MethodPost, ofrepPath+state, []byte(body))
		play(t, http.MethodPost, ofrepPath+"/"+url.PathEscape(key), []byte(body))
		play(t, http.MethodPost, ofrepPath+"/asks-eq", []byte(body))
	})
}

func FuzzTheExposuresOfAClient(f *testing.F) {
	for _, mark := range marks {
		f.Add(list(saw("nav", "on", mark), saw("split", "two", mark, `,"anonymousId":"`, mark, `"`)))
		f.Add(`[{"flag":"` + mark + `","variant":"` + mark + `","anonymousId":"` + mark + `","environment":"` + mark + `"}]`)
		f.Add("[" + mark + "]")
		f.Add(mark)
	}
	play := fuzzed(f)
	f.Fuzz(func(t *testing.T, body string) {
		if len(body) > MaxExposureBytes {
			t.Skip("it is not read as far")
		}
		play(t, http.MethodPost, exposuresOfSite, []byte(body))
	})
}

func FuzzWhatAClientHasSeen(f *testing.F) {
	f.Add("1790.42.6b1d0000000000ff.1798761600000")
	f.Add("-1.-1.ffffffffffffffff.-1")
	for _, mark := range marks {
		f.Add(mark + "." + mark + "." + mark + "." + mark)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, ok := parseState(text); ok && s.String() != text {
			t.Errorf("%q is read as %s", text, s)
		}
	})
}
