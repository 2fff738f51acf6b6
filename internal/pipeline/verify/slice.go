package verify

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

const (
	maxDay = 1 << 16 // after the last one of a Date
	// keysAtOnce is how many events one statement looks up.
	keysAtOnce = 20_000
)

// seen is a record of a slice.
type seen struct {
	offset   int64
	received int64  // Unix milliseconds
	print    uint64 // of what the sort key of its row would be; 0 for no event
	hash     record.Hash
	owner    int32 // in slice.owners
	day      int32
	inBase   bool // its own row is there
	answered bool // its event is, or is accounted for
	erased   bool // a tombstone covers it
	replayed bool // it was a dead letter that was sent again
}

// slice is a part of a partition in memory.
type slice struct {
	Range

	records []seen
	owners  []string
	index   map[string]int32
	days    map[int32]struct{}
	first   int64
}

// seed makes the fingerprints of one process.
var seed = maphash.MakeSeed()

// fingerprint stands for the sort key of a row; never 0.
func fingerprint(owner string, day int32, name []byte, key uint64) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	var n [16]byte
	binary.LittleEndian.PutUint32(n[:], uint32(day))
	binary.LittleEndian.PutUint32(n[4:], uint32(len(owner)))
	binary.LittleEndian.PutUint64(n[8:], key)
	_, _ = h.Write(n[:])
	_, _ = h.WriteString(owner)
	_, _ = h.Write(name)
	return max(1, h.Sum64())
}

func eventKey(h record.Hash) uint64 { return binary.BigEndian.Uint64(h[:8]) }

// slice reads a part of a partition, and accounts for each record and each row of
// it. It returns the days that it looked at, and when the first record came.
func (v *verifier) slice(ctx context.Context, r Range) (days []int32, received int64, err error) {
	s := slice{Range: r, index: map[string]int32{}, days: map[int32]struct{}{}}
	if err := s.read(ctx, v.topic, v.erased); err != nil {
		return nil, 0, err
	}
	days = slices.Sorted(maps.Keys(s.days))
	for i := range s.records {
		rec := &s.records[i]
		v.report.day(rec.day).InTopic++
		if rec.print != 0 {
			v.pairs[ledger.Touched{Owner: s.owners[rec.owner], Day: rec.day}] = struct{}{}
		}
	}
	if err := v.base.Rows(ctx, r, days, func(row *Row) { v.row(&s, row) }); err != nil {
		return nil, 0, err
	}
	s.duplicates()
	if err := s.elsewhere(ctx, v.base); err != nil {
		return nil, 0, err
	}
	if err := v.suspect(ctx, &s); err != nil {
		return nil, 0, err
	}
	return days, s.first, v.pairsInTime(ctx)
}

func (s *slice) read(ctx context.Context, topic Topic, erased *tombstone.Set) error {
	var decoder record.Decoder
	var event record.Event
	return topic.Records(ctx, s.Topic, s.Partition, s.From, s.To, func(r *Record) error {
		if s.first == 0 {
			s.first = r.Time
		}
		rec := seen{
			offset: r.Offset, received: r.Time, hash: r.Hash, replayed: r.Replayed, owner: s.ownerOf(r.Key),
			day: record.Day(r.Time),
		}
		// What no Date can hold is no event of the table: a dead letter tells of it.
		if decoder.DecodeEvent(r.Value, &event) == nil && event.TimeMillis >= 0 &&
			event.TimeMillis < maxDay*record.MillisPerDay {
			rec.owner, rec.day = s.ownerOf(event.Owner), record.Day(event.TimeMillis)
			rec.erased = erased.Covers(event.Owner, event.ProfileID, event.AnonymousID, event.ReceivedAt)
			rec.print = fingerprint(s.owners[rec.owner], rec.day, event.Name, eventKey(r.Hash))
		}
		s.days[rec.day] = struct{}{}
		s.records = append(s.records, rec)
		return nil
	})
}

func (s *slice) ownerOf(owner []byte) int32 {
	i, ok := s.index[string(owner)]
	if !ok {
		i = int32(len(s.owners))
		s.owners = append(s.owners, string(owner))
		s.index[string(owner)] = i
	}
	return i
}

func (s *slice) key(r *seen) Key { return Key{s.owners[r.owner], r.day, eventKey(r.hash)} }

// at returns the record of an offset, nil when there is none.
func (s *slice) at(offset int64) *seen {
	i, ok := slices.BinarySearchFunc(s.records, offset, func(r seen, o int64) int { return cmp.Compare(r.offset, o) })
	if !ok {
		return nil
	}
	return &s.records[i]
}

// row judges a row that names a place of the slice: the record there has to be
// the event that the row shows.
func (v *verifier) row(s *slice, row *Row) {
	rec := s.at(row.Offset)
	if rec == nil || rec.print != fingerprint(row.Owner, row.Day, []byte(row.Name), row.EventKey) {
		v.unexpected(row, "the record at this position is another event")
		return
	}
	rec.inBase, rec.answered = true, true
	v.report.day(rec.day).InBase++
}

// event is an event within a slice.
type event struct {
	owner int32
	key   uint64
}

// duplicates answers the records whose event another record of the slice stored.
func (s *slice) duplicates() {
	stored := map[event]struct{}{}
	for i := range s.records {
		if r := &s.records[i]; r.inBase {
			stored[event{r.owner, eventKey(r.hash)}] = struct{}{}
		}
	}
	for i := range s.records {
		if r := &s.records[i]; !r.answered {
			_, r.answered = stored[event{r.owner, eventKey(r.hash)}]
		}
	}
}

// elsewhere answers the records whose event came from another place: an earlier
// copy, another partition of time, or another topic.
func (s *slice) elsewhere(ctx context.Context, base Base) error {
	asked := map[Key][]int{}
	ask := func() error {
		known, err := base.Known(ctx, base.Table(s.Topic), slices.Collect(maps.Keys(asked)))
		if err != nil {
			return err
		}
		for _, k := range known {
			for _, i := range asked[k] {
				s.records[i].answered = true
			}
		}
		clear(asked)
		return nil
	}
	for i := range s.records {
		if r := &s.records[i]; !r.answered && r.hash != (record.Hash{}) {
			asked[s.key(r)] = append(asked[s.key(r)], i)
		}
		if len(asked) >= keysAtOnce {
			if err := ask(); err != nil {
				return err
			}
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return ask()
}

func (v *verifier) unexpected(row *Row, why string) {
	v.report.day(row.Day).Unexpected++
	v.report.example(Example{
		Kind: Unexpected, Topic: row.Topic, Partition: row.Partition, Offset: row.Offset, Owner: row.Owner,
		Day:      ledger.Date(row.Day),
		EventKey: row.EventKey, Why: why,
	})
}
