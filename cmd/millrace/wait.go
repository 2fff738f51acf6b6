package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/platform/lifecycle"
)

// waitFlag lets a command wait for servers as daemons do at their start.
type waitFlag struct{ atMost time.Duration }

func (w *waitFlag) add(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&w.atMost, "wait", 0,
		"wait this `DURATION` for unavailable servers, such as 2m; 0s fails at once")
}

// until returns when all servers answer or the time is up: whoever called it meets the
// same error then as without a wait. Its own error is one that no wait makes good.
func (w *waitFlag) until(cmd *cobra.Command, servers ...lifecycle.Server) error {
	if w.atMost <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), w.atMost)
	defer cancel()
	err := lifecycle.AwaitServers(ctx, logOf(cmd), &lifecycle.Readiness{}, servers...)
	if errors.Is(err, context.DeadlineExceeded) && cmd.Context().Err() == nil {
		return nil
	}
	return err
}

// timeLimit lets a command give up by itself, so that whoever started it, such as a job with a deadline, finds in its
// log what it was at.
type timeLimit struct{ atMost time.Duration }

func (l *timeLimit) add(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&l.atMost, "timeout", 0,
		"give up after this `DURATION`, including --wait, such as 1h; 0s means no limit")
}

// within does what a command does, whose context ends when the time is up.
func (l *timeLimit) within(cmd *cobra.Command, do func() error) error {
	if l.atMost <= 0 {
		return do()
	}
	over := fmt.Errorf("the --timeout of %s has passed", l.atMost)
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), l.atMost, over)
	defer cancel()
	cmd.SetContext(ctx)
	err := do()
	if err != nil && errors.Is(context.Cause(ctx), over) && !errors.Is(err, over) {
		return fmt.Errorf("%w: %w", over, err)
	}
	return err
}

// logOf is for what a person would wonder about meanwhile.
func logOf(cmd *cobra.Command) *slog.Logger {
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
}
