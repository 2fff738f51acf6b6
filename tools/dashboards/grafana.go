package main

// dashboard is the part of Grafana's model (schema version 39, Grafana 11 and
// later) that these files use.
type dashboard struct {
	UID           string     `json:"uid"`
	Title         string     `json:"title"`
	Description   string     `json:"description"`
	Tags          []string   `json:"tags"`
	SchemaVersion int        `json:"schemaVersion"`
	Editable      bool       `json:"editable"`
	GraphTooltip  int        `json:"graphTooltip"` // 1: one cursor on all
	Refresh       string     `json:"refresh"`
	Time          timeRange  `json:"time"`
	Timezone      string     `json:"timezone"`
	Links         []link     `json:"links"`
	Templating    templating `json:"templating"`
	Panels        []any      `json:"panels"`
}

type timeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type link struct {
	Title       string   `json:"title"`
	Type        string   `json:"type"`
	Tags        []string `json:"tags"`
	AsDropdown  bool     `json:"asDropdown"`
	IncludeVars bool     `json:"includeVars"`
	KeepTime    bool     `json:"keepTime"`
}

type templating struct {
	List []variable `json:"list"`
}

type variable struct {
	Name       string      `json:"name"`
	Label      string      `json:"label"`
	Type       string      `json:"type"`
	Query      any         `json:"query"`
	Datasource *datasource `json:"datasource,omitempty"`
	Refresh    int         `json:"refresh"` // 1 when loaded, 2 with the time range
	Multi      bool        `json:"multi"`
	IncludeAll bool        `json:"includeAll"`
	AllValue   string      `json:"allValue,omitempty"`
	Current    any         `json:"current"`
}

type variableQuery struct {
	Query string `json:"query"`
	RefID string `json:"refId"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// chosen is the data source that the variable names.
var chosen = datasource{"prometheus", "${datasource}"}

type grid struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

type heading struct {
	ID        int    `json:"id"`
	Type      string `json:"type"`
	Title     string `json:"title"`
	Collapsed bool   `json:"collapsed"`
	GridPos   grid   `json:"gridPos"`
	Panels    []any  `json:"panels"`
}

type picture struct {
	ID          int         `json:"id"`
	Type        string      `json:"type"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	Datasource  datasource  `json:"datasource"`
	GridPos     grid        `json:"gridPos"`
	FieldConfig fieldConfig `json:"fieldConfig"`
	Options     any         `json:"options"`
	Targets     []target    `json:"targets"`
}

type target struct {
	Datasource   datasource `json:"datasource"`
	Expr         string     `json:"expr"`
	LegendFormat string     `json:"legendFormat"`
	RefID        string     `json:"refId"`
	Instant      bool       `json:"instant,omitempty"`
}

type fieldConfig struct {
	Defaults  defaults `json:"defaults"`
	Overrides []any    `json:"overrides"`
}

type defaults struct {
	Unit       unit       `json:"unit"`
	Min        *float64   `json:"min,omitempty"`
	Color      colour     `json:"color"`
	Thresholds thresholds `json:"thresholds"`
	Custom     any        `json:"custom,omitempty"`
}

type colour struct {
	Mode string `json:"mode"`
}

type thresholds struct {
	Mode  string `json:"mode"`
	Steps []step `json:"steps"`
}

type step struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"` // null: from the beginning
}

func newDashboard(uid, title, about string) *dashboard {
	tags := []string{"millrace"}
	return &dashboard{
		UID: uid, Title: title, Description: about, Tags: tags, SchemaVersion: 39, GraphTooltip: 1, Refresh: "30s",
		Time: timeRange{"now-3h", "now"}, Timezone: "browser",
		Links: []link{
			{Title: "Millrace", Type: "dashboards", Tags: tags, AsDropdown: true, IncludeVars: true, KeepTime: true},
		},
		Templating: templating{[]variable{{
			Name: "datasource", Label: "Data source", Type: "datasource", Query: "prometheus", Refresh: 1, Current: struct{}{},
		}}},
	}
}

// choice lets one choose among the values of a label: all of them, at first.
func choice(name, label, values string) variable {
	return variable{
		Name: name, Label: label, Type: "query", Datasource: &chosen, Refresh: 2, Multi: true, IncludeAll: true,
		AllValue: ".*", Query: variableQuery{values, name + "s"},
		Current: map[string]any{"text": "All", "value": "$__all"},
	}
}
