package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/load"
	"github.com/millrace/millrace/internal/platform/config"
)

// loadQueriesFlags are the flags of `millrace load queries`.
type loadQueriesFlags struct {
	loadFlags

	kind, until string
	days        int
	fresh       bool
}

func newLoadQueries() *cobra.Command {
	f := loadQueriesFlags{loadFlags: loadFlags{example: "http://127.0.0.1:8080"}}
	cmd := &cobra.Command{
		Use:   "queries",
		Short: "Send queries to the query host",
		Long: `Sends queries to the query host: dashboards of twelve parameters, single parameters over
random ranges, or both mixed. The queries use five time zones, and some have a filter.`,
		Example: `  millrace load queries --kind dashboard --rate 2 --duration 1m
  millrace load queries --kind mixed --rate 20 --days 90 --fresh`,
		Args: cobra.NoArgs,
		RunE: withSettings(f.ask),
	}
	f.add(cmd, "query", "read:data", "requests", 5)
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", string(load.Mixed), "`KIND` of queries: dashboard, single or mixed")
	flags.IntVar(&f.days, "days", 30, "number of days that the queries cover")
	flags.StringVar(&f.until, "until", "",
		"`DAY` after the last day of the queries, such as 2026-11-21 (default: tomorrow in UTC)")
	flags.BoolVar(&f.fresh, "fresh", false, "request results that do not come from the cache")
	return cmd
}

func (f *loadQueriesFlags) ask(cmd *cobra.Command, _ []string, s config.Settings) error {
	if err := exact("seed", f.seed); err != nil {
		return err
	}
	if err := f.fill(s, "BASE_URL"); err != nil {
		return err
	}
	until := time.Now().UTC().AddDate(0, 0, 1).Truncate(24 * time.Hour)
	if f.until != "" {
		day, err := time.Parse(time.DateOnly, f.until)
		if err != nil {
			return fmt.Errorf("--until must be a day such as 2026-11-21, not %q", f.until)
		}
		until = day
	}
	work, err := load.NewQuestions(load.QuestionsConfig{
		URL: f.url, Key: f.key, Websites: f.websites, Kind: load.Kind(f.kind), Until: until, Days: f.days, Fresh: f.fresh,
		Seed: f.seed,
	})
	if err != nil {
		return err
	}
	return f.drive(cmd, work, map[string]any{
		"url": f.url, "websites": len(f.websites), "seed": f.seed, "kind": f.kind, "days": f.days,
		"until": until.Format(time.DateOnly),
		"fresh": f.fresh, "connections": f.opts.Connections,
	})
}
