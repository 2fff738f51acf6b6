// Command bench measures the product against limits that it measures in the same
// run, on the same machine, with the same payload: how much of what the machine
// could do with a bare server, a bare parser or a bare client do we deliver?
//
//	go run ./bench              all measures, about an hour on two idle cores
//	go run ./bench -only edge   only B1-B5; "links" for L1-L5, "flags" for F1-F4, "sink" for S1-S3,
//	                            "spoilt" for malformed records, "window" for S4-S6
//	go run ./bench -only ratios  all of those
//	go run ./bench -only query  only Q1-Q3, D1, E1 and E2, on the data set named by -data
//	go run ./bench -only capacity  what an event costs, and what a rate needs; also on a busy machine
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

	"github.com/millrace/millrace/internal/adapter/embedded/chserver"
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
	queryOut string
	// brokers are those of a broker that is there already, for the set "edge".
	brokers []string
	profile string
	// outage is how long ClickHouse is away, liveRate what is published meanwhile
	// and afterwards, a second; see figures.live.
	outage   time.Duration
	liveRate int
	// data is the folder of the data set that the set "query" asks about, and fill
	// says to make it, of dataRows, and to do nothing else.
	data     string
	dataRows int
	fill     bool
	asIs     bool // also when the data set is not complete
	// capacityRate is how many events a second the set "capacity" sends, for capacityFor.
	capacityRate float64
	capacityFor  time.Duration
	capacityOut  string
	guide        string
	// busy says to measure although the machine is not idle.
	busy bool
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
	flag.StringVar(&s.only, "only", "",
		"edge, links, flags, sink, spoilt or window; ratios for all of those; query or capacity; empty for all but the last")
	flag.DurationVar(&s.outage, "outage", time.Minute, "how long ClickHouse is away before the sink catches up")
	flag.IntVar(&s.liveRate, "live", 0, "records a second that go on during the outage and after it; "+
		"0 for a fifth of what the sink stores at its peak in the same round")
	flag.Func("measures", "measures to run of the sets, by name, comma-separated; empty for all",
		func(names string) error {
			s.measures = strings.Split(names, ",")
			return nil
		})
	flag.Func("brokers",
		"address of a broker to use instead of the embedded one, with -only edge; it is not pinned to a core",
		func(addr string) error {
			s.brokers = strings.Split(addr, ",")
			return nil
		})
	flag.StringVar(&s.out, "out", "docs/benchmarks/ratios.md", "file to write the table to; empty for none")
	flag.StringVar(&s.queryOut, "query-out", "docs/benchmarks/queries.md",
		"file to write the page of the set \"query\" to; empty for none")
	flag.StringVar(&s.profile, "profile", "", "folder for a CPU profile of each measure, of its last round")
	flag.StringVar(&s.data, "data", "", "folder of the data set of the set \"query\"; empty for a small one in "+smallData)
	flag.IntVar(&s.dataRows, "data-rows", 2_000_000, "rows of events of the data set, where it has to be made")
	flag.BoolVar(&s.asIs, "as-is", false, "ask about the data set as far as it is filled")
	flag.BoolVar(&s.fill, "fill", false, "make the data set, or what is missing of it, and end")
	flag.Float64Var(&s.capacityRate, "capacity-rate", 3000, "events a second of the set \"capacity\"")
	flag.DurationVar(&s.capacityFor, "capacity-for", time.Minute,
		"for how long they are sent, and an eighth of them before")
	flag.StringVar(&s.capacityOut, "capacity-out", "docs/benchmarks/capacity.md",
		"file to write what events cost to; empty for none")
	flag.StringVar(&s.guide, "capacity-guide", "docs/guides/capacity.md", "guide whose table is written from it")
	flag.BoolVar(&s.busy, "busy", false,
		"measure although the machine is not idle; what that tells is no figure to compare")
	flag.Parse()

	if s.fill {
		_, err := s.dataset(ctx)
		return err
	}
	if len(s.brokers) > 0 && s.only != "edge" && s.only != capacitySet {
		return errors.New("-brokers needs -only edge or capacity")
	}
	if s.only == capacitySet {
		c, err := measureCapacity(ctx, s)
		if err != nil {
			return err
		}
		return c.write(s.capacityOut, s.guide)
	}
	if !s.busy {
		if err := idle(ctx, loadNow, patience, time.Tick(time.Second)); err != nil {
			return err
		}
	}
	var all []page
	if s.only != querySet {
		m, err := measureAll(ctx, s)
		if err != nil {
			return err
		}
		all = append(all, page{m, s.out})
	}
	if s.only == "" || s.only == querySet {
		q, err := measureQueries(ctx, s)
		if err != nil {
			return err
		}
		all = append(all, page{q, s.queryOut})
	}
	var errs []error
	for _, p := range all {
		errs = append(errs, p.write())
	}
	return errors.Join(errs...)
}

// page is what a measurement writes, and where.
type page struct {
	figures interface {
		markdown() string
		pass() bool
	}
	file string // empty for standard output alone
}

// write prints the page and writes it to its file. It is an error that a gate is
// missed.
func (p page) write() error {
	fmt.Print(p.figures.markdown())
	if err := p.save(); err != nil {
		return err
	}
	if !p.figures.pass() {
		return errGates
	}
	return nil
}

// save writes the page to its file.
func (p page) save() error {
	if p.file == "" {
		return nil
	}
	return os.WriteFile(p.file, []byte(p.figures.markdown()), 0o644)
}

const (
	// querySet is the set that asks questions; it has surroundings and a page of its own.
	querySet = "query"
	// ratioSets are all those of the page of ratios.
	ratioSets = "ratios"
)
