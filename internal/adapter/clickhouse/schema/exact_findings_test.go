package schema

import (
	"errors"
	"testing"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
)

func TestWhatALookAtAllAddressesAmountsTo(t *testing.T) {
	t.Parallel()
	away, worse, apart := errors.New("away"), inexact("worse"), inexact("several servers")
	for name, tc := range map[string]struct {
		findings Findings
		want     error
	}{
		"no address":                    {nil, clickhouse.ErrNoAddress},
		"all well":                      {Findings{{"a", nil}, {"b", nil}, {"", nil}}, nil},
		"one is away":                   {Findings{{"a", nil}, {"b", away}}, nil},
		"one is away, and none is told": {Findings{{"a", nil}, {"b", away}, {"", away}}, away},
		"all are away":                  {Findings{{"a", away}, {"b", away}}, away},
		"one is inexact":                {Findings{{"a", away}, {"b", worse}}, worse},
		"together they are":             {Findings{{"a", nil}, {"b", nil}, {"", apart}}, apart},
	} {
		if got := tc.findings.Err(); !errors.Is(got, tc.want) || (got == nil) != (tc.want == nil) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
