package analytics

import (
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/timezone"
)

// Asked is a range as requests name one beside queries: two dates or instants, or
// a preset, in a zone.
type Asked struct{ Start, End, Preset, TimeZone string }

// Range resolves it as of now. It returns every problem found, with the fields
// called startDate, endDate, preset and timezone.
func (a *Asked) Range(now time.Time) (Range, []apierr.Detail) {
	zone, err := timezone.Load(a.TimeZone)
	if err != nil {
		return Range{}, []apierr.Detail{problem("timezone", "unknown_timezone", "Invalid timezone: "+echo(a.TimeZone),
			"Use an IANA name such as 'Europe/Berlin'")}
	}
	if a.Preset != "" {
		return a.preset(now, zone)
	}
	rng := Range{Zone: zone}
	var problems []apierr.Detail
	for _, bound := range []struct {
		to           *time.Time
		field, given string
		parse        func(string, *time.Location) (time.Time, bool)
	}{{&rng.Start, "startDate", a.Start, parseStart}, {&rng.End, "endDate", a.End, parseEnd}} {
		t, ok := bound.parse(bound.given, zone)
		switch {
		case bound.given == "":
			problems = append(problems, problem(bound.field, "required", "Either "+bound.field+" or preset is required", ""))
		case !ok:
			problems = append(problems,
				problem(bound.field, "invalid_date", "Invalid date: "+echo(bound.given)+". Could not parse as a valid date", ""))
		}
		*bound.to = t
	}
	if problems == nil && !rng.Start.Before(rng.End) {
		problems = append(problems, problem("endDate", "empty_range", "endDate must not be before startDate", ""))
	}
	return rng, problems
}

func (a *Asked) preset(now time.Time, zone *time.Location) (Range, []apierr.Detail) {
	rng, ok := PresetRange(a.Preset, now, zone)
	switch {
	case !ok:
		return rng,
			[]apierr.Detail{problem("preset", "unknown_preset", "Invalid date preset: "+echo(a.Preset), presetSuggestion())}
	case a.Start != "" || a.End != "":
		return rng, []apierr.Detail{problem("preset", "conflict", "preset must be absent if startDate or endDate is "+
			"present", "")}
	}
	return rng, nil
}
