package analytics

import (
	"fmt"
	"time"
)

// Granularity is the length of the buckets of a time series.
type Granularity uint8

// The granularities. The zero value leaves the choice to the default, Daily.
const (
	GranularityUnset Granularity = iota
	Hourly
	Daily
)

// The longest ranges, in days of the request's time zone, that may be cut into
// hours and into days.
const (
	MaxHourlyDays = 30
	MaxDailyDays  = MaxLimit
)

var (
	maxDays          = map[Granularity]int{Hourly: MaxHourlyDays, Daily: MaxDailyDays}
	granularityTitle = map[Granularity]string{Hourly: "Hourly", Daily: "Daily"}
)

// granularities are the accepted spellings; docs list them in this order.
var granularities = []struct {
	name  string
	value Granularity
}{
	{"hourly", Hourly}, {"daily", Daily}, {"hour", Hourly}, {"day", Daily},
}

func parseGranularity(s string) (Granularity, bool) {
	for _, g := range granularities {
		if g.name == s {
			return g.value, true
		}
	}
	return GranularityUnset, false
}

// Bucket is one step of a time series. It ends where the next one starts.
type Bucket struct {
	Start time.Time
	// Label is YYYY-MM-DD, or YYYY-MM-DD HH:00:00, in the range's zone. The hour
	// that is repeated when clocks go back has two buckets of one label.
	Label string
}

// Buckets cuts a range into the days or hours of its zone, in order. The first
// bucket starts with the range, even in the middle of a day or an hour.
func (r Range) Buckets(g Granularity) []Bucket {
	if g == Hourly {
		return r.hours()
	}
	return r.days()
}

func (r Range) days() []Bucket {
	var all []Bucket
	for t := r.Start.In(r.Zone); t.Before(r.End); {
		y, m, d := t.Date()
		all = append(all, Bucket{Start: t, Label: fmt.Sprintf("%04d-%02d-%02d", y, m, d)})
		next := startOfDay(y, m, d+1, r.Zone)
		for i := 2; !next.After(t); i++ { // a zone may skip a day
			next = startOfDay(y, m, d+i, r.Zone)
		}
		t = next
	}
	return all
}

func (r Range) hours() []Bucket {
	var all []Bucket
	for t := r.Start.In(r.Zone); t.Before(r.End); {
		y, m, d := t.Date()
		all = append(all, Bucket{Start: t, Label: fmt.Sprintf("%04d-%02d-%02d %02d:00:00", y, m, d, t.Hour())})
		_, minute, second := t.Clock()
		past := time.Duration(minute)*time.Minute + time.Duration(second)*time.Second + time.Duration(t.Nanosecond())
		next := t.Add(time.Hour - past)
		// A change of the clocks always ends a bucket, so that none has two labels.
		if _, change := t.ZoneBounds(); !change.IsZero() && change.Before(next) {
			next = change.In(r.Zone)
		}
		t = next
	}
	return all
}
