package verify

import (
	"context"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// maxTold is how many missing events are told apart; beyond it each copy of one counts.
const maxTold = 100_000

// suspect is a record whose event is not in the base. A dead letter may account for it.
type suspect struct {
	position

	received int64 // Unix milliseconds
	key      Key
	hash     record.Hash
	replayed bool
	erased   bool
	letter   bool
	unseen   bool // by the window: a letter whose headers could not be read
}

type position struct {
	partition int32
	offset    int64
}

// suspect keeps the records of a slice that nothing accounts for yet, and judges those
// that are kept once they are as many as a slice may have.
func (v *verifier) suspect(ctx context.Context, s *slice) error {
	for i := range s.records {
		r := &s.records[i]
		if r.answered {
			continue
		}
		v.suspects = append(v.suspects, suspect{
			position: position{s.Partition, r.offset}, received: r.received, key: s.key(r), hash: r.hash,
			replayed: r.replayed, erased: r.erased,
		})
		if int64(len(v.suspects)) < v.o.SliceRecords {
			continue
		}
		if err := v.judge(ctx, s.Topic); err != nil {
			return err
		}
	}
	return nil
}

// judge accounts for the records of a topic that are kept. It reads the dead letters
// anew each time, and remembers none of those that concern other records.
func (v *verifier) judge(ctx context.Context, topic string) error {
	if len(v.suspects) == 0 {
		return nil
	}
	if err := v.letters(ctx, topic); err != nil {
		return err
	}
	for i := range v.suspects {
		v.verdict(topic, &v.suspects[i])
	}
	v.suspects = v.suspects[:0]
	return nil
}

func (v *verifier) verdict(topic string, s *suspect) {
	day := v.report.day(s.key.Day)
	switch {
	case s.letter:
		day.DeadLettered++
	case s.erased || v.excluded(s.key.Owner, s.key.Day):
		day.Excluded++
	case !v.another(topic, s):
		day.Missing++
		v.report.example(Example{
			Kind: Missing, Topic: topic, Partition: s.partition, Offset: s.offset, Owner: s.key.Owner,
			Day: ledger.Date(s.key.Day), EventKey: s.key.EventKey, Why: "neither a row nor a dead letter exists for it",
		})
	}
}

// another reports whether a copy of a missing event was told of before.
func (v *verifier) another(topic string, s *suspect) bool {
	if s.hash == (record.Hash{}) {
		return false
	}
	same := told{v.base.Table(topic), Key{Owner: s.key.Owner, EventKey: s.key.EventKey}}
	_, before := v.missing[same]
	if !before && len(v.missing) < maxTold {
		v.missing[same] = struct{}{}
	}
	return before
}
