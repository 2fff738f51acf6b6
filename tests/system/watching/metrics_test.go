package watching

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// rare are series that are there only once something has happened that a healthy
// system need not see, since their labels cannot be known before. The reference
// lists them, and the tests of their own packages raise them.
var rare = []string{
	"millrace_sink_owner_share", // of a whole minute, which is longer than the rest of the test
	"millrace_kafka_topic_defects", "millrace_sink_halted", "millrace_sink_retries_total",
	"millrace_enrich_geo_built_timestamp_seconds", "millrace_analytics_query_failures_total",
	"millrace_mail_mails_total",
	"millrace_kafka_connect_errors_total", "millrace_kafka_read_errors_total", "millrace_kafka_produce_errors_total",
}

// rareLabels are values of labels that only trouble brings.
var rareLabels = []string{
	`status=~"5.."`, `change=~"revoked|lost"`,
	`outcome=~"SERVICE_UNAVAILABLE|DELIVERY_UNAVAILABLE|DEADLINE_EXCEEDED|BILLING_UNAVAILABLE|INTERNAL_SERVER_ERROR"`,
}

// named finds metrics in queries, and what they are chosen by; tests/contract/alerts shows with
// Prometheus' own parser that queries name no others than such and those of the cluster.
var named = regexp.MustCompile(`\b((?:millrace|go|process)_[a-z0-9_]+)\b(?:\{([^}]*)\})?`)

// labelled finds the labels of a series, or of a selector.
var labelled = regexp.MustCompile(`([a-z_]+)(=~|!=|!~|=)"([^"]*)"`)

// selector is what a query asks for: a metric's name, and `label="value"` and the like.
type selector struct{ metric, labels string }

// served are the labels of each series, by its metric.
type served map[string][]map[string]string

// exportsAll compares what dashboards and alerts ask for with what the daemons
// serve.
func exportsAll(t *testing.T, s *harness.System, links string) {
	t.Helper()
	raise(t, s, links)
	wanted := asked(t)
	testkit.Eventually(t, 3*time.Minute, func() error {
		got := served{}
		for _, p := range s.Processes() {
			if err := got.scrape(t.Context(), p.Admin()); err != nil {
				return err
			}
		}
		var missing []string
		for _, w := range wanted {
			if !slices.Contains(rare, w.metric) && !got.has(w) {
				missing = append(missing, w.metric+"{"+w.labels+"}")
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("no daemon serves %s", strings.Join(missing, ", "))
		}
		return nil
	})
}

// raise does what counters have no series before of.
func raise(t *testing.T, s *harness.System, links string) {
	t.Helper()
	now := time.Now().UTC()
	from, to := now.AddDate(0, 0, -1).Format(time.DateOnly), now.AddDate(0, 0, 1).Format(time.DateOnly)
	const crawler = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
	for _, r := range []struct {
		url, key, agent, body string
		want                  int
	}{
		{s.IngestURL + "/track?website_id=" + s.ClientID, "", crawler, `{"name":"seen"}`, http.StatusNoContent},
		{"http://" + links + "/none", "", agent, "", http.StatusBadRequest}, // a link takes a password alone
		{s.IngestURL + "/track?website_id=" + s.WebsiteID, "none", agent, `{"name":"seen"}`, http.StatusUnauthorized},
		{
			s.QueryURL + "/rpc/events/export", s.Key, agent, fmt.Sprintf(
				`{"websiteId":%q,"startDate":%q,"endDate":%q,"format":"ndjson"}`, s.WebsiteID, from, to), http.StatusOK,
		},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		if r.key != "" {
			req.Header.Set("X-Api-Key", r.key)
		}
		req.Header.Set("User-Agent", r.agent)
		req.Header.Set("Content-Type", "application/json")
		resp, err := harness.Client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != r.want {
			t.Fatalf("POST %s: %s, %v, want %d: %s", r.url, resp.Status, err, r.want, body)
		}
	}
}

// asked returns what files of deploy ask for.
func asked(t *testing.T) []selector {
	t.Helper()
	all, names := map[selector]bool{}, map[string]bool{}
	for _, pattern := range []string{"grafana/*.json", "prometheus/*.yaml"} {
		files, err := filepath.Glob("../../../deploy/" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %q, %v", pattern, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range named.FindAllStringSubmatch(strings.ReplaceAll(string(text), `\"`, `"`), -1) {
				all[selector{m[1], m[2]}], names[m[1]] = true, true
			}
		}
	}
	if len(names) < 100 || len(all) < 150 {
		t.Fatalf("only %d metrics are asked for, in %d ways: %v", len(names), len(all), slices.Sorted(maps.Keys(names)))
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b selector) int {
		return cmp.Or(strings.Compare(a.metric, b.metric), strings.Compare(a.labels, b.labels))
	})
}

// has reports whether a series is chosen by all of a selector's labels. Who scrapes a daemon gives it
// some, and some values are rare: of those a series has the label at least.
func (s served) has(w selector) bool {
	return slices.ContainsFunc(s[w.metric], func(series map[string]string) bool {
		for _, m := range labelled.FindAllStringSubmatch(w.labels, -1) {
			label, op, value := m[1], m[2], m[3]
			switch got, ok := series[label]; {
			case label == "instance", label == "namespace":
			case !ok:
				return false
			case slices.Contains(rareLabels, m[0]):
			case (op[0] == '=') != regexp.MustCompile("^(?:"+pattern(op, value)+")$").MatchString(got):
				return false
			}
		}
		return true
	})
}

// pattern is the expression that a matcher compares values with.
func pattern(op, value string) string {
	if strings.HasSuffix(op, "~") {
		return value
	}
	return regexp.QuoteMeta(value)
}

// scrape adds the series that a daemon serves.
func (s served) scrape(ctx context.Context, admin string) error {
	got, err := harness.Get(ctx, "http://"+admin+"/metrics", "")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(got.Body)) {
		name := line[:strings.IndexAny(line, "{ \n")]
		if name == "" || name[0] == '#' {
			continue
		}
		labels := map[string]string{}
		for _, l := range labelled.FindAllStringSubmatch(line, -1) {
			labels[l[1]] = l[3]
		}
		s[name] = append(s[name], labels)
	}
	return nil
}
