package archtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNoProgramGoesWithoutALock(t *testing.T) {
	t.Parallel()
	packages, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	violations, err := CheckReplaced(root, packages)
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range violations {
		t.Error(violation)
	}
}

func TestWhatOnlyTestsReplaceIsFound(t *testing.T) {
	t.Parallel()
	const head = "package p\n\nimport sink \"" + Module + "/internal/app/sink\"\n" +
		"import \"" + Module + "/internal/adapter/kafka\"\n\n"
	for name, tc := range map[string]struct {
		folder, src string
		want        []string
	}{
		"a command":       {"cmd/sink", head + "var _ = sink.Build", []string{"sink.Build"}},
		"another app":     {"internal/app/standalone", head + "var _ = sink.Wiring{}", []string{"sink.Wiring"}},
		"other names":     {"cmd/sink", head + "var _ = sink.Parts", nil},
		"handed on":       {"internal/app/sink", head + "var _ kafka.Fence\n\nvar _ = Wiring{}", nil},
		"filled in":       {"internal/app/sink", head + "var _ = Wiring{Fence: nil}", []string{"Wiring"}},
		"somebody's own":  {"cmd/sink", "package p\n\nvar sink struct{ Build int }\n\nvar _ = sink.Build", nil},
		"somewhere else":  {"internal/app/edge", head + "var _ kafka.Fence", []string{"kafka.Fence"}},
		"not of the name": {"cmd/sink", "package p\n\nimport \"other/sink\"\n\nvar _ = sink.Build", nil},
	} {
		got, err := replacedIn(tc.folder, tc.src)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
