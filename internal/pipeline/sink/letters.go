package sink

import "time"

const (
	// letterSpan is over how long the share of dead letters is looked at.
	letterSpan = time.Minute
	// fewLetters are never too many, whatever their share: a partition with little
	// traffic is not stopped by a handful.
	fewLetters = 100
)

// letterMeter watches how many of a partition's records become dead letters. When
// it is more than a share of them for a minute, something is wrong with the
// writers or with this build, and to go on would empty the topic into another.
type letterMeter struct {
	limit            float64
	since            time.Time
	records, letters int
}

// tooMany notes a range and reports whether the limit was passed by the last
// minute's records. After a pause these are those before it: a source that sends nothing but
// now and then is judged too.
func (m *letterMeter) tooMany(records, letters int, now time.Time) bool {
	before := false
	if m.since.IsZero() || now.Sub(m.since) >= 2*letterSpan {
		before = m.over()
		*m = letterMeter{limit: m.limit, since: now}
	}
	m.records += records
	m.letters += letters
	if now.Sub(m.since) < letterSpan {
		return before
	}
	over := m.over()
	*m = letterMeter{limit: m.limit, since: now}
	return over
}

func (m *letterMeter) over() bool {
	return m.letters >= fewLetters && float64(m.letters) > m.limit*float64(m.records)
}
