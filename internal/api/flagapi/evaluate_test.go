package flagapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag"
)

const (
	evaluatePath = "/public/v1/flags/evaluate"
	bulkPath     = "/public/v1/flags/bulk"
)

func TestEvaluateTellsWhatIsServedAndWhy(t *testing.T) {
	t.Parallel()
	app := mounted(t, testFlags())
	two := func(reason string) string {
		return `{"enabled":true,"value":"v2","payload":[2],"reason":"` + reason + `","variant":"two"}`
	}
	one := func(reason string) string {
		return `{"enabled":true,"value":"v1","payload":null,"reason":"` + reason + `","variant":"one"}`
	}
	const on = `{"enabled":true,"value":true,"payload":{"n":1},"reason":"BOOLEAN_DEFAULT","variant":"on"}`
	for _, tc := range []struct{ name, key, secret, context, want string }{
		{"its value", "nav", "", "", on},
		{"a flag of another website", "other", "", "", missing},
		{"no flag", "nothing", "", "", missing},
		{"an inactive flag", "resting", "", "", missing},
		{"an inactive flag, with a key", "resting", "manager", "", missing},
		{"before its schedule", "later", "", "", missing},
		{"after its schedule", "over", "", "", missing},
		{"a flag for servers", "secret", "", "", missing},
		{"a flag for servers, with a key without scopes", "secret", "powerless", "", on},
		{"a public flag that the website's own hides", "hidden", "", "", missing},
		{"the website's own, with a key", "hidden", "limited", "", on},
		{"an active flag that the website's own hides", "stopped", "manager", "", missing},
		{"active in an environment", "staged", "", "environment=staging", on},
		{"inactive in the others", "staged", "", "environment=production", missing},
		{
			"a boolean whose prerequisite is off", "needy", "", "",
			`{"enabled":false,"value":false,"payload":null,"reason":"PREREQUISITE_FAILED","variant":"off"}`,
		},
		{
			"a text whose prerequisite serves something else", "needy-text", "", "",
			`{"enabled":false,"value":"v1","payload":null,"reason":"PREREQUISITE_FAILED","variant":"one"}`,
		},
		{"a target by user", "named", "", "userId=ann", two("USER_RULE_MATCH")},
		{"a target by e-mail, whatever its case", "named", "", "email=ANN@shop.example", two("USER_RULE_MATCH")},
		{"no target", "named", "", "userId=bob", one("BOOLEAN_DEFAULT")},
		{"a rule", "ruled", "", `properties={"plan":"pro"}`, two("USER_RULE_MATCH")},
		{"no rule", "ruled", "", `properties={"plan":"free"}`, one("BOOLEAN_DEFAULT")},
		{"properties that are no JSON", "ruled", "", `properties={"plan":"pro"`, one("BOOLEAN_DEFAULT")},
		{"properties that are no object", "ruled", "", `properties=["plan","pro"]`, one("BOOLEAN_DEFAULT")},
		{"a rule by segment", "grouped", "", "userId=bob", two("TARGET_GROUP_MATCH")},
		{"not in the segment", "grouped", "", "userId=ann", one("BOOLEAN_DEFAULT")},
		{"a rollout for a segment", "grouped-ramp", "", "userId=bob", two("ROLLOUT_ENABLED")},
		{"a rollout", "ramp", "", "", two("ROLLOUT_ENABLED")},
		{"a rollout that misses and stops", "missed", "", "userId=ann", one("ROLLOUT_DISABLED")},
		{"a rollout that misses and goes on", "passed", "", "userId=ann", one("BOOLEAN_DEFAULT")},
		{"a split", "split", "", "userId=ann", two("MULTIVARIANT_EVALUATED")},
		{"a split without an id is by anonymous", "split", "", "", two("MULTIVARIANT_EVALUATED")},
		{"a split by userId, of a visitor who has none", "split", "", "anonymousId=v1", one("BOOLEAN_DEFAULT")},
		{"nobody in particular", "nobody", "", "teamId=t", two("USER_RULE_MATCH")},
		{"a visitor is somebody", "nobody", "", "anonymousId=v1", one("BOOLEAN_DEFAULT")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			target := evaluatePath + "?clientId=public-1&key=" + tc.key + "&" + encoded(tc.context)
			var headers []string
			if tc.secret != "" {
				headers = []string{"X-Api-Key", tc.secret}
			}
			got := send(t, app, http.MethodGet, target, headers...)
			if got.Status != http.StatusOK || got.Body != tc.want {
				t.Errorf("%d %s, want %s", got.Status, got.Body, tc.want)
			}
		})
	}
}

// encoded is NAME=VALUE with the value escaped.
func encoded(parameter string) string {
	name, value, _ := strings.Cut(parameter, "=")
	return name + "=" + url.QueryEscape(value)
}

// Where a person is, is the caller's address for whoever has no key, and the context's for
// a key, whose address is a server's.
func TestWhereAPersonIsCannotBeChosenByABrowser(t *testing.T) {
	t.Parallel()
	app := mounted(t, testFlags(), func(d *Deps) { d.Country = func(netip.Addr) string { return "FR" } })
	german := mounted(t, testFlags(), func(d *Deps) { d.Country = func(netip.Addr) string { return "DE" } })
	said := "&properties=" + url.QueryEscape(`{"$ip":"198.51.100.7","$country":"DE"}`)
	for _, tc := range []struct {
		name, key, more string
		german          bool
		secret          string
		hit             bool
	}{
		{"a country that a browser says", "here", said, false, "", false},
		{"the country of its address", "here", "", true, "", true},
		{"a country that a key says", "here", said, false, "powerless", true},
		{"the country of a key's address", "here", "", true, "powerless", false},
		{"an address that a browser says", "near", said, false, "", false},
		{"an address that a key says", "near", said, false, "powerless", true},
		{
			"what is no address", "near", "&properties=" + url.QueryEscape(`{"$ip":"198.51.100.777"}`), false,
			"powerless", false,
		},
	} {
		on, headers := app, []string(nil)
		if tc.german {
			on = german
		}
		if tc.secret != "" {
			headers = []string{"X-Api-Key", tc.secret}
		}
		got := send(t, on, http.MethodGet, evaluatePath+"?clientId=public-1&key="+tc.key+tc.more, headers...)
		if hit := strings.Contains(got.Body, `"variant":"two"`); got.Status != http.StatusOK || hit != tc.hit {
			t.Errorf("%s: %d %s, want a hit: %t", tc.name, got.Status, got.Body, tc.hit)
		}
	}
}

func TestParametersAreBounded(t *testing.T) {
	t.Parallel()
	app := mounted(t, testFlags())
	long := func(n int) string { return strings.Repeat("ü", n) }
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"a%d":1`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	for name, most := range map[string]int{
		"userId": 256, "email": 256, "anonymousId": 256, "organizationId": 256, "teamId": 256,
		"environment": 128, "key": 128, "keys": 128,
	} {
		path := bulkPath
		for n, status := range map[int]int{most: 200, most + 1: 400} {
			got := send(t, app, http.MethodGet, path+"?clientId=public-1&"+name+"="+url.QueryEscape(long(n)))
			if got.Status != status || status == 400 && !strings.Contains(got.Body, `"code":"VALIDATION_ERROR"`) ||
				status == 400 && !strings.Contains(got.Body, `"field":"`+name+`"`) || strings.Contains(got.Body, "ü") {
				t.Errorf("%s of %d: %d %s, want %d", name, n, got.Status, got.Body, status)
			}
		}
	}
	for n, status := range map[int]int{200: 200, 201: 400} {
		got := send(t, app, http.MethodGet, evaluatePath+"?clientId=public-1&key=nav&properties="+url.QueryEscape(many(n)))
		if got.Status != status || status == 400 && !strings.Contains(got.Body, `"field":"properties"`) {
			t.Errorf("%d properties: %d %s, want %d", n, got.Status, got.Body, status)
		}
		got = send(t, app, http.MethodGet, bulkPath+"?clientId=public-1&keys="+strings.Repeat("nav,", n))
		if got.Status != status || status == 400 && !strings.Contains(got.Body, `"field":"keys"`) {
			t.Errorf("%d keys: %d %s, want %d", n, got.Status, got.Body, status)
		}
	}
	got := send(t, app, http.MethodGet, evaluatePath+"?clientId=public-1")
	const missingKey = `"details":[{"field":"key","message":"key is required"}]`
	if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, missingKey) {
		t.Errorf("without a key: %d %s", got.Status, got.Body)
	}
}

// keysOf are the keys in the response of a bulk, in their order.
func keysOf(body string) (keys []string) {
	for part := range strings.SplitSeq(body, `:{"enabled"`) {
		if at := strings.LastIndex(strings.TrimSuffix(part, `"`), `"`); at >= 0 && strings.HasSuffix(part, `"`) {
			keys = append(keys, part[at+1:len(part)-1])
		}
	}
	return keys
}

func TestBulkTellsTheFlagsThatTheCallerSees(t *testing.T) {
	t.Parallel()
	flags := []*flag.Flag{
		boolean("b"), boolean("a", of("web_1")), text("c", inactive), boolean("s", server), boolean("x", of("web_2")),
		boolean("e", func(f *flag.Flag) { f.Definition.DefaultVariant = "off" }),
	}
	app := mounted(t, flags)
	for _, tc := range []struct {
		name, query, secret string
		want                []string
	}{
		{"all", "", "", []string{"a", "b", "e"}},
		{"all, with a key", "", "powerless", []string{"a", "b", "e", "s"}},
		{"an empty list is none", "&keys=", "", []string{"a", "b", "e"}},
		{"by key, each once", "&keys=e,b,,b", "", []string{"b", "e"}},
		{"what is not there, or off, or not seen, is left out", "&keys=b,c,s,x,nothing", "", []string{"b"}},
		{"seen with a key", "&keys=b,s", "powerless", []string{"b", "s"}},
		{"nothing that is there", "&keys=,", "", nil},
	} {
		var headers []string
		if tc.secret != "" {
			headers = []string{"X-Api-Key", tc.secret}
		}
		got := send(t, app, http.MethodGet, bulkPath+"?clientId=public-1"+tc.query, headers...)
		ends := fmt.Sprintf(`},"count":%d,"timestamp":"2026-11-01T12:00:00.000Z"}`, len(tc.want))
		diff := cmp.Diff(tc.want, keysOf(got.Body))
		if got.Status != http.StatusOK || diff != "" || !strings.HasSuffix(got.Body, ends) {
			t.Errorf("%s: %d %s\n%s", tc.name, got.Status, got.Body, diff)
		}
	}
	const want = `{"flags":{` +
		`"b":{"enabled":true,"value":true,"payload":{"n":1},"reason":"BOOLEAN_DEFAULT","variant":"on"},` +
		`"e":{"enabled":false,"value":false,"payload":null,"reason":"BOOLEAN_DEFAULT","variant":"off"}},` +
		`"count":2,"timestamp":"2026-11-01T12:00:00.000Z"}`
	if got := send(t, app, http.MethodGet, bulkPath+"?clientId=public-1&keys=b,e"); got.Body != want {
		t.Errorf("the answer is %s, want %s", got.Body, want)
	}
}

func TestSetsThatCannotBeReadAre503(t *testing.T) {
	t.Parallel()
	app := mounted(t, testFlags(), func(d *Deps) { d.Sets = tenants{err: apierr.New(apierr.ServiceUnavailable)} })
	for _, target := range []string{evaluatePath + "?clientId=public-1&key=nav", bulkPath + "?clientId=public-1"} {
		got := send(t, app, http.MethodGet, target)
		if got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" ||
			got.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d %v %s", target, got.Status, got.Header, got.Body)
		}
	}
}

// broken panics where a request takes a set.
type broken struct{ tenants }

func (broken) Country(netip.Addr) string { panic(errors.New("no country")) } //nolint:forbidigo // what is tested

func TestAnEvaluationThatFailsIsTold(t *testing.T) {
	t.Parallel()
	metrics := prometheus.NewRegistry()
	app := mounted(t, testFlags(), func(d *Deps) { d.Country, d.Metrics = broken{}.Country, metrics })
	got := send(t, app, http.MethodGet, evaluatePath+"?clientId=public-1&key=nav")
	if got.Status != http.StatusInternalServerError || got.Body != failed ||
		got.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%d %v %s", got.Status, got.Header, got.Body)
	}
	if n := counterOf(t, metrics, "millrace_flag_evaluation_errors_total"); n != 1 {
		t.Errorf("%g errors are counted", n)
	}
}

// counterOf is the value of a counter without labels.
func counterOf(t *testing.T, metrics *prometheus.Registry, name string) (n float64) {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			n = f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return n
}

func TestEvaluationsAreCountedByOutcome(t *testing.T) {
	t.Parallel()
	metrics := prometheus.NewRegistry()
	app := mounted(t, testFlags(), func(d *Deps) { d.Metrics = metrics })
	for _, query := range []string{
		"evaluate?key=nav", "evaluate?key=nothing", "evaluate?key=grouped&userId=bob", "evaluate?key=later",
		"bulk?keys=nav,split,secret",
	} {
		send(t, app, http.MethodGet, "/public/v1/flags/"+query+"&clientId=public-1")
	}
	counted := map[string]float64{}
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if n := m.GetCounter().GetValue(); n > 0 && f.GetName() == "millrace_flag_evaluations_total" {
				counted[m.GetLabel()[0].GetValue()] = n
			}
		}
	}
	want := map[string]float64{"default": 2, "not_found": 2, "segment": 1, "off": 1, "split": 1}
	if diff := cmp.Diff(want, counted); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

// exposed takes exposures.
type exposedTo struct{ told []string }

func (e *exposedTo) Expose(x *Exposure) {
	e.told = append(e.told, fmt.Sprintf("%s %s %d %s u=%s e=%s a=%s env=%s %t",
		x.Website.ID, x.Flag.Key(), x.Variant, x.Reason, x.UserID, x.Email, x.AnonymousID, x.Environment, x.Time.Equal(now)))
}

func TestWhatWasAskedForByKeyIsExposed(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][]string{
		"evaluate?key=split&userId=ann&email=e&environment=x": {"web_1 split 1 split u=ann e=e a= env=x true"},
		"evaluate?key=nav":                    {"web_1 nav 0 default u= e= a= env= true"},
		"evaluate?key=nothing":                nil,
		"evaluate?key=resting":                nil,
		"bulk?keys=nav,resting&anonymousId=v": {"web_1 nav 0 default u= e= a=v env= true"},
		"bulk?userId=ann":                     nil,
	} {
		to := &exposedTo{}
		app := mounted(t, testFlags(), func(d *Deps) { d.Exposures = to })
		send(t, app, http.MethodGet, "/public/v1/flags/"+query+"&clientId=public-1")
		if diff := cmp.Diff(want, to.told); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}
