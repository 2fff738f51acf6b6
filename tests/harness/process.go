package harness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/embedded/chserver"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

const (
	readyTimeout = 4 * time.Minute // a race-built daemon on a busy machine
	exitTimeout  = 60 * time.Second
)

// Process is one daemon that is started, ended in any way and started again
// with the same settings.
type Process struct {
	name  string
	path  string
	args  []string
	env   []string
	dir   string
	admin string // host:port of its metrics and health
	log   *testkit.Log

	cmd   *exec.Cmd
	ended chan error // receives the exit once
}

// NewProcess describes a daemon and starts nothing. Settings are environment
// variables without the prefix MILLRACE_.
func NewProcess(tb testing.TB, program string, args []string, settings map[string]string) *Process {
	tb.Helper()
	return newProcess(tb, Binary(tb, program), args, settings)
}

func newProcess(tb testing.TB, path string, args []string, settings map[string]string) *Process {
	tb.Helper()
	program := filepath.Base(path)
	p := &Process{
		name: program, path: path, args: args,
		dir: tb.TempDir(), admin: testkit.FreeAddr(tb), log: testkit.NewLog(tb, program),
	}
	// Nothing of the developer's own environment reaches the daemon, except what
	// programs need to run at all and where the embedded ClickHouse is.
	for _, kv := range os.Environ() { //nolint:forbidigo // handed on, not read
		if name, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(name, "MILLRACE_") || name == config.CacheEnv ||
			name == "MILLRACE_EMBEDDED_CLICKHOUSE_LIBRARY" {
			p.env = append(p.env, kv)
		}
	}
	p.env = append(p.env, "MILLRACE_ADMIN_LISTEN="+p.admin)
	for name, value := range settings {
		p.env = append(p.env, "MILLRACE_"+name+"="+value)
	}
	tb.Cleanup(func() {
		if p.cmd != nil {
			p.Stop(tb)
		}
		// It starts the embedded server again and goes on, so that no response may show it.
		if p.log.Contains(chserver.DiedMessage) {
			tb.Errorf("under %s the embedded ClickHouse died", p.name)
		}
	})
	return p
}

// StartAll starts daemons together and returns when all are ready. When the test ends
// they are asked to end together too, because each one waits a while for what is on its
// way to it.
func StartAll(tb testing.TB, all ...*Process) {
	tb.Helper()
	tb.Cleanup(func() { StopAll(tb, all...) })
	for _, p := range all {
		p.Launch(tb)
	}
	for _, p := range all {
		p.WaitReady(tb)
	}
}

// StopAll asks those that run to end, together, and expects each to end well.
func StopAll(tb testing.TB, all ...*Process) {
	tb.Helper()
	var wg sync.WaitGroup
	for _, p := range all {
		if p.cmd != nil {
			wg.Go(func() { p.Stop(tb) })
		}
	}
	wg.Wait()
}

// Start starts the daemon and returns when it is ready to serve.
func (p *Process) Start(tb testing.TB) {
	tb.Helper()
	p.Launch(tb)
	p.WaitReady(tb)
}

// Launch starts the daemon and returns at once.
func (p *Process) Launch(tb testing.TB) {
	tb.Helper()
	if p.cmd != nil {
		tb.Fatalf("%s runs already", p.name)
	}
	// The daemon ends by Stop or Kill, not with the test's context.
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), p.path, p.args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.Stdout, cmd.Stderr = p.log, p.log
	cmd.SysProcAttr = dieWithTest()
	if err := cmd.Start(); err != nil {
		tb.Fatalf("starting %s: %v", p.name, err)
	}
	ended := make(chan error, 1)
	p.cmd, p.ended = cmd, ended
	go func() { ended <- cmd.Wait() }()
}

// WaitReady returns when the daemon answers that it can do its work.
func (p *Process) WaitReady(tb testing.TB) {
	tb.Helper()
	testkit.Eventually(tb, readyTimeout, func() error {
		select {
		case err := <-p.ended:
			p.ended <- err
			tb.Fatalf("%s ended while starting: %v\n%s", p.name, err, p.log)
		default:
		}
		return p.ready(tb.Context())
	})
}

func (p *Process) ready(ctx context.Context) error {
	body, status, err := get(ctx, "http://"+p.admin+"/readyz")
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", p.name, err)
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s is not ready: %d %s", p.name, status, body)
	}
	return nil
}

// Kill ends the daemon with SIGKILL.
func (p *Process) Kill(tb testing.TB) {
	tb.Helper()
	if err := p.end(syscall.SIGKILL); err == nil {
		tb.Errorf("%s was killed and says that it ended well", p.name)
	}
}

// Stop asks the daemon to end and expects it to end well. Connections that no test uses
// are let go before, or it would wait whether a request is on its way on them.
func (p *Process) Stop(tb testing.TB) {
	tb.Helper()
	Client.CloseIdleConnections()
	if err := p.end(syscall.SIGTERM); err != nil {
		tb.Errorf("stopping %s: %v\n%s", p.name, err, p.log)
	}
}

// Signal sends a signal and does not wait.
func (p *Process) Signal(tb testing.TB, s syscall.Signal) {
	tb.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		tb.Fatalf("signalling %s: %v", p.name, err)
	}
}

// Wait returns how the daemon ended, after it was signalled.
func (p *Process) Wait() error {
	defer func() { p.cmd = nil }()
	timeout := time.NewTimer(exitTimeout)
	defer timeout.Stop()
	select {
	case err := <-p.ended:
		return err
	case <-timeout.C:
		p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("still running after %s", exitTimeout)
	}
}

func (p *Process) end(how syscall.Signal) error {
	if err := p.cmd.Process.Signal(how); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.Wait()
}

// Admin returns host:port of the daemon's metrics and health.
func (p *Process) Admin() string { return p.admin }

// Log returns what the daemon has written.
func (p *Process) Log() string { return p.log.String() }

// Metric returns the sum of the samples of a metric, over all label values that
// contain each of the given texts, such as `topic="events.v1"`.
func (p *Process) Metric(ctx context.Context, name string, labels ...string) (float64, error) {
	return ReadMetric(ctx, p.admin, name, labels...)
}

// ReadMetric is Process.Metric for a daemon whose admin listener has the address.
func ReadMetric(ctx context.Context, admin, name string, labels ...string) (float64, error) {
	body, status, err := get(ctx, "http://"+admin+"/metrics")
	if err != nil || status != http.StatusOK {
		return 0, fmt.Errorf("reading the metrics of %s: status %d: %w", admin, status, err)
	}
	return sumMetric(body, name, labels)
}

func sumMetric(text, name string, labels []string) (float64, error) {
	sum, found := 0.0, false
samples:
	for sc := bufio.NewScanner(strings.NewReader(text)); sc.Scan(); {
		line := sc.Text()
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(rest, l) {
				continue samples
			}
		}
		v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, err
		}
		sum, found = sum+v, true
	}
	if !found {
		return 0, fmt.Errorf("no metric %s %v", name, labels)
	}
	return sum, nil
}

// ResidentBytes is the memory that the daemon occupies.
func (p *Process) ResidentBytes(ctx context.Context) (int64, error) {
	v, err := p.Metric(ctx, "process_resident_memory_bytes")
	return int64(v), err
}
