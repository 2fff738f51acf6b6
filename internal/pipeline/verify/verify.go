package verify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// Topic reads event topics, as a member of no group.
type Topic interface {
	repair.Log
	// Members and Committed are those of repair.Groups.
	Members(ctx context.Context, group string) ([]string, error)
	Committed(ctx context.Context, group, topic string) (map[int32]repair.Committed, error)
	// Records gives the records [from, to) of a partition to do, in order. What
	// they point to is only valid during the call.
	Records(ctx context.Context, topic string, partition int32, from, to int64, do func(*Record) error) error
	// Letters gives each dead letter of a topic to do that was written since a time
	// in Unix milliseconds. What it points to is only valid during the call.
	Letters(ctx context.Context, topic string, since int64, do func(*Letter)) error
}

// Letter is a dead letter of a record of an event topic.
type Letter struct {
	Partition int32
	Offset    int64 // of the record
	// Hash is the record's; zero where no window has seen the record, since its headers
	// could not be read.
	Hash     record.Hash
	Received int64 // when the record was, in Unix milliseconds
}

// Record is one record of an event topic.
type Record struct {
	Offset int64
	Key    []byte // the owner
	Value  []byte
	Time   int64       // of receipt, in Unix milliseconds
	Hash   record.Hash // zero where the header is missing
	// Replayed is true of a dead letter that was sent again: its event is to be stored,
	// though a dead letter of it is there.
	Replayed bool
}

// Base answers about what was stored.
type Base interface {
	Events
	Rollups
}

// Events answers about the tables that records are stored in.
type Events interface {
	// Table names the table that the records of a topic are stored in.
	Table(topic string) string
	// Rows gives the rows to do that name the range of a partition, on the days.
	Rows(ctx context.Context, r Range, days []int32, do func(*Row)) error
	// Known returns those of the keys that the table has, on whatever day.
	Known(ctx context.Context, table string, keys []Key) ([]Key, error)
	// Strays gives rows to do that no range accounts for by itself, see StrayQuery.
	Strays(ctx context.Context, q *StrayQuery, do func(*Row)) error
	// Visible reports for each row whether it is there when read with FINAL.
	Visible(ctx context.Context, table string, rows []Row) ([]bool, error)
	// Exclusions returns what was deleted on purpose.
	Exclusions(ctx context.Context) ([]Exclusion, error)
	// Erased returns the tombstones: records that they cover are not stored.
	Erased(ctx context.Context) (*tombstone.Set, error)
}

// Rollups compares the rollups with the tables that they are made of, read with
// FINAL.
type Rollups interface {
	// DifferingOn returns the owners' days among the UTC days for which a rollup
	// answers otherwise than the base.
	DifferingOn(ctx context.Context, day int32) ([]ledger.Touched, error)
	// Differing and Count are those of ledger.Rollups.
	Differing(ctx context.Context, pairs []ledger.Touched) ([]ledger.Touched, error)
	Count(ctx context.Context, topic string, pairs []ledger.Touched) ([]ledger.Counts, error)
}

// Range is a part of a partition: the offsets [From, To).
type Range struct {
	Topic     string
	Partition int32
	From, To  int64
}

// Row is one row of the base.
type Row struct {
	Owner     string
	Day       int32 // event_date, days since 1970-01-01
	Name      string
	EventKey  uint64
	Topic     string
	Partition int32
	Offset    int64
	Received  int64 // Unix milliseconds
}

// Key is an event as the base identifies it within an owner; Day is where to look
// first.
type Key struct {
	Owner    string
	Day      int32
	EventKey uint64
}

// StrayQuery says which rows of a table are strays: those within the ranges but on none of
// their common days; those of the topics that are in none of the ranges and say
// that they were received in the time, or say no sensible time; and those that
// name no topic of ours, and by any time are within it or say none.
type StrayQuery struct {
	Table  string
	Ranges []Range
	// Common are the days on which all rows within the ranges were looked at.
	Common []int32
	// Topics are those that are verified, Known all that rows may name.
	Topics, Known []string
	// Since and Until are in Unix milliseconds.
	Since, Until int64
}

// Exclusion says that rows of an owner were deleted on purpose, from one day to
// another, both included. An empty owner is everybody.
type Exclusion struct {
	Owner    string
	From, To int32
}

// Options say what is verified.
type Options struct {
	Pipelines []repair.Pipeline
	// Known are all topics that rows may name.
	Known []string
	// Since and Until bound the time of receipt.
	Since, Until time.Time
	// Window is for how long, in time of receipt, sinks know an event again.
	Window time.Duration
	// Settle is how far apart two looks at a day's rollups are while sinks run.
	Settle time.Duration
	// Examples is how many differences are shown of each kind.
	Examples int
	// SliceRecords is how many records are in memory at a time.
	SliceRecords int64
}

// sliceRecords are about 60 MB.
const sliceRecords = 500_000

// Run compares. Its report says whether there are differences.
func Run(ctx context.Context, topic Topic, base Base, o Options) (*Report, error) {
	if o.SliceRecords <= 0 {
		o.SliceRecords = sliceRecords
	}
	v := &verifier{
		topic: topic, base: base, o: o, report: newReport(o), missing: map[told]struct{}{},
		pairs: map[ledger.Touched]struct{}{}, repeats: map[record.Hash]observation{},
	}
	var err error
	if v.exclusions, err = base.Exclusions(ctx); err != nil {
		return nil, err
	}
	if v.erased, err = base.Erased(ctx); err != nil {
		return nil, err
	}
	for _, l := range o.Pipelines {
		if err := v.pipeline(ctx, l); err != nil {
			return nil, err
		}
	}
	if err := v.strays(ctx); err != nil {
		return nil, err
	}
	if err := v.rollups(ctx); err != nil {
		return nil, err
	}
	v.report.finish()
	return v.report, nil
}

// verifier is one run.
type verifier struct {
	topic Topic
	base  Base
	o     Options

	report     *Report
	exclusions []Exclusion
	erased     *tombstone.Set
	scanned    []scanned
	suspects   []suspect                   // of the topic that is read
	missing    map[told]struct{}           // events that are; up to maxTold
	repeats    map[record.Hash]observation // the last copies of dead letters, of the topic; up to maxTold
	pairs      map[ledger.Touched]struct{}
	running    bool // a sink is there
}

// told is an event that is missing in a table.
type told struct {
	table string
	Key
}

// scanned is a range that was read, in its slices.
type scanned struct {
	Range

	start    int64 // of the log, when it was read
	settled  int64 // the committed offset, then
	end      int64 // of the log, as last seen
	received int64 // when the first record was; 0 without one
	slices   []sliced
}

type sliced struct {
	to   int64
	days []int32
}

// pipeline verifies the partitions of a topic one after the other.
func (v *verifier) pipeline(ctx context.Context, l repair.Pipeline) error {
	members, err := v.topic.Members(ctx, l.Group)
	if err != nil {
		return err
	}
	v.running = v.running || len(members) > 0
	committed, err := v.topic.Committed(ctx, l.Group, l.Topic)
	if err != nil {
		return err
	}
	_, bounds, err := v.topic.Describe(ctx, l.Topic)
	if err != nil {
		return err
	}
	from, err := v.topic.After(ctx, l.Topic, v.o.Since.UnixMilli())
	if err != nil {
		return err
	}
	to, err := v.topic.After(ctx, l.Topic, v.o.Until.UnixMilli())
	if err != nil {
		return err
	}
	for _, p := range slices.Sorted(maps.Keys(bounds)) {
		r := Range{Topic: l.Topic, Partition: p, From: max(from[p], bounds[p].Start)}
		c, settled := committed[p]
		if settled {
			v.unsettled(Range{l.Topic, p, max(r.From, c.Offset), to[p]})
		} else {
			v.uncommitted(Range{l.Topic, p, r.From, to[p]}, l.Group)
		}
		r.To = max(r.From, min(to[p], c.Offset))
		if err := v.partition(ctx, scanned{
			Range: r, start: bounds[p].Start, settled: max(r.To, c.Offset), end: bounds[p].End,
		}); err != nil {
			return fmt.Errorf("verifying %s/%d: %w", l.Topic, p, err)
		}
	}
	err = v.judge(ctx, l.Topic)
	clear(v.repeats)
	return err
}

// uncommitted tells of the records of a partition that no offset says anything of: they
// are neither stored for certain nor under way.
func (v *verifier) uncommitted(r Range, group string) {
	if r.From >= r.To {
		return
	}
	v.report.Uncommitted += r.To - r.From
	v.report.example(Example{
		Kind: Uncommitted, Topic: r.Topic, Partition: r.Partition, Offset: r.From,
		Why: fmt.Sprintf("group %s has committed no offset: up to %d records are not compared", group, r.To-r.From),
	})
}

// unsettled tells of records that are under way, or would be if their partition were not halted.
func (v *verifier) unsettled(r Range) {
	if r.From < r.To {
		v.report.Unsettled = append(v.report.Unsettled, Unsettled{r.Topic, r.Partition, r.From, r.To - r.From})
	}
}

func (v *verifier) partition(ctx context.Context, s scanned) error {
	for at := s.From; at < s.To; {
		part := s.Range
		part.From, part.To = at, min(at+v.o.SliceRecords, s.To)
		days, first, err := v.slice(ctx, part)
		if err != nil {
			return err
		}
		if s.received == 0 {
			s.received = first
		}
		s.slices = append(s.slices, sliced{part.To, days})
		at = part.To
	}
	v.scanned = append(v.scanned, s)
	return nil
}

// excluded reports whether rows of an owner and a day were deleted on purpose.
func (v *verifier) excluded(owner string, day int32) bool {
	return slices.ContainsFunc(v.exclusions, func(e Exclusion) bool {
		return (e.Owner == "" || e.Owner == owner) && e.From <= day && day <= e.To
	})
}

func compareTouched(a, b ledger.Touched) int {
	return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Day, b.Day))
}
