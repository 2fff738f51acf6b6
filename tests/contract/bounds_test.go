package contract

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/tests/harness"
)

// boundsPage describes what each route may hold.
const boundsPage = "../../docs/reference/bounds.md"

// bound is a row of a host's table.
type bound struct {
	route, body, values string
}

// boundsOf returns the rows of the table below a heading.
func boundsOf(t *testing.T, page, heading string) (rows []bound) {
	t.Helper()
	_, section, found := strings.Cut(page, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("the page has no heading %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 8 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		rows = append(rows, bound{strings.Trim(cells[1], " `"), strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3])})
	}
	return rows
}

// rowOf returns the place of the most exact row of a route, such as "POST /track"; -1 for none.
func rowOf(rows []bound, route string) int {
	best := -1
	for i, r := range rows {
		exact, all := strings.CutSuffix(r.route, "*")
		if (all && strings.HasPrefix(route, exact) || r.route == route) &&
			(best < 0 || len(r.route) > len(rows[best].route)) {
			best = i
		}
	}
	return best
}

// numbers returns the figures in a cell, such as 1048576 of "1 MiB" and 1000 of "1,000 to 40,000".
func numbers(t *testing.T, cell string) (all []int) {
	t.Helper()
	for _, m := range regexp.MustCompile(`([0-9,]+)( KiB| MiB)?`).FindAllStringSubmatch(cell, -1) {
		n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n*map[string]int{"": 1, " KiB": 1 << 10, " MiB": 1 << 20}[m[2]])
	}
	return all
}

func TestBounds_HoldForEachRoute(t *testing.T) {
	text, err := os.ReadFile(boundsPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for setting := range maps.Keys(settingsIn(page)) {
		if !slices.ContainsFunc(config.Fields(), func(f config.Field) bool { return f.Key == setting }) {
			t.Errorf("there is no setting %s", setting)
		}
	}
	s := harness.New(t, harness.InProcess, harness.Options{})
	ingestion := harness.Document(t, s.IngestURL).Operations()
	for heading, host := range map[string]struct {
		url    string
		routes []string
	}{
		"Query host":     {s.QueryURL, append(harness.Document(t, s.QueryURL).Operations(), "POST "+httpkit.QueryMCPPath)},
		"Ingestion host": {s.IngestURL, append(ingestion, "POST "+httpkit.IngestionMCPPath)},
		"Short links":    {s.LinkURL, []string{"GET /a", "POST /a"}},
	} {
		rows := boundsOf(t, page, heading)
		used := map[int]bool{}
		for _, route := range host.routes {
			if heading == "Query host" && slices.Contains(ingestion, route) && strings.HasPrefix(route, "POST") {
				continue // the document of the query host is of both
			}
			i := rowOf(rows, route)
			if i < 0 {
				t.Errorf("%s: %s has no row", heading, route)
				continue
			}
			used[i] = true
			boundHolds(t, host.url, s.Fixture, route, rows[i])
		}
		for i, r := range rows {
			if !used[i] {
				t.Errorf("%s: there is no route %s", heading, r.route)
			}
		}
	}
}

// boundHolds sends bodies at the bounds of a route, which are not rejected for their size, and beyond.
func boundHolds(t *testing.T, url string, f *harness.Fixture, route string, r bound) {
	t.Helper()
	method, at, _ := strings.Cut(route, " ")
	at = strings.Replace(at, "{clientId}", f.ClientID, 1)
	at = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(at, "x")
	key := f.Key
	if strings.HasPrefix(at, "/rpc/") {
		key = f.ForeignKey // the fixture has a record that cannot be read
	}
	status := func(contentType string, body []byte) int {
		req, err := http.NewRequestWithContext(t.Context(), method, url+at+"?clientId="+f.ClientID, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", contentType)
		req.Header.Set("X-Api-Key", key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	check := func(what string, body []byte, tooLarge bool) {
		got := status("application/json", body)
		if (got == http.StatusRequestEntityTooLarge) != tooLarge || got >= http.StatusInternalServerError {
			t.Errorf("%s with %s: %d", route, what, got)
		}
	}
	if method != http.MethodPost {
		return
	}
	for _, n := range numbers(t, r.body) {
		check(fmt.Sprintf("%d bytes", n), bytes.Repeat([]byte(" "), n), false)
		check("a byte more", bytes.Repeat([]byte(" "), n+1), true)
	}
	list := func(n int) []byte { // with so many values
		return []byte("[" + strings.TrimSuffix(strings.Repeat("0,", n-1), ",") + "]")
	}
	if figures := numbers(t, r.values); len(figures) > 0 {
		least, most := figures[0], figures[len(figures)-1]
		check(fmt.Sprintf("%d values", least), list(least), false)
		check(fmt.Sprintf("more than %d values", most), list(most+1), true)
	}
}

// settingsIn returns the settings that a page names.
func settingsIn(page string) map[string]bool {
	all := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z]+(?:\\.[a-z_]+)+)`").FindAllStringSubmatch(page, -1) {
		all[m[1]] = true
	}
	return all
}
