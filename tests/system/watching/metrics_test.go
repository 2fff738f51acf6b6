package watching

import (
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
	"millrace_enrich_geo_built_timestamp_seconds",
	"millrace_analytics_query_failures_total", "millrace_export_rows_total", "millrace_mail_mails_total",
	"millrace_ingest_events_bots_total", "millrace_ingest_requests_refused_total",
	"millrace_kafka_connect_errors_total", "millrace_kafka_read_errors_total", "millrace_kafka_produce_errors_total",
}

// named finds metrics in queries; tests/contract/alerts shows with Prometheus' own parser
// that queries name no others than such and those of the cluster.
var named = regexp.MustCompile(`\b(?:millrace|go|process)_[a-z0-9_]+\b`)

// exportsAll compares what dashboards and alerts ask for with what the daemons
// serve.
func exportsAll(t *testing.T, s *harness.System) {
	t.Helper()
	wanted := asked(t)
	testkit.Eventually(t, 3*time.Minute, func() error {
		served := map[string]bool{}
		for _, p := range s.Processes() {
			if err := scrape(t.Context(), p.Admin(), served); err != nil {
				return err
			}
		}
		var missing []string
		for name := range wanted {
			if !served[name] && !slices.Contains(rare, name) {
				missing = append(missing, name)
			}
		}
		if slices.Sort(missing); len(missing) > 0 {
			return fmt.Errorf("no daemon serves %s", strings.Join(missing, ", "))
		}
		return nil
	})
}

// asked returns the metrics that files of deploy name.
func asked(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
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
			for _, name := range named.FindAllString(string(text), -1) {
				names[name] = true
			}
		}
	}
	if len(names) < 100 {
		t.Fatalf("only %d metrics are asked for: %v", len(names), slices.Sorted(maps.Keys(names)))
	}
	return names
}

// scrape adds the names of the series that a daemon serves.
func scrape(ctx context.Context, admin string, names map[string]bool) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/metrics", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(body)) {
		if name := line[:strings.IndexAny(line, "{ \n")]; name != "" && name[0] != '#' {
			names[name] = true
		}
	}
	return nil
}
