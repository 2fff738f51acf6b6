package analytics

import "time"

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
