package main

// add puts a panel at the end, under the next number.
func (d *dashboard) add(p any) {
	id := len(d.Panels) + 1
	switch p := p.(type) {
	case *heading:
		p.ID = id
	case *picture:
		p.ID = id
	}
	d.Panels = append(d.Panels, p)
}

func rowPanel(title string, y int) *heading {
	return &heading{Type: "row", Title: title, GridPos: grid{1, 24, 0, y}, Panels: []any{}}
}

func (p *panel) render(x, y int) *picture {
	made := &picture{
		Type: string(p.kind), Title: p.title, Description: p.about, Datasource: chosen, GridPos: grid{height, width, x, y},
		FieldConfig: fieldConfig{
			Overrides: []any{}, Defaults: defaults{Unit: p.unit, Color: colour{"palette-classic"}, Thresholds: p.thresholds()},
		},
	}
	for i, query := range p.queries {
		made.Targets = append(made.Targets, target{
			Datasource: chosen, Expr: ofNamespace(query.expr), LegendFormat: query.legend, RefID: string(rune('A' + i)),
			Instant: p.kind != lines,
		})
	}
	if p.unit != fromNow {
		made.FieldConfig.Defaults.Min = new(float64)
	}
	switch p.kind {
	case lines:
		made.drawLines(p.warn+p.page > 0)
	case number, bars:
		made.FieldConfig.Defaults.Color.Mode = "thresholds"
		made.Options = map[string]any{
			"reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}}, "orientation": "horizontal",
		}
	}
	return made
}

// drawLines draws lines over time, and the thresholds where there are some.
func (p *picture) drawLines(bounded bool) {
	p.Type = "timeseries"
	style := "off"
	if bounded {
		style = "line"
	}
	p.FieldConfig.Defaults.Custom = map[string]any{
		"lineWidth": 1, "fillOpacity": 8, "showPoints": "never", "spanNulls": false,
		"thresholdsStyle": map[string]string{"mode": style},
	}
	p.Options = map[string]any{
		"legend":  map[string]any{"displayMode": "list", "placement": "bottom", "showLegend": true},
		"tooltip": map[string]string{"mode": "multi", "sort": "desc"},
	}
}

func (p *panel) thresholds() thresholds {
	t := thresholds{"absolute", []step{{"green", nil}}}
	if p.warn > 0 {
		t.Steps = append(t.Steps, step{"orange", &p.warn})
	}
	if p.page > 0 {
		t.Steps = append(t.Steps, step{"red", &p.page})
	}
	return t
}
