package lease

import (
	"context"
	"time"
)

// Passes are work that is done again and again.
type Passes struct {
	Every time.Duration // between two that went well
	Again time.Duration // after one that failed
	Pass  func(ctx context.Context) error
	// Failed is told why a pass failed, but for one that was cut off by its context's end.
	Failed func(ctx context.Context, err error)
}

// RunEvery is Run of work that consists of passes, the first of them at once.
func (l *Lease) RunEvery(ctx context.Context, p Passes) {
	l.Run(ctx, func(ctx context.Context) {
		for {
			pause := p.Every
			if err := p.Pass(ctx); err != nil && ctx.Err() == nil {
				pause = p.Again
				p.Failed(ctx, err)
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
		}
	})
}
