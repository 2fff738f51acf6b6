package rpc

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/auth"
)

// A body that is wrong in every place costs what it takes to look at it, and not a sentence
// for each place: anybody may send one. The problems told are the first by their names.
func TestABodyThatIsWrongEverywhereCostsNoMoreToReject(t *testing.T) { //nolint:paralleltest // allocations are counted
	const many = 60_000
	type input struct {
		Names []string `json:"names,omitempty"`
	}
	things := Resource{Name: "things", Summary: "Things."}
	things.Operations = append(things.Operations, Op(
		Spec{Name: "enter", Summary: "Come in", Class: auth.Public, Audit: "thing.entered"},
		func(context.Context, *Call, *input) (*Empty, error) { return &Empty{}, nil }))
	doc, err := Describe(Info{Title: "Test", Version: "1"}, append([]Resource(nil), things))
	if err != nil {
		t.Fatal(err)
	}
	unknown, names, nuls := map[string]any{}, make([]any, many), make([]any, many)
	for i := range many {
		unknown[fmt.Sprintf("field%05d", i)] = 1.0
		names[i], nuls[i] = 1.0, "\x00"
	}
	for _, tc := range []struct {
		name  string
		body  map[string]any
		first string
		most  float64 // allocations for each place
	}{
		{"unknown fields", unknown, "field00000", 1},
		{"items of another type", map[string]any{"names": names}, "names[0]", 15},
		{"characters that cannot be stored", map[string]any{"names": nuls}, "names[0]", 7},
	} {
		var err error
		allocated := testing.AllocsPerRun(1, func() { _, err = check(doc.inputs["/rpc/things/enter"], tc.body, nil) })
		f := apierr.Of(err)
		if len(f.Details) != maxDetails || f.Details[0].Field != tc.first || !strings.Contains(f.Message, tc.first) {
			t.Errorf("%s: %d details, %q", tc.name, len(f.Details), f.Message)
		}
		if allocated > tc.most*many {
			t.Errorf("%s: %.0f allocations to refuse %d of them", tc.name, allocated, many)
		}
	}
}
