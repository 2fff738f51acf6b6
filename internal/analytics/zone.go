package analytics

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the same zones on every machine, with or without its own files
)

// ianaZones are the names of the time zones that Go's lib/time/zoneinfo.zip has, but for
// Factory, which is the zone of none: one a line and in order. Other files of the machine
// have no name here, such as its own zone and those with leap seconds.
//
//go:embed zones.txt
var ianaZones string

// zoneNames has those names.
var zoneNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.Lines(ianaZones) {
		names[strings.TrimSuffix(name, "\n")] = true
	}
	return names
})

// zones remembers the locations that were asked for.
var zones sync.Map // string → *time.Location

// LoadZone returns the IANA time zone of that name; UTC when it is empty. It is safe for
// concurrent use.
func LoadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if z, ok := zones.Load(name); ok {
		return z.(*time.Location), nil
	}
	if !zoneNames()[name] {
		return nil, fmt.Errorf("unknown time zone %.64q", name)
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
	with := func(at time.Time) time.Time {
		_, offset := at.Zone()
		return midnight.Add(-time.Duration(offset) * time.Second).In(zone)
	}
	start := with(noon)
	change, _ := noon.ZoneBounds()
	if change.IsZero() {
		return start
	}
	// Midnight may have come already with the offset before the last change.
	if before := with(change.Add(-time.Second)); before.Before(change) {
		return before
	}
	if start.Before(change) { // the change skipped midnight
		return change.In(zone)
	}
	return start
}
