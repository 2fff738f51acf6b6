// Package buildinfo says which build of millrace is running.
//
// It promises an answer from any build, a plain `go build` among them; it holds
// nothing that an operator could set.
package buildinfo

import "runtime/debug"

// version is set by the linker for releases:
// -X github.com/millrace/millrace/internal/platform/buildinfo.version=v1.2.3.
var version string

// Version returns the release, such as "v1.2.3"; for a build without one "dev",
// followed by the commit where the Go tool recorded it: "dev-1a2b3c4d5e6f", with
// "-dirty" behind it when the tree had changes.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	return fromSettings(info.Settings)
}

func fromSettings(settings []debug.BuildSetting) string {
	const commitLen = 12
	v, dirty := "dev", ""
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			v += "-" + s.Value[:min(commitLen, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "-dirty"
			}
		}
	}
	return v + dirty
}
