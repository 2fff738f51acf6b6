package flageval

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheSegmentsThatRulesAskForAreFoundWithWhereTheyStand(t *testing.T) {
	t.Parallel()
	var d Definition
	if err := json.Unmarshal([]byte(`{"rules":[
		{"conditions":{"all":[{"attribute":"plan","op":"eq","values":["beta"]}]}},
		{"conditions":{"any":[{"all":[{"op":"inSegment","values":["beta","staff"]}]},{"op":"inSegment","values":["staff"],"negate":true}]}}],
		"environments":{"dev":{"rules":[{"conditions":{"all":[{"op":"inSegment","values":["dev"]}]}}]},"off":{"active":false}}}`), &d); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"beta": "rules[1].conditions.any[0].all[0].values[0]", "staff": "rules[1].conditions.any[0].all[0].values[1]",
		"dev": "environments.dev.rules[0].conditions.all[0].values[0]",
	}
	if diff := cmp.Diff(want, d.SegmentsAsked()); diff != "" {
		t.Errorf("SegmentsAsked() (-want +got):\n%s", diff)
	}
	if asked := (&Definition{}).SegmentsAsked(); len(asked) != 0 {
		t.Errorf("a flag without rules asks for %v", asked)
	}
}
