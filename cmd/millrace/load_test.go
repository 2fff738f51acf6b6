package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/millrace/millrace/internal/adapter/load"
)

func TestLoadSaysWhatIsWrongWithItsFlags(t *testing.T) {
	t.Parallel()
	empty := "--data.dir=" + t.TempDir()
	good := []string{"--url=http://127.0.0.1:1", "--website=web_1", empty}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"no address", []string{"events", "--website=web_1", empty}, "--url is required"},
		{
			"no http address",
			[]string{"events", "--url=127.0.0.1:8081", "--website=web_1", empty},
			"--url must be a URL such as http://127.0.0.1:8081, not \"127.0.0.1:8081\"",
		},
		{
			"no http address of the query host",
			[]string{"queries", "--url=127.0.0.1:8080", "--website=web_1", empty},
			"--url must be a URL such as http://127.0.0.1:8080, not \"127.0.0.1:8080\"",
		},
		{"no website", []string{"queries", "--url=http://127.0.0.1:1", empty}, "--website is required"},
		{"no rate", append([]string{"events", "--rate=0"}, good...), "--rate is 0"},
		{"no end", append([]string{"queries", "--duration=0s"}, good...), "--duration is 0s"},
		{"an empty batch", append([]string{"events", "--batch=0"}, good...), "--batch is 0"},
		{"too large a batch", append([]string{"events", "--batch=1001"}, good...), "--batch is 1001"},
		{"more than all", append([]string{"events", "--duplicates=1.1"}, good...), "--duplicates is 1.1"},
		{
			"more than all together", append([]string{"events", "--duplicates=0.75", "--disorder=0.5"}, good...),
			"--duplicates and --disorder are 1.25 together",
		},
		{
			"a run that a reader rounds", append([]string{"events", "--run=9007199254740993"}, good...),
			"--run is 9007199254740993; it must be at most 9007199254740992",
		},
		{
			"a seed that a reader rounds", append([]string{"queries", "--seed=9007199254740993"}, good...),
			"--seed is 9007199254740993",
		},
		{"another kind", append([]string{"queries", "--kind=odd"}, good...), "unknown kind of query \"odd\""},
		{"no day", append([]string{"queries", "--until=yesterday"}, good...), "--until must be a day such as 2026-11-21, " +
			"not \"yesterday\""},
		{"no days", append([]string{"queries", "--days=0"}, good...), "--days is 0"},
	} {
		_, _, err := millrace(t, append([]string{"load"}, c.args...)...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestLoadEventsReportsWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	var events atomic.Int64
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent []json.RawMessage
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &sent)
		}
		if err != nil || r.Header.Get("X-Api-Key") != "mlr_test" || r.URL.Query().Get("website_id") != "web_1" {
			t.Errorf("%s of key %q: %v", r.URL, r.Header.Get("X-Api-Key"), err)
		}
		n := events.Add(int64(len(sent)))
		if n > 100 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]int{"count": len(sent)})
	}))
	defer host.Close()
	file := filepath.Join(t.TempDir(), "report.json")
	_, progress, err := millrace(t, "load", "events", "--url="+host.URL, "--key=mlr_test", "--website=web_1", "--batch=10",
		"--rate=100", "--duration=4s", "--out="+file, "--data.dir="+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	report := readReport(t, file)
	if due := report.Sent + 10*report.Unsent; int64(report.Sent) != events.Load() || due < 390 || due > 410 {
		t.Errorf("%d events were sent and %d came, %d requests were not sent; want about 400 events",
			report.Sent, events.Load(), report.Unsent)
	}
	if report.Statuses["200"] == 0 || report.Statuses["429"] == 0 || report.Accepted != 100 {
		t.Errorf("%v, %d accepted; want both, and 100", report.Statuses, report.Accepted)
	}
	about, ok := report.About.(map[string]any)
	if run, isNumber := about["run"].(float64); !ok || !isNumber || run < 1 || run > 1<<53 {
		t.Errorf("the run is %v, want a number that floats keep", about["run"])
	}
	if !strings.Contains(progress, "events/s sent") {
		t.Errorf("progress is %q", progress)
	}
}

func TestLoadTellsOfAHostThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	host := httptest.NewServer(http.NotFoundHandler())
	host.Close()
	stdout, _, err := millrace(t, "load", "queries", "--url="+host.URL, "--website=web_1", "--duration=2s", "--rate=20",
		"--data.dir="+t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "does not respond") || !strings.Contains(stdout, `"none"`) {
		t.Errorf("%v\n%s", err, stdout)
	}
}

// Nobody has to load a host again for a typing error.
func TestLoadReportsWhereItsFileCannotBeWritten(t *testing.T) {
	t.Parallel()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]int{"count": 1})
	}))
	defer host.Close()
	stdout, _, err := millrace(t, "load", "events", "--url="+host.URL, "--website=web_1", "--duration=100ms",
		"--out="+filepath.Join(t.TempDir(), "none", "report.json"), "--data.dir="+t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "report.json") || !strings.Contains(stdout, `"statuses"`) {
		t.Errorf("%v\n%s", err, stdout)
	}
}

func readReport(t *testing.T, file string) (r load.Report) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}
