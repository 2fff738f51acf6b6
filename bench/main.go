// Command bench measures the product against limits that it measures in the same
// run, on the same machine, with the same payload: how much of what the machine
// could do with a bare server, a bare parser or a bare client do we deliver?
//
//	go run ./bench              all measures, a few minutes on two idle cores
//	go run ./bench -only edge   only B1-B5; "sink" for S1-S3, "spoilt" for malformed records, "window" for S4-S6
//
// What is measured runs pinned to core 0; its load, the broker and ClickHouse
// run pinned to core 1. Measures alternate over several rounds, forwards and
// backwards, and a figure is the median of its rounds with the spread beside it.
// The table goes to standard output and to the file named by -out; the exit code
// is 1 when a ratio misses its gate. It is no test: on a busy machine it fails.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/embedded/chserver"
)

// settings are the flags.
type settings struct {
	rounds int
	run    time.Duration // length of one run under load
	rows   int           // records that a sink run stores
	only   string
	// measures are the names of those to run; empty for all of the sets.
	measures []string
	out      string
	profile  string
	// outage is how long ClickHouse is away, liveRate what is published meanwhile
	// and afterwards, a second.
	outage   time.Duration
	liveRate int
}

var errGates = errors.New("a ratio misses its gate")

func main() {
	chserver.RunIfChild()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := start(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context) error {
	if len(os.Args) == 3 && os.Args[1] == childArgument {
		var j job
		if err := json.Unmarshal([]byte(os.Args[2]), &j); err != nil {
			return err
		}
		return j.do(ctx)
	}
	var s settings
	flag.IntVar(&s.rounds, "rounds", 5, "runs of each measure")
	flag.DurationVar(&s.run, "run", 2*time.Second, "length of one run under load, whole seconds")
	flag.IntVar(&s.rows, "rows", 1_200_000, "records that one run of the sink stores")
	flag.StringVar(&s.only, "only", "", "edge, sink, spoilt or window; empty for all")
	flag.DurationVar(&s.outage, "outage", time.Minute, "how long ClickHouse is away before the sink catches up")
	flag.IntVar(&s.liveRate, "live", 40_000, "records a second that go on during the outage and after it")
	flag.Func("measures", "measures to run of the sets, by name, comma-separated; empty for all", func(names string) error {
		s.measures = strings.Split(names, ",")
		return nil
	})
	flag.StringVar(&s.out, "out", "docs/benchmarks/ratios.md", "file to write the table to; empty for none")
	flag.StringVar(&s.profile, "profile", "", "folder for a CPU profile of each measure, of its last round")
	flag.Parse()

	m, err := measureAll(ctx, s)
	if err != nil {
		return err
	}
	text := m.markdown()
	fmt.Print(text)
	if s.out != "" {
		if err := os.WriteFile(s.out, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if !m.pass() {
		return errGates
	}
	return nil
}
