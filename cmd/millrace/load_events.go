package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/load"
	"github.com/millrace/millrace/internal/pipeline/traffic"
	"github.com/millrace/millrace/internal/platform/config"
)

// maxLoadBatch is as many events as fit into a body.
const maxLoadBatch = 1000

// loadEventsFlags are the flags of `millrace load events`.
type loadEventsFlags struct {
	loadFlags

	browsers bool
	run      uint64
	bots     float64
	mix      traffic.Mix
}

func newLoadEvents() *cobra.Command {
	f := loadEventsFlags{loadFlags: loadFlags{example: "http://127.0.0.1:8081"}}
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Send simulated traffic to the ingestion host",
		Long: `Sends the traffic of simulated visitors to the ingestion host: page views and exits,
outgoing links, events with properties, web vitals and errors. Visitors return, and the
shares of each kind come from built-in tables. Some events are sent twice, late or out of
order.

The same seed and flags send the same traffic, with times relative to the moment of
sending. Event ids are new in each run, because ids of an earlier run would count as
duplicates. To send the ids of an earlier run again, pass its number with --run.

With --browsers every request carries one visit, with the website's client id and the
visitor's user agent, as browsers send them. If the website's setting botFilter is on, the
host returns 204 for visits by bots.`,
		Example: `  millrace load events --rate 5000 --batch 50 --duration 1m
  millrace load events --browsers --rate 200 --bots 0.1
  millrace load events --url https://in.example.com --website web_01JD… --website web_01JE… --out report.json`,
		Args: cobra.NoArgs,
		RunE: withSettings(f.send),
	}
	f.add(cmd, "ingestion", "track:events", "events", 1000)
	flags := cmd.Flags()
	flags.IntVar(&f.mix.Batch, "batch", 20, "maximum number of events in a request")
	flags.BoolVar(&f.browsers, "browsers", false, "send as browsers do, with client ids and without a key")
	flags.Uint64Var(&f.run, "run", 0, "number of the run, from which event ids are derived; 0 uses the current time")
	flags.Float64Var(&f.bots, "bots", 0.03, "share of visits by bots")
	flags.Float64Var(&f.mix.Duplicates, "duplicates", 0.01, "share of events that are sent twice")
	flags.Float64Var(&f.mix.Disorder, "disorder", 0.05, "share of events that are sent after later ones")
	flags.Float64Var(&f.mix.Late, "late", 0.02, "share of visits that are sent up to three days late")
	return cmd
}

func (f *loadEventsFlags) send(cmd *cobra.Command, _ []string, s config.Settings) error {
	if f.mix.Batch < 1 || f.mix.Batch > maxLoadBatch {
		return fmt.Errorf("--batch is %d; it must be 1 to %d", f.mix.Batch, maxLoadBatch)
	}
	if err := errors.Join(
		share("bots", f.bots), share("duplicates", f.mix.Duplicates), share("late", f.mix.Late),
		share("disorder", f.mix.Disorder), exact("seed", f.seed), exact("run", f.run),
	); err != nil {
		return err
	}
	if both := f.mix.Duplicates + f.mix.Disorder; both > 1 {
		return fmt.Errorf("--duplicates and --disorder are %v together; they must be at most 1", both)
	}
	if err := f.fill(s, "INGEST_URL"); err != nil {
		return err
	}
	if f.run == 0 {
		f.run = traffic.RunAt(time.Now())
	}
	if f.browsers {
		f.key, f.mix.PerVisit = "", true
	}
	sites := make([]traffic.Site, len(f.websites))
	for i, id := range f.websites {
		sites[i] = traffic.Site{ID: id, Host: fmt.Sprintf("site-%d.example.com", i+1)}
	}
	world := traffic.NewWorld(traffic.Config{Seed: f.seed, Run: f.run, Sites: sites, Bots: f.bots})
	work := &load.Events{URL: f.url, Key: f.key, Requests: world.Requests(0, f.mix)}
	return f.drive(cmd, work, map[string]any{
		"url": f.url, "websites": len(sites), "seed": f.seed, "run": f.run, "batch": f.mix.Batch, "browsers": f.browsers,
		"connections": f.opts.Connections, "bots": f.bots, "duplicates": f.mix.Duplicates, "disorder": f.mix.Disorder,
		"late": f.mix.Late,
	})
}
