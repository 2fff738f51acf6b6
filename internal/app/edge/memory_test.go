package edge

import (
	"testing"

	"github.com/millrace/millrace/internal/platform/config"
)

// What is allowed and not counted would have the collector run all the time once it is used.
func TestTheHeapHasRoomForAllThatTheSettingsAllow(t *testing.T) {
	t.Parallel()
	s := config.Default()
	s.Link.Listen = ""
	const program, late = 40 << 20, 45 << 20 // beside the heap: see besides
	if most := memoryFor(&s) + program + late; most > 256<<20 {
		t.Errorf("by default an edge may occupy %d MB, and 256 are promised", most>>20)
	}
	const more = 10 << 20
	for name, change := range map[string]func(*config.Settings){
		"requests": func(s *config.Settings) { s.Ingest.MaxMemory += more },
		"callers":  func(s *config.Settings) { s.Limits.Memory += more },
		"clicks":   func(s *config.Settings) { s.Link.MaxBufferedBytes += more },
	} {
		changed := config.Default()
		changed.Link.Listen = "127.0.0.1:0"
		before := memoryFor(&changed)
		change(&changed)
		if got := memoryFor(&changed) - before; got != more {
			t.Errorf("%s: %d bytes more, want %d", name, got, more)
		}
	}
}
