package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

func TestMain(m *testing.M) { harness.MainBeside(browsing{m}, 4) }

// browsing ends the browser after the tests.
type browsing struct{ m *testing.M }

// Run runs the tests.
func (b browsing) Run() int {
	defer endChromium()
	return b.m.Run()
}

// visitorAddr is the public address under which a proxy presents the visitor.
const visitorAddr = "91.198.174.192" // in the Netherlands

// query asks for some query types and returns the rows of each, as JSON.
func query(ctx context.Context, s *harness.System, types ...string) (map[string]string, error) {
	request, err := json.Marshal(map[string]any{"parameters": types, "preset": "last_7d"})
	if err != nil {
		return nil, err
	}
	a, err := harness.Post(ctx, s.QueryURL+"/v1/query?website_id="+s.WebsiteID, s.Key, request)
	if err != nil || a.Status != http.StatusOK {
		return nil, fmt.Errorf("%d %s: %w", a.Status, a.Body, err)
	}
	var response struct {
		Data []struct {
			Parameter string          `json:"parameter"`
			Data      json.RawMessage `json:"data"`
			Error     string          `json:"error"`
		} `json:"data"`
	}
	if err := json.Unmarshal(a.Body, &response); err != nil {
		return nil, err
	}
	rows := map[string]string{}
	for _, d := range response.Data {
		rows[d.Parameter] = string(d.Data) + d.Error
	}
	return rows, nil
}

func TestAPageWithThePrintedTagShowsUpInQueries(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out under -short: runs programs against real servers")
	}
	s := harness.New(t, harness.Standalone, harness.Options{Settings: map[string]string{"PROXY_TRUSTED": "127.0.0.1/32"}})
	target, err := url.Parse(s.IngestURL)
	if err != nil {
		t.Fatal(err)
	}
	edge := serve(t, "in.example.net", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Set("X-Forwarded-For", visitorAddr)
	}})
	shop := newSite(t, (&website.Website{ClientID: s.ClientID}).Snippet(edge))
	changes := serve(t, "news.example.net", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Referrer-Policy", "unsafe-url")
		fmt.Fprintf(w,
			`<!doctype html><title>News</title><a id="read" href="%s/article?tall&utm_source=news">Read</a>`, shop.url)
	}))

	v := newVisitor(t)
	v.open(changes + "/today")
	v.follow("#read")
	v.wait()
	v.run(`history.pushState({}, "", "/checkout"); document.title = "Checkout"`)
	v.run(`millrace.track("purchase", {total: 42}); millrace.identify("customer 7", {plan: "pro"})`)
	v.run(`setTimeout(() => { throw new TypeError("cart is empty"); }, 0)`)
	v.run(`addEventListener("click", (e) => e.preventDefault())`)
	v.click("#out")
	v.open(shop.url + "/thanks")
	v.wait()
	v.close()

	for name, wants := range map[string][]string{
		"summary_metrics": {`"pageviews":3`, `"sessions":1`, `"unique_visitors":1`},
		"top_pages":       {`/article`, `/checkout`, `/thanks`},
		"custom_events":   {`"purchase"`},
		"recent_errors":   {`cart is empty`, `"TypeError"`},
		"outbound_links":  {`http://partner.example.net:1/deal`, `Our partner`},
		"vitals_overview": {`"LCP"`, `"TTFB"`, `"FCP"`, `"CLS"`},
		"country":         {`"NL"`},
		"browser_name":    {`Chrom`},
		"top_referrers":   {`news.example.net`},
	} {
		testkit.Eventually(t, within, func() error {
			rows, err := query(t.Context(), s, name)
			if err != nil {
				return err
			}
			for _, want := range wants {
				if !strings.Contains(rows[name], want) {
					return fmt.Errorf("%s has no %s: %s", name, want, rows[name])
				}
			}
			return nil
		})
	}
}
