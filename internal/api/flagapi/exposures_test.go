package flagapi

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/exposure"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// saw is what a client tells of a user, and list a body of such.
func saw(flag, variant, user string, more ...string) string {
	return fmt.Sprintf(`{"flag":%q,"variant":%q,"userId":%q%s}`, flag, variant, user, strings.Join(more, ""))
}

func list(all ...string) string { return "[" + strings.Join(all, ",") + "]" }

const exposuresOfSite = "/public/v1/flags/exposures?clientId=public-1"

func TestWhatAClientToldIsExposedAndTheRestIgnored(t *testing.T) {
	t.Parallel()
	flags := testFlags()
	for _, f := range flags {
		f.About.Exposures.Mode = flag.ExposeAll
	}
	of := func(mode flag.ExposureMode) func(*flag.Flag) {
		return func(f *flag.Flag) { f.About.Exposures.Mode = mode }
	}
	flags = append(flags, boolean("untold", of(flag.ExposeOff)), boolean("undivided", of(flag.ExposeSplit)),
		text("divided", of(flag.ExposeSplit), rule(flageval.Rule{Serve: rollout(10, "")}), func(f *flag.Flag) {
			f.Definition.Environments = map[string]flageval.Override{"whole": {Rules: &[]flageval.Rule{}}}
		}))
	for _, tc := range []struct {
		name, body, response string
		want                 []string
		headers              []string
	}{
		{
			"flags that are served",
			list(saw("split", "two", "ann"), `{"flag":"nav","variant":"off","anonymousId":"v","environment":"x"}`),
			`{"count":2,"ignored":0}`,
			[]string{"web_1 split 1 told u=ann a= env=", "web_1 nav 1 told u= a=v env=x"},
			nil,
		},
		{
			"an environment",
			list(saw("staged", "on", "ann", `,"environment":"staging"`), saw("staged", "on", "ann")),
			`{"count":1,"ignored":1}`,
			[]string{"web_1 staged 0 told u=ann a= env=staging"},
			nil,
		},
		{"no such flag", list(saw("nothing", "on", "ann")), `{"count":0,"ignored":1}`, nil, nil},
		{"no such variant", list(saw("nav", "On", "ann")), `{"count":0,"ignored":1}`, nil, nil},
		{"another website's", list(saw("other", "on", "ann")), `{"count":0,"ignored":1}`, nil, nil},
		{"one for servers", list(saw("secret", "on", "ann")), `{"count":0,"ignored":1}`, nil, nil},
		{
			"one for servers, by a key", list(saw("secret", "on", "ann")), `{"count":1,"ignored":0}`,
			[]string{"web_1 secret 0 told u=ann a= env="},
			[]string{"X-Api-Key", "powerless"},
		},
		{
			"inactive and out of time",
			list(saw("resting", "on", "a"), saw("later", "on", "a"), saw("over", "on", "a")), `{"count":0,"ignored":3}`, nil,
			nil,
		},
		{"one that counts none", list(saw("untold", "on", "ann")), `{"count":0,"ignored":1}`, nil, nil},
		{
			"one that counts none without a percentage", list(saw("undivided", "on", "ann")), `{"count":0,"ignored":1}`, nil,
			nil,
		},
		{
			"one that counts those of a percentage",
			list(saw("divided", "one", "ann"), saw("divided", "one", "ann", `,"environment":"whole"`)),
			`{"count":1,"ignored":1}`,
			[]string{"web_1 divided 0 told u=ann a= env="},
			nil,
		},
	} {
		var told []string
		app := mounted(t, flags, func(d *Deps) {
			d.Exposures = exposing(func(x *Exposure) {
				if !x.Told || !x.Time.Equal(now) {
					t.Errorf("%s: %+v", tc.name, x)
				}
				told = append(told, fmt.Sprintf("%s %s %d told u=%s a=%s env=%s",
					x.Website.ID, x.Flag.Key(), x.Variant, x.UserID, x.AnonymousID, x.Environment))
			})
		})
		got := post(t, app, exposuresOfSite, tc.body, tc.headers...)
		origin, cache := got.Header.Get("Access-Control-Allow-Origin"), got.Header.Get("Cache-Control")
		if got.Status != 200 || got.Body != tc.response || origin != "*" || cache != "no-store" {
			t.Errorf("%s: %+v", tc.name, got)
		}
		if diff := cmp.Diff(tc.want, told); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// What is answered is what the collector takes, and not what it leaves aside.
func TestTheCountIsOfWhatIsPublished(t *testing.T) {
	t.Parallel()
	split := func(f *flag.Flag) { f.About.Exposures = flag.Exposures{Mode: flag.ExposeSplit, SamplePercent: 100} }
	var sent published
	collector := exposure.New(exposure.Config{}, exposure.Deps{
		Sender: &sent, Salts: &sent, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	app := mounted(t, []*flag.Flag{
		boolean("undivided", split), text("divided", split, rule(flageval.Rule{Serve: rollout(10, "")})),
	}, func(d *Deps) { d.Exposures = collector })
	body := list(saw("undivided", "on", "ann"), saw("divided", "one", "ann"), saw("undivided", "off", "bob"))
	if got := post(t, app, exposuresOfSite, body); got.Body != `{"count":1,"ignored":2}` {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error)
	go func() { ran <- collector.Run(ctx) }()
	err := collector.Stop(t.Context())
	cancel()
	if ranErr := <-ran; err != nil || ranErr != nil || sent.n.Load() != 1 {
		t.Errorf("%d are published: %v, %v", sent.n.Load(), err, ranErr)
	}
}

// published counts what is sent, and knows of no salt.
type published struct{ n atomic.Int64 }

func (p *published) Send(_ *record.Record, done func(error)) {
	p.n.Add(1)
	done(nil)
}

func (*published) Known(time.Time) []byte { return nil }

// A website that hides the ids of visitors by country hides them by the same one, whether a flag
// is evaluated or an exposure is told of.
func TestAnExposureIsFromWhereAnEvaluationIs(t *testing.T) {
	t.Parallel()
	of := map[string]string{ // country by what is asked and told; the address is in France
		"": "FR", `$country`: "FR", "key": "", "key $country": "US",
	}
	for said, want := range of {
		var countries []string
		app := mounted(t, testFlags(), func(d *Deps) {
			d.Country = func(netip.Addr) string { return "FR" }
			d.Exposures = exposing(func(x *Exposure) { countries = append(countries, x.Country) })
		})
		var headers []string
		if strings.HasPrefix(said, "key") {
			headers = []string{"X-Api-Key", "powerless"}
		}
		properties, country := "{}", ""
		if strings.HasSuffix(said, "$country") {
			properties, country = `{"$country":"US"}`, `,"country":"US"`
		}
		send(t, app, http.MethodGet, "/public/v1/flags/evaluate?clientId=public-1&key=split&anonymousId=v&properties="+
			url.QueryEscape(properties), headers...)
		post(t, app, exposuresOfSite, `[{"flag":"split","variant":"two","anonymousId":"v"`+country+`}]`, headers...)
		if diff := cmp.Diff([]string{want, want}, countries); diff != "" {
			t.Errorf("with %q (-want +got):\n%s", said, diff)
		}
	}
}

// exposing is Exposures as a function.
type exposing func(*Exposure)

func (f exposing) Expose(e *Exposure) { f(e) }

func TestMalformedExposuresAreRejectedAndNameTheirPlace(t *testing.T) {
	t.Parallel()
	app := mounted(t, testFlags(), func(d *Deps) {
		d.Exposures = exposing(func(x *Exposure) { t.Errorf("%+v is exposed", x) })
	})
	many := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(`{"flag":"nothing","variant":"on","userId":"a"},`, n), ",") + "]"
	}
	for body, want := range map[string]string{
		``:                     "The body must be a JSON array",
		`{"flag":"nav"}`:       "The body must be a JSON array",
		`["marker@x.example"]`: "The body must be a JSON array",
		`[]`:                   "The body must have 1 to 100 exposures; it has 0",
		many(101):              "The body must have 1 to 100 exposures; it has 101",
		`[{"flag":"nav","variant":"on","userId":"a"},{"variant":"on","userId":"a"}]`: "[1].flag is required",
		`[{"flag":"nav","userId":"a"}]`:                                              "[0].variant is required",
		`[{"flag":"nav","variant":"on"}]`:                                            "[0].userId is required",
		list(saw("nav", "on",
			strings.Repeat("é", 257))): "[0].userId must have at most 256 characters",
		list(saw("nav", "on", "a", `,"anonymousId":"`,
			strings.Repeat("é", 257), `"`)): "[0].anonymousId must have at most 256 characters",
		list(saw(strings.Repeat("k", 129), "on",
			"a")): "[0].flag must have at most 128 characters",
		list(saw("nav",
			strings.Repeat("k", 129), "a")): "[0].variant must have at most 128 characters",
		list(saw("nav", "on", "a", `,"country":"USA"`)): "[0].country must have at most 2 characters",
	} {
		got := post(t, app, exposuresOfSite, body)
		if got.Status != 400 || !strings.Contains(got.Body, want) || strings.Contains(got.Body, "marker") {
			t.Errorf("%.80s: %+v, want %q", body, got, want)
		}
	}
	if got := post(t, app, exposuresOfSite, many(100)); got.Status != 200 || got.Body != `{"count":0,"ignored":100}` {
		t.Errorf("100 exposures: %+v", got)
	}
	longest := list(saw("nothing", "on", strings.Repeat("é", 256)))
	if got := post(t, app, exposuresOfSite, longest); got.Status != 200 {
		t.Errorf("the longest id: %+v", got)
	}
	padded := longest + strings.Repeat(" ", MaxExposureBytes-len(longest))
	if got := post(t, app, exposuresOfSite, padded); got.Status != 200 {
		t.Errorf("the largest body: %+v", got)
	}
	if got := post(t, app, exposuresOfSite, padded+" "); got.Status != 413 {
		t.Errorf("a larger one: %+v", got)
	}
}

func TestExposuresAreForWhoKnowsTheWebsite(t *testing.T) {
	t.Parallel()
	body := list(saw("nav", "on", "ann"))
	app := mounted(t, testFlags())
	for _, tc := range []struct {
		target string
		key    string
		want   int
	}{
		{exposuresOfSite, "", 200},
		{"/public/v1/flags/exposures", "", 400},
		{"/public/v1/flags/exposures?clientId=public-9", "", 404},
		{exposuresOfSite, "no-key", 401},
		{exposuresOfSite, "foreign", 404},
		{"/public/v1/flags/exposures?clientId=down", "", 503},
	} {
		var headers []string
		if tc.key != "" {
			headers = []string{"X-Api-Key", tc.key}
		}
		got := post(t, app, tc.target, body, headers...)
		if got.Status != tc.want || got.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s with %q: %+v, want %d", tc.target, tc.key, got, tc.want)
		}
	}
	if got := send(t, app, http.MethodOptions, exposuresOfSite, "Origin", "https://any.example"); got.Status != 204 {
		t.Errorf("preflight: %+v", got)
	}
}

func TestNothingOfAnExposureIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	app := mounted(t, testFlags(), func(d *Deps) {
		d.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	for _, body := range []string{
		list(saw("nav", "on", "marker@x.example")), `[{"flag":"marker@x.example","variant":"on"}]`,
		`{"userId":"marker@x.example"`,
	} {
		if got := post(t, app, exposuresOfSite, body); strings.Contains(got.Body, "marker") {
			t.Errorf("%s is answered %s", body, got.Body)
		}
	}
	if strings.Contains(log.String(), "marker") {
		t.Errorf("the log says %s", log.String())
	}
}
