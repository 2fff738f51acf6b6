package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	burst         = 20               // identical records written in one interval
	burstInterval = 10 * time.Second // after the first of them
	maxBursts     = 1024             // messages followed at the same time
)

// sampler counts warnings and errors that repeat. Two records are the same when
// their level and message are: messages are constants, so there are few.
type sampler struct {
	out slog.Handler

	mu     sync.Mutex
	bursts map[burstKey]*burstState
}

type burstKey struct {
	level   slog.Level
	message string
}

type burstState struct {
	start      time.Time
	written    int
	suppressed int
}

func newSampler(out slog.Handler) *sampler {
	return &sampler{out: out, bursts: map[burstKey]*burstState{}}
}

// allow reports whether a record may be written, and how many like it were held
// back since the last one that was.
func (s *sampler) allow(r slog.Record) (ok bool, suppressed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := burstKey{r.Level, r.Message}
	b := s.bursts[key]
	switch {
	case b == nil && len(s.bursts) >= maxBursts:
		return true, 0
	case b == nil:
		b = &burstState{start: r.Time}
		s.bursts[key] = b
	case r.Time.Sub(b.start) >= burstInterval:
		suppressed = b.suppressed
		*b = burstState{start: r.Time}
	}
	if b.written == burst {
		b.suppressed++
		return false, 0
	}
	b.written++
	return true, suppressed
}

// flush writes one record for each message of which some were held back.
func (s *sampler) flush(ctx context.Context) {
	if s == nil {
		return
	}
	s.mu.Lock()
	held := s.bursts
	s.bursts = map[burstKey]*burstState{}
	s.mu.Unlock()
	for key, b := range held {
		if b.suppressed == 0 {
			continue
		}
		r := slog.NewRecord(time.Now(), key.level, key.message, 0)
		r.AddAttrs(slog.Int("suppressed", b.suppressed))
		_ = s.out.Handle(ctx, r) // the log has nobody to tell
	}
}

// samplingHandler writes the first records of a burst; the next one after the
// interval carries the number held back as "suppressed".
type samplingHandler struct {
	next    slog.Handler
	sampler *sampler
}

// Enabled implements slog.Handler.
func (h *samplingHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.next.Enabled(ctx, l)
}

// Handle implements slog.Handler.
func (h *samplingHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return h.next.Handle(ctx, r)
	}
	ok, suppressed := h.sampler.allow(r)
	if !ok {
		return nil
	}
	if suppressed > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("suppressed", suppressed))
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *samplingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &samplingHandler{next: h.next.WithAttrs(attrs), sampler: h.sampler}
}

// WithGroup implements slog.Handler.
func (h *samplingHandler) WithGroup(name string) slog.Handler {
	return &samplingHandler{next: h.next.WithGroup(name), sampler: h.sampler}
}
