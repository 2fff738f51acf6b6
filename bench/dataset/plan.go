package dataset

import (
	"fmt"
	"math"
	"time"
)

// The shares of all rows: of the largest website in the last thirty days, and in the
// eleven months before; the others have the rest.
const (
	websites     = 200
	days         = 365
	recentDays   = 30
	recentShare  = 0.10
	earlierShare = 0.33
)

// blockRows is about how many rows of events a block has; a day is never split.
const blockRows = 400_000

// Beside the rows of events: one measurement for so many, and one error.
const (
	perVital = 20
	perError = 200
)

// weekdays say how busy a day is, from Sunday on.
var weekdays = [7]float64{0.75, 1.1, 1.15, 1.12, 1.1, 1, 0.78}

// plan says how many rows of events each website has on each day. Sums are exact.
type plan struct {
	rows  int
	first time.Time         // day
	busy  [days + 1]float64 // how busy the days before were
}

func newPlan(m *Manifest) *plan {
	p := &plan{rows: m.Rows, first: m.Until.AddDate(0, 0, -days)}
	for d := range days {
		p.busy[d+1] = p.busy[d] + weekdays[p.day(d).Weekday()]
	}
	return p
}

func (p *plan) day(n int) time.Time { return p.first.AddDate(0, 0, n) }

// part is the share of days from from to to-1 that lie before day d.
func (p *plan) part(d, from, to int) float64 {
	d = min(max(d, from), to)
	return (p.busy[d] - p.busy[from]) / (p.busy[to] - p.busy[from])
}

// before returns how many rows a website has before a day.
func (p *plan) before(website, d int) int {
	const split = days - recentDays
	all := float64(p.rows)
	if website == 0 {
		return int(math.Round(all * (earlierShare*p.part(d, 0, split) + recentShare*p.part(d, split, days))))
	}
	rest := all * (1 - recentShare - earlierShare) * p.part(d, 0, days)
	if website == 1 && d == days { // what rounding has left
		rows := p.rows - p.before(0, days)
		for other := 2; other < websites; other++ {
			rows -= p.before(other, days)
		}
		return rows
	}
	return int(rest * math.Log(float64(website+1)/float64(website)) / math.Log(websites))
}

// of returns how many rows a website has on a day.
func (p *plan) of(website, d int) int { return p.before(website, d+1) - p.before(website, d) }

// all returns how many rows there are before a day.
func (p *plan) all(d int) (rows int) {
	for w := range websites {
		rows += p.before(w, d)
	}
	return rows
}

// chunk are the days whose rows are one block, all of one month.
type chunk struct {
	from, to int // days
	rows     int
	first    int // rows before it
}

// name says which chunk it is.
func (c chunk) name(p *plan) string {
	return fmt.Sprintf("%s-%d", p.day(c.from).Format(time.DateOnly), c.to-c.from)
}

// chunks cuts the days into blocks.
func (p *plan) chunks() (all []chunk) {
	open := chunk{}
	for d := range days {
		rows := p.all(d+1) - p.all(d)
		if open.rows > 0 && (open.rows+rows > blockRows || p.day(d).Month() != p.day(open.from).Month()) {
			all = append(all, open)
			open = chunk{from: d, first: open.first + open.rows}
		}
		open.to, open.rows = d+1, open.rows+rows
	}
	return append(all, open)
}
