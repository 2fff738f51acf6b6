package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

var errBroken = errors.New("broken")

// idle is a daemon that runs until it is asked to stop.
func idle(context.Context, config.Settings, *telemetry.Telemetry, *lifecycle.Readiness) ([]lifecycle.Component, error) {
	return []lifecycle.Component{{Name: "idle", Run: func(ctx context.Context) error { <-ctx.Done(); return nil }}}, nil
}

// run calls main with a context that ends when the daemon is ready.
func run(t *testing.T, component string, args []string, parts Components) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs bytes.Buffer
	p := process{args: append([]string{"--admin.listen="}, args...), environ: []string{}, stdout: &out, stderr: &errs}
	code = p.main(ctx, component, func(
		ctx context.Context, s config.Settings, tel *telemetry.Telemetry, r *lifecycle.Readiness,
	) ([]lifecycle.Component, error) {
		built, err := parts(ctx, s, tel, r)
		return append(built,
			lifecycle.Component{Name: "end of the start", Start: func(context.Context) error { cancel(); return nil }}), err
	})
	return code, out.String(), errs.String()
}

func TestMainReturnsZeroAfterAnOrderlyStop(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := run(t, "test", nil, idle)
	if code != 0 || stdout != "" {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	for _, msg := range []string{`"msg":"starting"`, `"msg":"stopped"`} {
		if !strings.Contains(stderr, msg) {
			t.Errorf("no %s in the log %q", msg, stderr)
		}
	}
}

func TestMainTellsEachProblemOnOneLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		component string
		args      []string
		parts     Components
		want      []string
	}{
		"bad settings": {
			"sink",
			[]string{"--log.levl=info", "--sink.window=1"},
			idle,
			[]string{
				"sink: unknown flag --log.levl; did you mean --log.level?",
				`sink: --sink.window: "1" must be a duration such as 250ms, 5s or 1h`,
				"sink: kafka.brokers: must be set with MILLRACE_KAFKA_BROKERS or --kafka.brokers",
				"sink: clickhouse.addr: must be set with MILLRACE_CLICKHOUSE_ADDR or --clickhouse.addr",
			},
		},
		"parts cannot be built": {
			"test", nil,
			func(context.Context, config.Settings, *telemetry.Telemetry, *lifecycle.Readiness) ([]lifecycle.Component, error) {
				return nil, errBroken
			},
			[]string{"test: broken"},
		},
		"a part fails": {
			"test",
			[]string{"--log.level=error"},
			func(context.Context, config.Settings, *telemetry.Telemetry, *lifecycle.Readiness) ([]lifecycle.Component, error) {
				return []lifecycle.Component{{Name: "listener", Start: func(context.Context) error { return errBroken }}}, nil
			},
			[]string{"test: starting listener: broken"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := run(t, tc.component, tc.args, tc.parts)
			if code != 1 || stdout != "" {
				t.Errorf("code %d, stdout %q", code, stdout)
			}
			if want := strings.Join(tc.want, "\n") + "\n"; stderr != want {
				t.Errorf("stderr %q, want %q", stderr, want)
			}
		})
	}
}

func TestMainAnswersQuestionsAndStartsNothing(t *testing.T) {
	t.Parallel()
	never := func(context.Context, config.Settings, *telemetry.Telemetry, *lifecycle.Readiness) (
		[]lifecycle.Component, error,
	) {
		t.Error("the parts were built")
		return nil, nil
	}
	for arg, want := range map[string]string{
		"--help": "Usage: test [flags]\n", "--config.check": "ok\n", "--config.print": "data.dir = ./data  (default)\n",
	} {
		code, stdout, stderr := run(t, "test", []string{arg}, never)
		if code != 0 || !strings.HasPrefix(stdout, want) || stderr != "" {
			t.Errorf("%s: code %d, stdout %.40q, stderr %q", arg, code, stdout, stderr)
		}
	}
}

func TestRunCallsOnReadyOnceEverythingHasStarted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := config.Default()
	s.Admin.Listen = "127.0.0.1:0"
	var readiness *lifecycle.Readiness
	ready := false
	err := Run(ctx, "test", s, io.Discard, func(
		_ context.Context, _ config.Settings, _ *telemetry.Telemetry, r *lifecycle.Readiness,
	) ([]lifecycle.Component, error) {
		readiness = r
		return nil, nil
	}, func() {
		defer cancel()
		ready = readiness.Err(ctx) == nil
	})
	if err != nil || !ready {
		t.Errorf("ready %v, error %v", ready, err)
	}
}

func TestTheFirstSignalStopsAndTheSecondEndsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 2)
		exits := make(chan int, 1)
		ctx, stop := watch(t.Context(), signals, func(code int) { exits <- code })
		defer stop()
		synctest.Wait()
		if ctx.Err() != nil {
			t.Fatal("stopped without a signal")
		}
		signals <- os.Interrupt
		synctest.Wait()
		if ctx.Err() == nil || len(exits) != 0 {
			t.Errorf("after one signal: context %v, %d exits", ctx.Err(), len(exits))
		}
		signals <- syscall.SIGTERM
		synctest.Wait()
		if len(exits) != 1 || <-exits != 1 {
			t.Error("the second signal did not end the process with 1")
		}
	})
}

func TestSignalsAreNoLongerWatchedAfterTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 2)
		_, stop := watch(t.Context(), signals, func(int) { t.Error("exit was called") })
		stop()
		synctest.Wait()
		signals <- os.Interrupt
		time.Sleep(time.Second) //nolint:forbidigo // the clock of synctest
		if len(signals) != 1 {
			t.Error("the signal was taken")
		}
	})
}

func TestSignalsListensToTheProcess(t *testing.T) { //nolint:paralleltest // a signal reaches every test of the process
	ctx, cancel := Signals(t.Context(), func(int) { t.Error("exit was called") })
	defer cancel()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
}
