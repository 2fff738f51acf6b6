package analytics_test

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/contract/apierr"
)

// The work is that of the depth at which it ends, not that of the depth squared, which
// these allocations stand for.
func TestADeepBodyCostsNoMoreThanTheDepthThatIsTaken(t *testing.T) { //nolint:paralleltest // it counts allocations
	for name, open := range map[string]string{"arrays": "[", "objects": `{"a":`} {
		body := []byte(strings.Repeat(open, 10_000))
		allocations := testing.AllocsPerRun(1, func() {
			if _, err := analytics.Parse(body); !apierr.Is(err, apierr.Parse) {
				t.Errorf("%s: %v", name, err)
			}
		})
		if allocations > 10_000 { // 300 deep it takes some 2,000, and more where a pool is empty
			t.Errorf("%s: %.0f allocations", name, allocations)
		}
	}
}

func TestABodyIsNestedThreeHundredDeepAtMost(t *testing.T) {
	t.Parallel()
	for depth, want := range map[int]bool{300: true, 301: false} {
		_, err := analytics.Parse([]byte(strings.Repeat("[", depth) + strings.Repeat("]", depth)))
		if (err == nil) != want {
			t.Errorf("%d deep: %v", depth, err)
		}
	}
}
