package mail

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	gomail "github.com/wneessen/go-mail"

	"github.com/millrace/millrace/internal/adapter/mail/mailtest"
	"github.com/millrace/millrace/internal/testkit"
)

func newSender(t *testing.T, addr string, log *slog.Logger) *Sender {
	t.Helper()
	s, err := New(Config{Addr: addr, TLS: "none", From: "Müllers Millrace <millrace@example.com>"},
		Deps{Log: log, Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a sender until the returned function is called.
func run(t *testing.T, s *Sender) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run() = %v", err)
		}
	}
}

func (s *Sender) count(result string) int {
	return int(testutil.ToFloat64(s.metrics.mails.WithLabelValues(result)))
}

func TestAMailArrivesAsItWasWritten(t *testing.T) {
	t.Parallel()
	server := mailtest.New(t)
	s := newSender(t, server.Addr, slog.New(slog.DiscardHandler))
	defer run(t, s)()
	const subject, text = "Invitation to Søren & “Ünï”", "Grüße,\n.\n\n    tok_en-123\n"
	if err := s.Send(t.Context(), "ann@example.com", subject, text); err != nil {
		t.Fatal(err)
	}
	m := server.Await(t, 1)
	if m.From != "millrace@example.com" || m.To != "ann@example.com" || m.Subject != subject ||
		strings.TrimRight(m.Text, "\n") != strings.TrimRight(text, "\n") {
		t.Errorf("the mail is %+v", m)
	}
	for header, want := range map[string]string{
		"To": "ann@example.com", "From": "millrace@example.com", "Auto-Submitted": "auto-generated",
		"Message-Id": "@example.com>", "Date": "+0",
	} {
		if !strings.Contains(m.Header.Get(header), want) {
			t.Errorf("%s: %q, want %q in it", header, m.Header.Get(header), want)
		}
	}
}

func TestNoAddressAndNoNameAddsAHeaderOrARecipient(t *testing.T) {
	t.Parallel()
	server := mailtest.New(t)
	s := newSender(t, server.Addr, slog.New(slog.DiscardHandler))
	for _, m := range []struct{ to, subject string }{
		{"ann@example.com\r\nBcc: bob@example.com", "x"},
		{"ann@example.com, bob@example.com", "x"},
		{"ann@example.com\nRCPT TO:<bob@example.com>", "x"},
		{"ann", "x"},
		{"", "x"},
		{"ann@example.com", "x\r\nBcc: bob@example.com"},
		{"ann@example.com", "x\nBcc: bob@example.com"},
	} {
		if err := s.Send(t.Context(), m.to, m.subject, "text"); err == nil {
			t.Errorf("Send(%q, %q) succeeded", m.to, m.subject)
		} else if strings.Contains(err.Error(), "bob@") {
			t.Errorf("Send(%q) = %q: it shows the address", m.to, err)
		}
	}
	if err := s.Send(t.Context(), "ann@example.com", "x", "Bcc: bob@example.com\n\n.\nMAIL FROM:<a@b.c>\n"); err != nil {
		t.Fatal(err)
	}
	defer run(t, s)()
	server.Await(t, 1)
	if server.Tried() != 1 {
		t.Errorf("%d recipients, want 1", server.Tried())
	}
}

func TestAMailThatIsRejectedForGoodIsGivenUpAndTheLogNamesNobody(t *testing.T) {
	t.Parallel()
	server := mailtest.New(t)
	server.Reject("550 5.1.1 <ann@example.com> does not live here")
	var text bytes.Buffer
	s := newSender(t, server.Addr, slog.New(slog.NewTextHandler(&text, nil)))
	stop := run(t, s)
	if err := s.Send(t.Context(), "ann@example.com", "subject", "body"); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 30*time.Second, func() error {
		if s.count(resultRejected) == 0 {
			return errors.New("no mail was refused yet")
		}
		return nil
	})
	stop()
	if server.Tried() != 1 || !strings.Contains(text.String(), "550 5.1.1") || strings.Contains(text.String(), "ann") ||
		strings.Contains(text.String(), "body") {
		t.Errorf("tried %d times; the log is %s", server.Tried(), text.String())
	}
}

// fakeServer replaces the network, so that time can be the test's.
type fakeServer struct {
	fail func(try int) error
	at   []time.Duration // when something was tried
}

func (f *fakeServer) put(s *Sender) {
	start := time.Now()
	s.deliver = func(context.Context, *gomail.Msg) error {
		f.at = append(f.at, time.Since(start))
		return f.fail(len(f.at))
	}
}

var errAway = errors.New("connection refused")

func TestAMailIsTriedAgainForMinutesWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		failures int
		want     []time.Duration
		result   string
	}{
		"until it comes back": {2, []time.Duration{0, 5 * time.Second, 35 * time.Second}, resultSent},
		"and then no more": {100, []time.Duration{
			0, 5 * time.Second, 35 * time.Second, 155 * time.Second, 455 * time.Second, 1055 * time.Second,
		}, resultDropped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSender(t, "mail.example:25", slog.New(slog.DiscardHandler))
				f := fakeServer{fail: func(try int) error {
					if try <= tc.failures {
						return errAway
					}
					return nil
				}}
				f.put(s)
				stop := run(t, s)
				if err := s.Send(t.Context(), "ann@example.com", "x", "y"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour) //nolint:forbidigo // of the test's own time
				stop()
				if len(f.at) != len(tc.want) || s.count(tc.result) != 1 {
					t.Fatalf("tried at %v, want %v; %d %s", f.at, tc.want, s.count(tc.result), tc.result)
				}
				for i := range tc.want {
					if f.at[i] != tc.want[i] {
						t.Errorf("tried at %v, want %v", f.at, tc.want)
					}
				}
			})
		})
	}
}

func TestAMailThatWaitsKeepsNoOtherFromBeingSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSender(t, "mail.example:25", slog.New(slog.DiscardHandler))
		f := fakeServer{fail: func(try int) error {
			if try == 1 {
				return errAway
			}
			return nil
		}}
		f.put(s)
		stop := run(t, s)
		for range 2 {
			if err := s.Send(t.Context(), "ann@example.com", "x", "y"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if len(f.at) != 2 || s.count(resultSent) != 1 {
			t.Errorf("tried at %v, %d sent", f.at, s.count(resultSent))
		}
		stop() // tries the one that waits once more
		if len(f.at) != 3 || s.count(resultSent) != 2 {
			t.Errorf("after the stop: tried at %v, %d sent", f.at, s.count(resultSent))
		}
	})
}

func TestMoreMailsThanMayWaitAreRejected(t *testing.T) {
	t.Parallel()
	s := newSender(t, "mail.example:25", slog.New(slog.DiscardHandler))
	for i := range maxWaiting + 1 {
		if err := s.Send(t.Context(), "ann@example.com", "x", "y"); (err == nil) != (i < maxWaiting) {
			t.Fatalf("mail %d: %v", i+1, err)
		}
	}
	if s.count(resultDropped) != 1 {
		t.Errorf("%d dropped", s.count(resultDropped))
	}
}

func TestASenderWithoutAnAddressIsRejected(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{
		{Addr: "h:25", From: "nobody"},
		{Addr: "h", From: "a@b.example"},
		{Addr: "h:smtp", From: "a@b.example"},
	} {
		if _, err := New(cfg, Deps{Metrics: prometheus.NewRegistry()}); err == nil {
			t.Errorf("New(%+v) succeeded", cfg)
		}
	}
}
