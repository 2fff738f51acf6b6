package alerts

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

// series are what is scraped, by the series' name: values in promtool's notation,
// one a minute.
type series map[string]string

// step is the time between two scrapes, and between two evaluations.
const step = time.Minute

func TestEachAlertFiresWhenItShouldAndOnlyThen(t *testing.T) {
	t.Parallel()
	var cases map[string]struct {
		Fires, Quiet series
		AlsoQuiet    []series `yaml:"also_quiet"`
		AfterRestart series   `yaml:"after_restart"` // what is scraped when a process has done nothing yet
	}
	decode(t, "testdata/cases.yaml", &cases)
	for _, a := range alertsOf(allRules(t)) {
		c, ok := cases[a.Alert]
		if delete(cases, a.Alert); !ok {
			t.Errorf("testdata/cases.yaml has no case of %s", a.Alert)
			continue
		}
		t.Run(a.Alert, func(t *testing.T) {
			t.Parallel()
			checkFires(t, &a, c.Fires)
			if len(c.AfterRestart) > 0 {
				checkFires(t, &a, c.AfterRestart)
			}
			for _, quiet := range append([]series{c.Quiet}, c.AlsoQuiet...) {
				if states := evaluate(t, &a, quiet); slices.Contains(states, rules.StateFiring) {
					t.Errorf("it fires although nothing is wrong: %v", states)
				}
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Errorf("there is no alert %s", name)
	}
}

func checkFires(t *testing.T, a *rule, scraped series) {
	t.Helper()
	states := evaluate(t, a, scraped)
	if last := states[len(states)-1]; last != rules.StateFiring {
		t.Errorf("it is %s at the end, not firing: %v", last, states)
	}
	if a.For != "" && states[0] == rules.StateFiring {
		t.Error("it does not wait")
	}
}

// evaluate returns the alert's state at each step. What it says has to be text.
func evaluate(t *testing.T, a *rule, scraped series) (states []rules.AlertState) {
	t.Helper()
	loaded, steps := load(t, scraped)
	expr, err := promql.ParseExpr(a.Expr)
	if err != nil {
		t.Fatal(err)
	}
	var wait time.Duration
	if a.For != "" {
		if wait, err = time.ParseDuration(a.For); err != nil {
			t.Fatal(err)
		}
	}
	alert := rules.NewAlertingRule(a.Alert, expr, wait, 0, labels.FromMap(a.Labels), labels.FromMap(a.Annotations),
		labels.EmptyLabels(), "", true, slog.New(slog.DiscardHandler))
	ask := rules.EngineQueryFunc(loaded.QueryEngine(), loaded.Storage())
	for i := range steps {
		if _, err := alert.Eval(t.Context(), 0, time.Unix(0, 0).Add(time.Duration(i)*step).UTC(), ask, nil, 0); err != nil {
			t.Fatal(err)
		}
		state := rules.StateInactive
		for _, active := range alert.ActiveAlerts() {
			state = max(state, active.State)
			checkText(t, active)
		}
		states = append(states, state)
	}
	return states
}

// checkText rejects annotations whose template has failed or names nothing.
func checkText(t *testing.T, active *rules.Alert) {
	t.Helper()
	active.Annotations.Range(func(l labels.Label) {
		if strings.Contains(l.Value, "<error") || strings.Contains(l.Value, "<no value>") || l.Value == "" ||
			strings.Contains(l.Value, "  ") || strings.HasPrefix(l.Value, " ") {
			t.Errorf("annotation %s is %q", l.Name, l.Value)
		}
	})
}

// load returns a storage with the series, and how many steps they last.
func load(t *testing.T, scraped series) (loaded *promqltest.LazyLoader, steps int) {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "load %s\n", step)
	for _, name := range slices.Sorted(maps.Keys(scraped)) {
		fmt.Fprintf(&text, "  %s %s\n", name, scraped[name])
		_, values, err := promql.ParseSeriesDesc(name + " " + scraped[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		steps = max(steps, len(values))
	}
	loaded, err := promqltest.NewLazyLoader(text.String(),
		promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = loaded.Close() })
	loaded.WithSamplesTill(time.Unix(0, 0).Add(time.Duration(steps)*step), func(failed error) {
		if failed != nil {
			t.Fatal(failed)
		}
	})
	return loaded, steps
}
