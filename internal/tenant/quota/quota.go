// Package quota limits how many events an organization may have stored in a
// month.
//
// Counted is what the sink stored, so a duplicate that it removed costs nothing;
// the month is that of receipt in UTC. One process of all counts, under a lease,
// and announces every decision that changes; edges hold the decisions in memory
// and reject the events of an organization whose month is used up, a few seconds
// after it was. Events that were accepted until then are kept: a quota is crossed
// by what arrives in these seconds.
//
// It promises that a decision of one month says nothing about another, that old
// change events do not bring a decision back, and that a quota which is raised is felt as
// soon as one that is crossed. It rejects nothing for lack of knowledge: while
// nobody counts, the last decisions stand.
//
// Where an external billing service decides instead, its word is asked for and
// remembered for a few seconds, and stands for five minutes when the service does
// not answer; after that events are rejected until it does.
package quota

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// ErrNotFound says that there is no such organization.
var ErrNotFound = errors.New("organization not found")

// The figures of quotas, in events a month.
const (
	// Default stands for the quota that the setting quota.default gives to all.
	Default int64 = -1
	// Unlimited is no quota.
	Unlimited int64 = 0
	// MaxEvents is the largest quota.
	MaxEvents int64 = 1_000_000_000_000
)

// CheckEvents returns a Validation error unless n is Default, Unlimited or a
// quota of at most MaxEvents.
func CheckEvents(n int64) error {
	if n < Default || n > MaxEvents {
		return apierr.Invalid("monthlyEvents", "out_of_range", fmt.Sprintf("a quota must be from 1 to %d events "+
			"a month", MaxEvents))
	}
	return nil
}

// Month is a calendar month in UTC, such as "2026-11"; empty for none.
type Month string

const monthLayout = "2006-01"

// MonthOf returns the month of an instant.
func MonthOf(t time.Time) Month { return Month(t.UTC().Format(monthLayout)) }

// ParseMonth reads a month, or returns a Validation error.
func ParseMonth(text string) (Month, error) {
	if _, err := time.Parse(monthLayout, text); err != nil {
		return "", apierr.Invalid("month", "invalid_value", "month must be a year and month such as 2026-11")
	}
	return Month(text), nil
}

// Bounds returns the first instant of the month and of the next one; both are
// zero for a text that is no month.
func (m Month) Bounds() (start, end time.Time) {
	start, err := time.Parse(monthLayout, string(m))
	if err != nil {
		return time.Time{}, time.Time{}
	}
	return start, start.AddDate(0, 1, 0)
}

// The shares of a quota, in percent, at which owners are told.
const (
	NoticeNear = 80
	NoticeFull = 100
)

// Quota is an organization's quota and what its month has come to.
type Quota struct {
	OrganizationID string
	// Own is what the operator has set for the organization, or Default.
	Own int64

	Month    Month // that was counted last; empty when none was
	Used     int64 // events of Month
	Exceeded bool  // the events of Month are used up
	// Noticed is what owners were told of Month: 0, NoticeNear or NoticeFull.
	Noticed int
	// Version grows with every decision that is announced: when Month is used up,
	// and when it no more is.
	Version   int64
	CountedAt time.Time // when Used was written
}

// Limit is the quota that holds, Unlimited for none.
func (q *Quota) Limit(byDefault int64) int64 {
	if q.Own == Default {
		return byDefault
	}
	return q.Own
}

// Outcome is what counting has brought about.
type Outcome struct {
	// Decided is set when edges must hear of it.
	Decided bool
	// Notice is what owners are to be told now: 0 for nothing, NoticeNear or
	// NoticeFull.
	Notice int
}

// Count takes over what was used in a month, under a limit. Used never falls
// within a month: what a replica that is behind has counted is too little.
func (q *Quota) Count(month Month, used, limit int64, now time.Time) Outcome {
	before := *q
	if q.Month != month {
		q.Month, q.Used, q.Noticed = month, 0, 0
	}
	q.Used, q.CountedAt = max(q.Used, used), now
	q.Exceeded = limit != Unlimited && q.Used >= limit
	level := 0
	switch {
	case q.Exceeded:
		level = NoticeFull
	case limit != Unlimited && float64(q.Used) >= float64(limit)*NoticeNear/100:
		level = NoticeNear
	}
	var o Outcome
	if level > q.Noticed {
		o.Notice = level
	}
	q.Noticed = level // less than before when the quota was raised
	if q.Exceeded != before.Exceeded || q.Exceeded && q.Month != before.Month {
		o.Decided = true
		q.Version++
	}
	return o
}

// decision is the state of a quota as it travels in control.v1.
type decision struct {
	Month    Month `json:"month"`
	Exceeded bool  `json:"exceeded"`
}

// State returns the decision as edges are told it.
func (q *Quota) State() string {
	text, _ := json.Marshal(decision{q.Month, q.Exceeded}) // nothing in it can fail
	return string(text)
}
