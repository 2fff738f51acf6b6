package sink

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/platform/lifecycle"
)

// runner is what runs until its context ends, and then finishes what it has in hand.
type runner struct {
	name string
	run  func(context.Context) error
}

var errEndedEarly = errors.New("ended unexpectedly")

// together runs all of them until the context ends. Then they finish side by side, so that
// the stop takes one sink.drain_budget however many pipelines there are. Where one ends by
// itself, the others finish too.
func together(ctx context.Context, all []runner) error {
	group, running := errgroup.WithContext(ctx)
	for _, r := range all {
		group.Go(func() error {
			err := r.run(running)
			if err == nil && running.Err() == nil {
				err = errEndedEarly
			}
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			return nil
		})
	}
	return group.Wait() //nolint:wrapcheck // names the runner already
}

// pipelinesComponent runs the pipelines.
func pipelinesComponent(all []running) lifecycle.Component {
	runners := make([]runner, len(all))
	for i := range all {
		runners[i] = runner{all[i].name + " lane", all[i].sink.Run}
	}
	return lifecycle.Component{
		Name: "lanes",
		Run:  func(ctx context.Context) error { return together(ctx, runners) },
		Stop: func(context.Context) error {
			var errs []error
			for i := range all {
				errs = append(errs, all[i].inserter.Close())
			}
			return errors.Join(errs...)
		},
	}
}
