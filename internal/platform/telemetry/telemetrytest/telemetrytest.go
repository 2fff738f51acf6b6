// Package telemetrytest records spans for tests.
package telemetrytest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// Span is a span that has ended.
type Span struct {
	Name    string
	TraceID string // 32 hexadecimal digits
	Links   int
}

// Recorder keeps the spans of its Tracer.
type Recorder struct {
	Tracer trace.Tracer
	spans  *tracetest.SpanRecorder
}

// New returns an empty Recorder that samples what continues a sampled trace and nothing
// else.
func New(tb testing.TB) *Recorder {
	tb.Helper()
	return newRecorder(tb, sdktrace.NeverSample())
}

// Sampling returns an empty Recorder that samples every trace that begins, too.
func Sampling(tb testing.TB) *Recorder {
	tb.Helper()
	return newRecorder(tb, sdktrace.AlwaysSample())
}

// newRecorder returns a Recorder that samples traces that begin by a sampler.
func newRecorder(tb testing.TB, begun sdktrace.Sampler) *Recorder {
	tb.Helper()
	r := &Recorder{spans: tracetest.NewSpanRecorder()}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(r.spans), sdktrace.WithSampler(sdktrace.ParentBased(begun)),
	)
	tb.Cleanup(func() {
		if err := provider.Shutdown(context.WithoutCancel(tb.Context())); err != nil {
			tb.Error(err)
		}
	})
	r.Tracer = provider.Tracer("test")
	return r
}

// Ended returns the spans that have ended, in that order.
func (r *Recorder) Ended() []Span {
	var all []Span
	for _, s := range r.spans.Ended() {
		all = append(all, Span{Name: s.Name(), TraceID: s.SpanContext().TraceID().String(), Links: len(s.Links())})
	}
	return all
}

// Text is all that the spans say: their names, attributes, statuses and events.
func (r *Recorder) Text() string {
	var b strings.Builder
	for _, s := range r.spans.Ended() {
		fmt.Fprintln(&b, s.Name(), s.Attributes(), s.Status(), s.Events(), s.Links(), s.SpanContext().TraceState())
	}
	return b.String()
}
