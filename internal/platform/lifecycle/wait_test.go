package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/testkit"
)

var (
	errAway       = errors.New("connection refused")
	errUnprepared = errors.New("run the command")
	errNever      = errors.New("never")
)

// server answers with what is in it; nil means that all is well.
type server struct {
	says  atomic.Pointer[error]
	asked atomic.Int64
	last  atomic.Pointer[context.Context] // of the last question
}

func (s *server) say(err error) { s.says.Store(&err) }

func (s *server) named(name string) Server {
	return Server{
		Name: name, Unprepared: errUnprepared,
		Reach:    s.ask,
		Hopeless: func(err error) bool { return errors.Is(err, errNever) },
	}
}

func (s *server) ask(ctx context.Context) error {
	s.asked.Add(1)
	s.last.Store(&ctx)
	return *s.says.Load()
}

// waiting runs Await beside the test, in whose bubble of time it is.
type waiting struct {
	log       testkit.Log
	readiness Readiness
	ended     chan error
	stop      context.CancelFunc
}

func await(t *testing.T, servers ...Server) *waiting {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &waiting{ended: make(chan error, 1), stop: cancel}
	go func() {
		w.ended <- AwaitServers(ctx, slog.New(slog.NewTextHandler(&w.log, nil)), &w.readiness, servers...)
	}()
	synctest.Wait()
	return w
}

// result returns how it ended, which it has by now.
func (w *waiting) result(t *testing.T) error {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-w.ended:
		return err
	default:
		t.Fatal("it waits on")
		return nil
	}
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the clock of synctest
	synctest.Wait()
}

func TestAwaitNamesEveryServerThatIsAwayAndGoesOnWhenAllHaveCome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var one, other server
		one.say(errAway)
		other.say(errUnprepared)
		w := await(t, one.named("one"), other.named("other"))
		if got, want := w.readiness.Err(t.Context()).Error(),
			"starting\nwaiting for one: connection refused\nwaiting for other: run the command"; got != want {
			t.Errorf("readiness %q, want %q", got, want)
		}
		other.say(nil)
		pass(time.Second)
		if got, want := w.readiness.Err(t.Context()).Error(), "starting\nwaiting for one: connection refused"; got != want {
			t.Errorf("readiness %q, want %q", got, want)
		}
		pass(time.Hour) // away for long, and yet it is noticed soon that it has come
		one.say(nil)
		pass(5 * time.Second)
		if err := w.result(t); err != nil {
			t.Errorf("AwaitServers() = %v", err)
		}
		if got := w.readiness.Err(t.Context()).Error(); got != "starting" {
			t.Errorf("readiness %q after the wait", got)
		}
	})
}

func TestAWaitIsLoggedWhenItBeginsOrChangesAndOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s server
		s.say(errAway)
		w := await(t, s.named("the server"))
		lines := func() int { return strings.Count(w.log.String(), "server unavailable, waiting") }
		pass(tellAgain - longestPause)
		if lines() != 1 {
			t.Errorf("%d lines within a minute, want 1:\n%s", lines(), &w.log)
		}
		s.say(errUnprepared)
		pass(longestPause)
		if lines() != 2 || !strings.Contains(w.log.String(), "run the command") {
			t.Errorf("%d lines after the reason has changed, want 2:\n%s", lines(), &w.log)
		}
		pass(10 * tellAgain)
		if n := lines(); n < 11 || n > 12 {
			t.Errorf("%d lines after ten more minutes, want one a minute:\n%s", n, &w.log)
		}
		s.say(nil)
		pass(longestPause)
		if err := w.result(t); err != nil || !strings.Contains(w.log.String(), "server available") {
			t.Errorf("AwaitServers() = %v, the log:\n%s", err, &w.log)
		}
	})
}

func TestAServerThatIsThereIsNotWorthALine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s server
		s.say(nil)
		w := await(t, s.named("the server"))
		if err := w.result(t); err != nil || w.log.String() != "" {
			t.Errorf("AwaitServers() = %v, the log: %s", err, &w.log)
		}
	})
}

func TestWhatNoWaitMakesGoodEndsTheStart(t *testing.T) {
	t.Parallel()
	for kind, as := range map[string]func(Server) Server{
		"needed": func(s Server) Server { return s }, "spared": Server.Spared,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var away, rejecting server
				away.say(errAway)
				rejecting.say(errAway)
				if kind == "spared" {
					rejecting.say(errNever)
				}
				w := await(t, away.named("one"), as(rejecting.named("other")))
				rejecting.say(errNever)
				pass(longestPause)
				if got := w.result(t); !errors.Is(got, errNever) || !strings.HasPrefix(got.Error(), "other: ") {
					t.Errorf("AwaitServers() = %v, want %v", got, errNever)
				}
				if got := w.readiness.Err(t.Context()).Error(); !strings.Contains(got, "waiting for other: ") {
					t.Errorf("readiness %q, which no longer names what ended the start", got)
				}
			})
		})
	}
}

func TestNobodyWaitsForAServerThatIsSpared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s server
		s.say(errAway)
		w := await(t, s.named("the server").Spared())
		if err := w.result(t); err != nil || w.log.String() != "" {
			t.Errorf("AwaitServers() = %v, the log: %s", err, &w.log)
		}
	})
}

func TestAStopEndsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s server
		s.say(errAway)
		w := await(t, s.named("the server"))
		w.stop()
		if err := w.result(t); !errors.Is(err, context.Canceled) {
			t.Errorf("AwaitServers() = %v, want that it was interrupted", err)
		}
	})
}

// What is asked of a server that answers differs: daemons need it prepared, and whoever
// prepares it does not.
func TestAServerIsCheckedOnceItAnswers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name          string
		as            func(Server) Server
		reach, check  error
		waits, checks bool
	}{
		{"needed", func(s Server) Server { return s }, nil, errUnprepared, true, true},
		{"needed and away", func(s Server) Server { return s }, errAway, nil, true, false},
		{"needed and prepared", func(s Server) Server { return s }, nil, nil, false, true},
		{"answering", Server.Answering, nil, errUnprepared, false, false},
		{"answering not yet", Server.Answering, errAway, nil, true, false},
		{"spared", Server.Spared, nil, errUnprepared, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var reach, check server
				reach.say(tc.reach)
				check.say(tc.check)
				s := reach.named("the server")
				s.Check = check.ask
				w := await(t, tc.as(s))
				if checked := check.asked.Load() > 0; checked != tc.checks {
					t.Errorf("it was checked: %t, want %t", checked, tc.checks)
				}
				if got := w.readiness.Err(t.Context()).Error(); strings.Contains(got, "waiting for") != tc.waits {
					t.Errorf("readiness %q, want a wait: %t", got, tc.waits)
				}
				reach.say(nil)
				check.say(nil)
				pass(longestPause)
				if err := w.result(t); err != nil {
					t.Errorf("AwaitServers() = %v", err)
				}
			})
		})
	}
}

// Many daemons wait for one server, which is to come up under their questions: they ask
// ever more rarely, and a bit sooner than they might, not all at the same moment.
func TestQuestionsBecomeRarer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s server
		s.say(errAway)
		w := await(t, s.named("the server"))
		const passed = 10 * time.Minute
		pass(passed)
		if least, most, n := int64(passed/longestPause)*11/10, int64(passed/longestPause)*5/4+8, s.asked.Load(); n < least ||
			n > most {
			t.Errorf("%d questions within %s, want %d to %d", n, passed, least, most)
		}
		w.stop()
		synctest.Wait()
	})
}

func TestTheLogTellsOfWhomItWasWaitedAndForHowLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s server
		s.say(errAway)
		w := await(t, s.named("the server"))
		pass(90 * time.Second)
		s.say(nil)
		pass(longestPause)
		if err := w.result(t); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(w.log.String()) {
			_, line, _ = strings.Cut(line, " ") // the time
			got = append(got, strings.TrimSpace(line))
		}
		want := []string{
			`level=WARN msg="server unavailable, waiting" server="the server" error="connection refused" waited=0s$`,
			`level=WARN msg="server unavailable, waiting" server="the server" error="connection refused" waited=1m\ds$`,
			`level=INFO msg="server available" server="the server" after=1m3\d\.?\d*s$`,
		}
		if len(got) != len(want) {
			t.Fatalf("%d lines, want %d:\n%s", len(got), len(want), &w.log)
		}
		for i := range want {
			if !regexp.MustCompile("^" + want[i]).MatchString(got[i]) {
				t.Errorf("line %d is %s, want %s", i, got[i], want[i])
			}
		}
	})
}

// The question that a stop cuts short has an error of its own, which is nobody's fault.
func TestAStopInTheMiddleOfAQuestionIsNoReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := (&server{}).named("the server")
		s.Reach = func(ctx context.Context) error {
			<-ctx.Done()
			return errAway
		}
		w := await(t, s)
		w.stop()
		if err := w.result(t); !errors.Is(err, context.Canceled) || w.log.String() != "" {
			t.Errorf("AwaitServers() = %v, the log: %s", err, &w.log)
		}
	})
}

func TestThePartOfADaemonWaits(t *testing.T) {
	t.Parallel()
	var s server
	s.say(errNever)
	log := slog.New(slog.DiscardHandler)
	component := WaitComponent(log, &Readiness{}, s.named("the server"))
	if err := component.Start(t.Context()); !errors.Is(err, errNever) || component.Name != "servers" {
		t.Errorf("Start() of %q = %v, want %v", component.Name, err, errNever)
	}
	if err := (*s.last.Load()).Err(); err == nil {
		t.Error("the context of the questions goes on after the wait")
	}
	s.say(nil)
	if err := WaitComponent(log, &Readiness{}, s.named("the server")).Start(t.Context()); err != nil {
		t.Errorf("Start() = %v", err)
	}
	if err := (*s.last.Load()).Err(); err == nil {
		t.Error("the context of the questions goes on after the wait")
	}
}
