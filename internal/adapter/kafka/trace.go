package kafka

import (
	"bytes"
	"context"
	"slices"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// startSend begins the span of a publication. Its records carry the context of the
// request, so that one look at them tells whether there is anything to trace; to
// ask the context would cost every request an allocation.
func startSend(ctx context.Context, recs []record.Record) (context.Context, trace.Span) {
	if !traced(&recs[0]) {
		return ctx, trace.SpanFromContext(context.Background())
	}
	topic := recs[0].Topic
	return telemetry.StartChild(ctx, "send "+topic, func() []trace.SpanStartOption {
		return []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
			semconv.MessagingSystemKafka, semconv.MessagingOperationName("send"), semconv.MessagingOperationTypeSend,
			semconv.MessagingDestinationName(topic), semconv.MessagingBatchMessageCount(len(recs)),
		)}
	})
}

func traced(r *record.Record) bool {
	for _, h := range slices.Backward(r.Headers) {
		if h.Key == record.HeaderTraceparent {
			return !bytes.HasSuffix(h.Value, []byte("-00"))
		}
	}
	return false
}
