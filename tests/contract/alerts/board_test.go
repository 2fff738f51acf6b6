package alerts

import (
	"strings"
	"testing"
)

func TestDashboardsAreComplete(t *testing.T) {
	t.Parallel()
	uids := map[string]string{}
	for file, b := range allBoards(t) {
		if other, taken := uids[b.UID]; taken || b.UID == "" || len(b.UID) > 40 {
			t.Errorf("%s: uid %q (also of %q)", file, b.UID, other)
		}
		uids[b.UID] = file
		if b.Title == "" || b.Description == "" {
			t.Errorf("%s: title %q, description %q", file, b.Title, b.Description)
		}
		if v := b.Templating.List; len(v) == 0 || v[0].Name != "datasource" || v[0].Type != "datasource" ||
			v[0].Query != "prometheus" {
			t.Errorf("%s: its first variable is not the data source: %+v", file, v)
		}
		checkPanels(t, file, b.Panels)
	}
}

func checkPanels(t *testing.T, file string, panels []panel) {
	t.Helper()
	chosen, ids, titles := datasource{"prometheus", "${datasource}"}, map[int]bool{}, map[string]bool{}
	for _, p := range panels {
		if ids[p.ID] || p.ID == 0 || p.Title == "" || titles[p.Type+p.Title] {
			t.Errorf("%s: panel %d %q: number or title is missing or not its own", file, p.ID, p.Title)
		}
		ids[p.ID], titles[p.Type+p.Title] = true, true
		if p.GridPos["x"]+p.GridPos["w"] > 24 || p.GridPos["w"] == 0 || p.GridPos["h"] == 0 {
			t.Errorf("%s: panel %q is outside of the grid: %v", file, p.Title, p.GridPos)
		}
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || !strings.HasSuffix(p.Description, ".") || p.FieldConfig.Defaults.Unit == "" ||
			p.Datasource != chosen || len(p.Targets) == 0 {
			t.Errorf("%s: panel %q: description %q, unit %q, data source %v, %d queries",
				file, p.Title, p.Description, p.FieldConfig.Defaults.Unit, p.Datasource, len(p.Targets))
		}
		for _, q := range p.Targets {
			if q.Datasource != chosen || q.LegendFormat == "" {
				t.Errorf("%s: panel %q: query %q has data source %v, legend %q",
					file, p.Title, q.Expr, q.Datasource, q.LegendFormat)
			}
		}
	}
}
