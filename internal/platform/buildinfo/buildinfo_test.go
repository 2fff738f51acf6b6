package buildinfo

import (
	"runtime/debug"
	"testing"
)

func TestVersionIsNeverEmpty(t *testing.T) {
	t.Parallel()
	if Version() == "" {
		t.Error("Version() is empty")
	}
}

func TestVersionOfAPlainBuildNamesItsCommit(t *testing.T) {
	t.Parallel()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, tc := range []struct {
		name     string
		settings []debug.BuildSetting
		want     string
	}{
		{"nothing recorded", nil, "dev"},
		{
			"clean tree",
			[]debug.BuildSetting{{Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: "false"}},
			"dev-0123456789ab",
		},
		{
			"changed tree",
			[]debug.BuildSetting{{Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: "true"}},
			"dev-0123456789ab-dirty",
		},
		{"short revision", []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}, "dev-abc"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := fromSettings(tc.settings); got != tc.want {
				t.Errorf("fromSettings() = %q, want %q", got, tc.want)
			}
		})
	}
}
