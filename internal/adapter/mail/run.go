package mail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// maxWaiting is how many mails wait at most, those to be tried again not counted;
// of these there are as many again.
const maxWaiting = 1000

// pauses are the times before a mail is tried again. After the last it is given
// up: what it holds is past soon.
var pauses = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute}

// drainTime is how long a stop goes on sending what waits.
const drainTime = 10 * time.Second

// waiting is a mail to be tried again.
type waiting struct {
	msg   *gomail.Msg
	tries int // so far
	due   time.Time
}

// Run sends mails until ctx ends, and then what waits, as long as the server
// takes it.
func (s *Sender) Run(ctx context.Context) error {
	var later []waiting // by due
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if len(later) > 0 {
			timer.Reset(time.Until(later[0].due))
		} else {
			timer.Stop()
		}
		select {
		case msg := <-s.queue:
			later = s.try(ctx, later, waiting{msg: msg})
		case <-timer.C:
			next := later[0]
			later = s.try(ctx, later[1:], next)
		case <-ctx.Done():
			s.drain(context.WithoutCancel(ctx), later)
			return nil
		}
	}
}

// try sends a mail, and returns those to be tried again.
func (s *Sender) try(ctx context.Context, later []waiting, w waiting) []waiting {
	err := s.deliver(ctx, w.msg)
	switch {
	case err == nil:
		s.metrics.mails.WithLabelValues(resultSent).Inc()
		return later
	case permanent(err):
		s.lost(ctx, resultRejected, err)
		return later
	case ctx.Err() == nil && (w.tries == len(pauses) || len(later) >= maxWaiting):
		s.lost(ctx, resultDropped, err)
		return later
	}
	w.due = time.Now().Add(pauses[min(w.tries, len(pauses)-1)])
	w.tries++
	i, _ := slices.BinarySearchFunc(later, w.due, func(w waiting, due time.Time) int { return w.due.Compare(due) })
	return slices.Insert(slices.Clone(later), i, w)
}

// drain sends each mail that waits once more.
func (s *Sender) drain(ctx context.Context, later []waiting) {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	for _, w := range later {
		s.last(ctx, w.msg)
	}
	for {
		select {
		case msg := <-s.queue:
			s.last(ctx, msg)
		default:
			return
		}
	}
}

func (s *Sender) last(ctx context.Context, msg *gomail.Msg) {
	if err := s.deliver(ctx, msg); err != nil {
		s.lost(ctx, resultDropped, err)
		return
	}
	s.metrics.mails.WithLabelValues(resultSent).Inc()
}

func (s *Sender) lost(ctx context.Context, result string, err error) {
	s.metrics.mails.WithLabelValues(result).Inc()
	s.deps.Log.LogAttrs(ctx, slog.LevelWarn, "mail not delivered, giving up", slog.String("error", withoutAddress(err)))
}

// permanent reports whether the server has rejected the mail for good. That it
// cannot be reached, or does not take our password, is not the mail's fault.
func permanent(err error) bool {
	e, ok := errors.AsType[*gomail.SendError](err)
	return ok && e.ErrorCode() >= 500
}

// withoutAddress describes a failure by the server's codes: its text may hold the
// recipient.
func withoutAddress(err error) string {
	e, ok := errors.AsType[*gomail.SendError](err)
	if !ok {
		return err.Error()
	}
	code := strings.TrimSpace(fmt.Sprintf("%d %s", e.ErrorCode(), e.EnhancedStatusCode()))
	return fmt.Sprintf("%s (SMTP %s)", e.Reason, code)
}
