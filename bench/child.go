package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"
)

// childArgument makes the program run one job instead of the whole.
const childArgument = "job"

// The cores: what is measured, and everything around it.
const (
	coreMeasured = "0"
	coreAround   = "1"
)

// job is what one child process does.
type job struct {
	Role string
	// Batch is how many events a request carries.
	Batch int `json:",omitempty"`
	// For is how long a measuring loop runs.
	For time.Duration `json:",omitempty"`
	// Rows is how many records are made, consumed or stored.
	Rows       int      `json:",omitempty"`
	Brokers    []string `json:",omitempty"`
	ClickHouse string   `json:",omitempty"`
	Database   string   `json:",omitempty"`
	Null       bool     `json:",omitempty"` // the table keeps nothing
	// Partitions of the topics; 0 for as many as standalone creates.
	Partitions int `json:",omitempty"`
	// Seen is how many events the window knows before the first row is stored.
	Seen int `json:",omitempty"`
	// Blind stores without a window.
	Blind bool `json:",omitempty"`
	// Rate is how many records a second are published.
	Rate int `json:",omitempty"`
	// Links is how many short links there are; requests open them.
	Links int `json:",omitempty"`
	// Lines is how many connections a load has.
	Lines int `json:",omitempty"`
	// Flags is the route of flags that requests ask for; empty for events and links.
	Flags string `json:",omitempty"`
	// Addr is the server that is sent to.
	Addr string `json:",omitempty"`
	// Folder is the data folder of a whole product, or the URL of a metadata store.
	Folder  string `json:",omitempty"`
	Profile string `json:",omitempty"` // file for a CPU profile
}

// result is what a child says, once, on its standard output. A server says where
// it listens when it does; a measuring loop says what it did.
type result struct {
	Addr       string   `json:",omitempty"`
	Brokers    []string `json:",omitempty"`
	ClickHouse string   `json:",omitempty"`
	// Query and Ingest are the addresses of a whole product's hosts.
	Query      string  `json:",omitempty"`
	Ingest     string  `json:",omitempty"`
	Events     float64 `json:",omitempty"`
	Seconds    float64 `json:",omitempty"`
	CPUSeconds float64 `json:",omitempty"`
	// PeakBytes is the most memory that the process had, with so many keys in its
	// windows.
	PeakBytes float64 `json:",omitempty"`
	Keys      float64 `json:",omitempty"`
	// Latency is how long requests took, Prototype those of an edge of which everything is left
	// out that can be, and Broker how long the broker alone takes.
	Latency, Prototype, Broker latency
	// Live is how many records a second went on meanwhile.
	Live float64 `json:",omitempty"`
	// Away is Latency while the metadata store is away, and FillSeconds how long it took
	// to read the links from it.
	Away        latency
	FillSeconds float64 `json:",omitempty"`
	// Slowest says which question had the longest p95, SlowestP95, in milliseconds.
	Slowest    string  `json:",omitempty"`
	SlowestP95 float64 `json:",omitempty"`
	// AroundCPU is the processor time of ClickHouse meanwhile, start and end
	// included, for AroundEvents rows.
	AroundCPU    float64 `json:",omitempty"`
	AroundEvents float64 `json:",omitempty"`
}

// roles are the jobs. A role that serves calls say when it does and returns when
// ctx ends.
var roles = map[string]func(ctx context.Context, j job, say func(result) error) error{
	"bare":       serveBare,
	"validate":   serveValidate,
	"accept":     serveAccept,
	"durable":    serveDurable,
	"prototype":  servePrototype,
	"broker":     serveBroker,
	"clickhouse": serveClickHouse,
	"parse":      loopParse,
	"key":        loopKey,
	"limit":      loopLimit,
	"allocs":     loopAllocs,
	"produce":    loopProduce,
	"fill":       fillTopic,
	"spoil":      fillTopic,
	"consume":    loopConsume,
	"insert":     loopInsert,
	"sink":       loopSink,
	"seen":       fillSeen,
	"rebuild":    loopRebuild,
	"raw":        loopRaw,
	"live":       publishLive,
	"load":       serveLoad,
	"open":       loopOpen,
	"spinning":   loopSpinning,
	"roundtrip":  loopRoundTrip,
	"catchup":    loopCatchUp,
	"engine":     loopEngine,
	"stack":      serveStack,
	"edge":       serveEdge,
	"sinks":      serveSinks,
	"bare302":    serveBare302,
	"redirect":   serveRedirect,
	"clicks":     serveClicks,
	"manylinks":  serveManyLinks,
	"bareflags":  serveBareFlags,
	"flags":      serveFlags,
	"flagcore":   loopFlagCore,

	"changingflags": serveChangingFlags,
}

// do runs the job in this process until it is done or standard input ends.
func (j job) do(ctx context.Context) (err error) {
	role, ok := roles[j.Role]
	if !ok {
		return fmt.Errorf("unknown role %q", j.Role)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if j.Profile != "" {
		f, err := os.Create(j.Profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
		defer func() { err = errors.Join(err, heapProfile(j.Profile)) }()
	}
	return role(ctx, j, func(r result) error { return json.NewEncoder(os.Stdout).Encode(r) })
}

// heapProfile writes what is in use now beside the CPU profile.
func heapProfile(beside string) error {
	f, err := os.Create(strings.TrimSuffix(beside, ".pprof") + ".heap.pprof")
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close())
}

// cpuTime is the processor time of this process so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// child is a running job.
type child struct {
	result
	cmd   *exec.Cmd
	stdin io.Closer
}

// spawn starts a job pinned to a core and waits for what it says.
func spawn(ctx context.Context, core string, j job) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	argument, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "taskset", "-c", core, self, childArgument, string(argument))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", j.Role, err)
	}
	c := &child{cmd: cmd, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &c.result)
	}
	if err != nil {
		return nil, fmt.Errorf("waiting for %s: %w", j.Role, errors.Join(err, c.end()))
	}
	return c, nil
}

// end ends a job and waits for its end.
func (c *child) end() error {
	if c.cmd == nil { // somebody else's
		return nil
	}
	return errors.Join(c.stdin.Close(), c.cmd.Wait())
}

// loop runs a job that measures by itself.
func loop(ctx context.Context, core string, j job) (result, error) {
	c, err := spawn(ctx, core, j)
	if err != nil {
		return result{}, err
	}
	return c.result, c.end()
}
