package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/millrace/millrace/internal/platform/config"
)

type requestIDKey struct{}

// ContextWithRequestID returns a context whose log records carry the request id.
func ContextWithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// newHandler returns the handler of a daemon's log and the sampler inside it.
func newHandler(cfg config.Log, w io.Writer) (slog.Handler, *sampler, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Level)); err != nil {
		return nil, nil, fmt.Errorf("log.level: %w", err)
	}
	opts := &slog.HandlerOptions{Level: level}
	var out slog.Handler
	switch cfg.Format {
	case "json":
		out = slog.NewJSONHandler(w, opts)
	case "text":
		out = slog.NewTextHandler(w, opts)
	default:
		return nil, nil, fmt.Errorf("log.format must be json or text, not %q", cfg.Format)
	}
	s := newSampler(out)
	return &samplingHandler{next: &contextHandler{root: out, next: out}, sampler: s}, s, nil
}

// contextHandler adds request_id and trace_id from the context to each record,
// outside of any group.
type contextHandler struct {
	root slog.Handler                      // as it was before the first group
	next slog.Handler                      // root with steps applied
	then []func(slog.Handler) slog.Handler // from the first group on
}

// Enabled implements slog.Handler.
func (h *contextHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.next.Enabled(ctx, l)
}

// Handle implements slog.Handler.
func (h *contextHandler) Handle(ctx context.Context, r slog.Record) error {
	attrs := contextAttrs(ctx)
	if len(attrs) == 0 {
		return h.next.Handle(ctx, r)
	}
	next := h.root.WithAttrs(attrs)
	for _, step := range h.then {
		next = step(next)
	}
	return next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *contextHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.with(func(n slog.Handler) slog.Handler { return n.WithAttrs(attrs) }, false)
}

// WithGroup implements slog.Handler.
func (h *contextHandler) WithGroup(name string) slog.Handler {
	return h.with(func(n slog.Handler) slog.Handler { return n.WithGroup(name) }, true)
}

func (h *contextHandler) with(step func(slog.Handler) slog.Handler, group bool) slog.Handler {
	next := &contextHandler{root: h.root, next: step(h.next), then: h.then}
	if group || len(h.then) > 0 {
		next.then = append(slices.Clone(h.then), step)
	} else {
		next.root = next.next
	}
	return next
}

func contextAttrs(ctx context.Context) []slog.Attr {
	var attrs []slog.Attr
	if id, ok := ctx.Value(requestIDKey{}).(string); ok && id != "" {
		attrs = append(attrs, slog.String("request_id", id))
	}
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		attrs = append(attrs, slog.String("trace_id", sc.TraceID().String()))
	}
	return attrs
}
