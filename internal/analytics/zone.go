package analytics

import (
	"fmt"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the same zones on every machine, with or without its own files
)

// MaxZoneLen is the longest name of a time zone that is looked up, in bytes.
const MaxZoneLen = 64

// zones remembers the locations that exist; there are about 600.
var zones sync.Map // string → *time.Location

// LoadZone returns the IANA time zone of that name; UTC when it is empty. The
// machine's own zone has no name here.
func LoadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if z, ok := zones.Load(name); ok {
		return z.(*time.Location), nil //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	if len(name) > MaxZoneLen || strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("unknown time zone %.*q", MaxZoneLen, name)
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q: %w", name, err)
	}
	zones.Store(name, z)
	return z, nil
}

// startOfDay returns the first instant of a calendar day in a zone. It is not
// always midnight: where clocks go forward at midnight, the day begins later; and
// a day that a zone skipped begins where the next one does.
func startOfDay(y int, m time.Month, d int, zone *time.Location) time.Time {
	midnight := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	noon := time.Date(y, m, d, 12, 0, 0, 0, zone)
	_, offset := noon.Zone()
	start := midnight.Add(-time.Duration(offset) * time.Second)
	change, _ := noon.ZoneBounds()
	if change.IsZero() || !change.After(start) {
		return start.In(zone)
	}
	// The clocks changed between midnight and noon, so midnight is read with the
	// offset before the change, if it came to that.
	_, offset = change.Add(-time.Second).Zone()
	if before := midnight.Add(-time.Duration(offset) * time.Second); before.Before(change) {
		return before.In(zone)
	}
	return change.In(zone)
}
