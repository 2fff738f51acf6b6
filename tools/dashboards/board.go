package main

import (
	"fmt"
	"regexp"
	"strings"
)

// board is a dashboard as the tables tell it.
type board struct {
	name  string // of its file; millrace-name is its uid
	title string
	about string
	// component is whose instances one may choose from; empty for no choice.
	component string
	rows      []row
}

type row struct {
	title  string
	panels []panel
}

// panel is one picture. Its unit is Grafana's name of one.
type panel struct {
	title string
	about string
	unit  unit
	kind  kind
	// warn and page colour values from there on; 0 for neither. They are those of
	// the alerts.
	warn, page float64
	queries    []q
}

// q is a query and what its series are called.
type q struct{ expr, legend string }

type kind string

// Kinds of panels.
const (
	lines  kind = "" // over time
	number kind = "stat"
	bars   kind = "bargauge"
)

type unit string

// Units, as Grafana calls them.
const (
	perSecond    unit = "reqps"
	eventsPerSec unit = "cps"
	seconds      unit = "s"
	bytesIEC     unit = "bytes"
	bytesPerSec  unit = "Bps"
	share        unit = "percentunit"
	count        unit = "short"
	yesNo        unit = "bool_yes_no"
	fromNow      unit = "dateTimeFromNow"
)

// quantiles asks for the three that are looked at of a histogram.
func quantiles(metric, labels string) []q {
	var all []q
	for _, of := range []struct{ q, name string }{{"0.5", "p50"}, {"0.95", "p95"}, {"0.99", "p99"}} {
		all = append(all, q{
			fmt.Sprintf("histogram_quantile(%s, sum by (le) (rate(%s_bucket{%s}[$__rate_interval])))", of.q, metric, labels),
			of.name,
		})
	}
	return all
}

// rate asks for a counter's rate, summed up by labels.
func rate(metric, labels, by string) string {
	if by == "" {
		return fmt.Sprintf("sum(rate(%s{%s}[$__rate_interval]))", metric, labels)
	}
	return fmt.Sprintf("sum by (%s) (rate(%s{%s}[$__rate_interval]))", by, metric, labels)
}

var (
	series = regexp.MustCompile(`\b(ALERTS|millrace[_:][a-z0-9_:]+|process_[a-z_]+|go_[a-z_]+)(\{)?`)
	braces = strings.NewReplacer(",}", "}")
)

// ofNamespace asks for the series of the namespaces that were chosen: all are, at first, and what
// has no such label is in all of them.
func ofNamespace(expr string) string {
	return braces.Replace(series.ReplaceAllStringFunc(expr, func(name string) string {
		name, hasLabels := strings.CutSuffix(name, "{")
		if hasLabels {
			return name + `{namespace=~"$namespace",`
		}
		return name + `{namespace=~"$namespace"}`
	}))
}

// Grid: a picture is a third of a screen wide.
const (
	columns = 3
	width   = 24 / columns
	height  = 8
)

// render makes Grafana's form of a board.
func (b *board) render() *dashboard {
	d := newDashboard("millrace-"+b.name, b.title, b.about)
	d.Templating.List = append(d.Templating.List,
		choice("namespace", "Namespace", `label_values(millrace_build_info, namespace)`))
	if b.component != "" {
		d.Templating.List = append(d.Templating.List, choice("instance", "Instance", "label_values("+
			ofNamespace(`millrace_build_info{component=~"`+b.component+`|standalone"}`)+", instance)"))
	}
	y := 0
	for _, r := range b.rows {
		d.add(rowPanel(r.title, y))
		y++
		for i := range r.panels {
			d.add(r.panels[i].render(i%columns*width, y+i/columns*height))
		}
		y += (len(r.panels) + columns - 1) / columns * height
	}
	return d
}
