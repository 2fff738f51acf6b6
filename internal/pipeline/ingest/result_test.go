package ingest

import (
	"testing"

	"github.com/millrace/millrace/internal/contract/event"
)

// Each of them breaks two rules, and of half as many problems nobody is told.
func TestEveryEventOfAnUnknownTypeIsSaidToBeOfOne(t *testing.T) {
	t.Parallel()
	req := request("global", "web_1", repeated(`{"type":"x"}`, event.MaxRejected))
	req.Route = Batch
	got, err := (&world{}).acceptor().Accept(t.Context(), req)
	if err != nil || len(got.Items) != event.MaxRejected {
		t.Fatalf("%d items, %v", len(got.Items), err)
	}
	for i := range got.Items {
		if it := &got.Items[i]; it.Outcome != UnknownType || it.Type != "x" {
			t.Fatalf("event %d of type %q: outcome %d, want %d", i, it.Type, it.Outcome, UnknownType)
		}
	}
}
