package analyticstest

import (
	"cmp"
	"math"
	"slices"
	"time"
)

func isNamed(name string) func(*Event) bool {
	return func(e *Event) bool { return name == "" || e.Name == name }
}

// periods returns the days on which periods of a range begin, and in which of them a
// time is. Weeks begin on Sunday.
func periods(q *Question) (labels []string, of func(time.Time) int) {
	name := func(t time.Time) string {
		t = t.In(q.Zone)
		switch cmp.Or(q.Options.Period, "week") {
		case "week":
			return t.AddDate(0, 0, -int(t.Weekday())).Format("2006-01-02")
		case "month":
			return t.Format("2006-01")
		}
		return t.Format("2006-01-02")
	}
	places := map[string]int{}
	for t := q.Start; t.Before(q.End); t = t.Add(15 * time.Minute) {
		if _, ok := places[name(t)]; !ok {
			places[name(t)] = len(labels)
			labels = append(labels, t.In(q.Zone).Format("2006-01-02"))
		}
	}
	return labels, func(t time.Time) int { return places[name(t)] }
}

func retention(events []Event, q *Question) []Row {
	labels, period := periods(q)
	activates, returns := isNamed(q.Options.Activation), isNamed(q.Options.Return)
	cohorts := make([][][]Event, len(labels)) // of all that its visitors did
	people, groups := group(events, personOf)
	for _, p := range people {
		first := len(labels)
		for _, e := range only(groups[p], activates) {
			first = min(first, period(e.Time))
		}
		if p != "" && first < len(labels) {
			cohorts[first] = append(cohorts[first], groups[p])
		}
	}
	var rows []Row
	for c, visitors := range cohorts {
		if len(visitors) == 0 {
			continue
		}
		for since := range len(labels) - c {
			still := 0
			for _, of := range visitors {
				if since == 0 || count(of, func(e *Event) bool { return returns(e) && period(e.Time) == c+since }) > 0 {
					still++
				}
			}
			rows = append(rows, Row{
				"cohort": labels[c], "period": float64(since), "cohort_size": float64(len(visitors)), "visitors": float64(still),
				"percentage": share(still, len(visitors)),
			})
		}
	}
	return rows
}

func profileRetention(events []Event, q *Question) []Row {
	until := q.Options.ObservationEnd
	if until.IsZero() {
		until = q.End
	}
	named := func(name string) func(*Event) bool { return func(e *Event) bool { return e.Name == name } }
	events = only(events, func(e *Event) bool {
		return e.ProfileID != "" && !e.Time.Before(q.Start) && e.Time.Before(until)
	})
	activated, eligible, retained := 0, 0, 0
	_, groups := group(events, func(e *Event) string { return e.ProfileID })
	for _, of := range groups {
		first := time.Time{}
		for _, e := range only(of, named(q.Options.Activation)) {
			if e.Time.Before(q.End) && (first.IsZero() || e.Time.Before(first)) {
				first = e.Time
			}
		}
		if first.IsZero() {
			continue
		}
		activated++
		due := first.Add(time.Duration(q.Options.HorizonDays) * 24 * time.Hour)
		if due.After(until) {
			continue
		}
		eligible++
		if count(only(of, named(q.Options.Return)),
			func(e *Event) bool { return e.Time.After(first) && !e.Time.After(due) }) > 0 {
			retained++
		}
	}
	if activated == 0 && len(q.GroupBy) > 0 { // not a group
		return nil
	}
	rate := 0.0
	if eligible > 0 {
		rate = share(retained, eligible)
	}
	return []Row{{
		"activated_profiles": float64(activated), "eligible_profiles": float64(eligible),
		"retained_profiles": float64(retained), "retention_rate": rate,
	}}
}

func percentiles(events []Event, q *Question) []Row {
	var numbers []float64
	sum := 0.0
	for i := range events {
		if v := jsonValue(members(events[i].Properties)[q.Options.Property]); v.numeric {
			numbers = append(numbers, v.number)
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		sum += n
	}
	asked := q.Options.Percentiles
	if asked == nil {
		asked = []float64{50, 75, 90, 95, 99}
	}
	var rows []Row
	for _, p := range slices.Compact(slices.Sorted(slices.Values(asked))) {
		place := p / 100 * float64(len(numbers)-1)
		low, high := numbers[int(math.Floor(place))], numbers[int(math.Ceil(place))]
		rows = append(rows, Row{
			"percentile": p, "value": round4(low + (place-math.Floor(place))*(high-low)), "count": float64(len(numbers)),
			"min": numbers[0], "max": numbers[len(numbers)-1], "avg": round4(sum / float64(len(numbers))),
		})
	}
	return rows
}
