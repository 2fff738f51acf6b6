package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var errBroken = errors.New("broken")

// journal records what components do, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) want(t *testing.T, lines ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if diff := cmp.Diff(lines, j.lines); diff != "" {
		t.Errorf("what the parts did (-want +got):\n%s", diff)
	}
}

func (j *journal) wantLast(t *testing.T, lines ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if diff := cmp.Diff(lines, j.lines[max(0, len(j.lines)-len(lines)):]); diff != "" {
		t.Errorf("what the parts did last (-want +got):\n%s", diff)
	}
}

// component returns a component that works until its context ends, and writes to j.
func (j *journal) component(name string) Component {
	return Component{
		Name:  name,
		Start: func(context.Context) error { j.add("start " + name); return nil },
		Run: func(ctx context.Context) error {
			<-ctx.Done()
			j.add("run of " + name + " ends")
			return ctx.Err()
		},
		Stop: func(context.Context) error { j.add("stop " + name); return nil },
	}
}

func options() Options {
	return Options{Log: slog.New(slog.DiscardHandler), Readiness: &Readiness{}, Grace: 10 * time.Second}
}

// ask runs the components, asks for the stop after a minute of the test's own time,
// and returns how long the stop took and what Run returned.
func ask(t *testing.T, opts Options, components ...Component) (stop time.Duration, err error) {
	t.Helper()
	const up = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), up)
	defer cancel()
	begin := time.Now()
	err = Run(ctx, opts, components...)
	return time.Since(begin) - up, err
}

func TestRunStartsInOrderAndStopsInReverse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		opts := options()
		opts.OnReady = func() { j.add("ready") }
		if _, err := ask(t, opts, j.component("a"), j.component("b"), Component{Name: "nothing at all"},
			j.component("c")); err != nil {
			t.Errorf("Run() = %v", err)
		}
		j.want(t, "start a", "start b", "start c", "ready",
			"run of c ends", "stop c", "run of b ends", "stop b", "run of a ends", "stop a")
	})
}

func TestRunReportsAPartThatReturnsByItself(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		result error
		want   error
	}{
		"without an error": {nil, errReturnedEarly},
		"with an error":    {errBroken, errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var j journal
				early := j.component("b")
				early.Run = func(context.Context) error { return tc.result }
				err := Run(t.Context(), options(), j.component("a"), early, j.component("c"))
				if !errors.Is(err, tc.want) || !strings.HasPrefix(err.Error(), "b: ") {
					t.Errorf("Run() = %v, want b: %v", err, tc.want)
				}
				j.wantLast(t, "run of a ends", "stop a")
			})
		})
	}
}

func TestAPartThatDiesInterruptsALaterStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		server := Component{Name: "server", Run: func(context.Context) error { return errBroken }}
		client := Component{Name: "client", Start: func(ctx context.Context) error {
			<-ctx.Done() // it would wait for the server for ever
			return ctx.Err()
		}}
		err := Run(t.Context(), options(), server, client, j.component("never"))
		if err == nil || err.Error() != "server: broken" {
			t.Errorf("Run() = %v, want only the cause", err)
		}
		j.want(t)
	})
}

func TestRunStopsWhatHasStartedWhenAStartFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		bad := j.component("b")
		bad.Start = func(context.Context) error { return errBroken }
		opts := options()
		opts.OnReady = func() { t.Error("OnReady was called") }
		err := Run(t.Context(), opts, j.component("a"), bad, j.component("c"))
		if !errors.Is(err, errBroken) || err.Error() != "starting b: broken" {
			t.Errorf("Run() = %v", err)
		}
		j.want(t, "start a", "stop b", "run of a ends", "stop a")
	})
}

func TestAStopDuringTheStartIsNoFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		slow := j.component("b")
		slow.Start = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		if _, err := ask(t, options(), j.component("a"), slow, j.component("c")); err != nil {
			t.Errorf("Run() = %v", err)
		}
		j.want(t, "start a", "stop b", "run of a ends", "stop a")
	})
}

func TestRunStartsNothingOnceAskedToStop(t *testing.T) {
	t.Parallel()
	var j journal
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, options(), j.component("a")); err != nil {
		t.Errorf("Run() = %v", err)
	}
	j.want(t)
}

func TestAFailureDuringTheStopIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		asked := make(chan struct{})
		first := j.component("first")
		first.Run = func(context.Context) error { <-asked; return errBroken } // dies while the last one drains
		last := j.component("last")
		last.Run = func(ctx context.Context) error {
			<-ctx.Done()
			close(asked)
			synctest.Wait()
			return nil
		}
		_, err := ask(t, options(), first, last)
		if err == nil || err.Error() != "first: broken" {
			t.Errorf("Run() = %v", err)
		}
	})
}

func TestTheDelayEndsWhenAPartFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts := options()
		opts.Delay = time.Hour
		dies := Component{Name: "a", Run: func(context.Context) error {
			time.Sleep(2 * time.Minute) //nolint:forbidigo // the clock of synctest
			return errBroken
		}}
		stop, err := ask(t, opts, dies)
		if !errors.Is(err, errBroken) {
			t.Errorf("Run() = %v", err)
		}
		if stop != time.Minute {
			t.Errorf("the stop took %s, want 1m", stop)
		}
	})
}

func TestStopContinuesPastAFailingPart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		bad := j.component("b")
		bad.Run = func(ctx context.Context) error { <-ctx.Done(); return errors.New("draining: lost") }
		bad.Stop = func(context.Context) error { return errBroken }
		_, err := ask(t, options(), j.component("a"), bad, j.component("c"))
		if got, want := err.Error(), "b: draining: lost\nstopping b: broken"; got != want {
			t.Errorf("Run() = %q, want %q", got, want)
		}
		j.want(t, "start a", "start b", "start c", "run of c ends", "stop c", "run of a ends", "stop a")
	})
}

func TestGraceBoundsTheStop(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hang func(p *Component, forever <-chan struct{})
		want string
	}{
		"a Run that does not return": {
			func(p *Component, forever <-chan struct{}) {
				p.Run = func(context.Context) error { <-forever; return nil }
			},
			"stopping b: still running after 10s",
		},
		"a Stop that does not return": {
			func(p *Component, forever <-chan struct{}) {
				p.Stop = func(context.Context) error { <-forever; return nil }
			},
			"stopping b: not released after 10s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				forever := make(chan struct{})
				defer close(forever)
				var j journal
				p := j.component("b")
				tc.hang(&p, forever)
				took, err := ask(t, options(), j.component("a"), p)
				if err == nil || err.Error() != tc.want {
					t.Errorf("Run() = %v, want %s", err, tc.want)
				}
				if want := options().Grace + overtime; took != want {
					t.Errorf("the stop took %s, want %s", took, want)
				}
				j.wantLast(t, "run of a ends", "stop a")
			})
		})
	}
}

func TestReadinessFollowsTheDaemon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts := options()
		opts.Delay = 5 * time.Second
		var seen []string
		look := func() {
			if err := opts.Readiness.Err(t.Context()); err != nil {
				seen = append(seen, err.Error())
			} else {
				seen = append(seen, "ready")
			}
		}
		opts.OnReady = look
		watcher := Component{
			Name:  "watcher",
			Start: func(context.Context) error { look(); return nil },
			Run:   func(ctx context.Context) error { <-ctx.Done(); look(); return nil },
		}
		look()
		stop, err := ask(t, opts, watcher)
		if err != nil {
			t.Errorf("Run() = %v", err)
		}
		if stop != opts.Delay {
			t.Errorf("the stop took %s, want the delay of %s", stop, opts.Delay)
		}
		if diff := cmp.Diff([]string{"starting", "starting", "ready", "draining"}, seen); diff != "" {
			t.Errorf("readiness (-want +got):\n%s", diff)
		}
	})
}

func TestRunNeedsNoReadiness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts := options()
		opts.Readiness = nil
		var j journal
		if _, err := ask(t, opts, j.component("a")); err != nil {
			t.Errorf("Run() = %v", err)
		}
	})
}

func TestReadinessNamesEveryFailingCheck(t *testing.T) {
	t.Parallel()
	r := &Readiness{}
	r.set(stateReady)
	if err := r.Err(t.Context()); err != nil {
		t.Errorf("Err() without checks = %v", err)
	}
	r.AddCheck("kafka", func(context.Context) error { return nil })
	r.AddCheck("store", func(context.Context) error { return errBroken })
	r.AddCheck("clickhouse", func(ctx context.Context) error { return ctx.Err() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, want := r.Err(ctx).Error(), "store: broken\nclickhouse: context canceled"; got != want {
		t.Errorf("Err() = %q, want %q", got, want)
	}
	r.AddCheck("store", func(context.Context) error { return nil }) // another one of that name hides nothing
	if err := r.Err(t.Context()); err == nil || err.Error() != "store: broken" {
		t.Errorf("Err() = %v, want that of the first store", err)
	}
}

func TestListenNamesTheSettingInItsError(t *testing.T) {
	t.Parallel()
	ln, err := Listen(t.Context(), "127.0.0.1:0", "MILLRACE_X_LISTEN")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	taken := ln.Addr().String()
	for addr, want := range map[string]string{
		taken: taken + " is in use by another program; stop it or set MILLRACE_X_LISTEN to another address",
		"192.0.2.1:1": "cannot listen on 192.0.2.1:1 (cannot assign requested address); set MILLRACE_X_LISTEN " +
			"to another address",
		"127.0.0.1:999999": "set MILLRACE_X_LISTEN to another address",
	} {
		ln, err := Listen(t.Context(), addr, "MILLRACE_X_LISTEN")
		if err == nil {
			ln.Close()
			t.Errorf("Listen(%s) succeeded", addr)
			continue
		}
		if !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Listen(%s) = %q, want %q", addr, err, want)
		}
	}
}

func TestAwaitReturnsWhenEveryCheckPassesOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r Readiness
		joined := time.Now().Add(3 * time.Second)
		r.AddCheck("fine", func(context.Context) error { return nil })
		r.AddCheck("group", func(context.Context) error {
			if time.Now().Before(joined) {
				return errors.New("not joined")
			}
			return nil
		})
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Await(short); err == nil || !strings.Contains(err.Error(), "group: not joined") {
			t.Errorf("Await() of a second = %v, want the reason", err)
		}
		if err := r.Await(t.Context()); err != nil || time.Now().Before(joined) {
			t.Errorf("Await() = %v, %s before the check passes", err, time.Until(joined))
		}
	})
}
