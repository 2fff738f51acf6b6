package deadletter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
)

// Outcome is what Replay or Park did with a letter, or would do in a dry run.
type Outcome string

// The outcomes.
const (
	OutcomeSent       Outcome = "sent"        // its record is in its topic again, and acknowledged
	OutcomeParked     Outcome = "parked"      // put aside, because it was asked for or sent too often
	OutcomeNeedsForce Outcome = "needs force" // it would come back; nothing was done
	OutcomeTooLarge   Outcome = "too large"   // it is not whole, or more than a batch takes; nothing was done
	OutcomeAlready    Outcome = "already"     // it was sent or parked before; nothing was done
	OutcomeElsewhere  Outcome = "elsewhere"   // another replay is sending it; nothing was done
	// a replay ended in the middle, too long ago to see what it sent; nothing was done
	OutcomeUnsure Outcome = "unsure"
)

// Options say how letters are sent again.
type Options struct {
	// DryRun sends and marks nothing.
	DryRun bool
	// Again also sends letters that were sent or parked before.
	Again bool
	// Force also sends letters for whose reason a replay is pointless.
	Force bool
}

// The sizes of what is marked and sent at a time.
const (
	batchLetters = 500
	batchBytes   = 2 << 20 // a publisher may hold no more than twice that
)

const (
	// slack is by how much clocks may differ between who marks and who reads.
	slack = time.Minute
	// searchable is how long what was sent can be found: less than the shortest
	// retention of a topic that has letters.
	searchable = 6 * 24 * time.Hour
)

// Replay sends the selected letters again and tells report what became of each,
// after it has. When a selected letter cannot be understood, nothing is sent. An
// error may come after some letters were sent: they are reported and marked, and
// the next Replay goes on behind them.
func (s *Service) Replay(ctx context.Context, f Filter, opts Options, report func(*Letter, Outcome)) error {
	return s.work(ctx, f, opts.DryRun, report, func(run *session, l *Letter, id string) Outcome {
		kind, _ := KindOf(l.Reason) // known since the survey
		switch state := run.known.stateOf(id); {
		case state == StateSending && run.now().Sub(run.known[id].at) < lease:
			return OutcomeElsewhere
		case state == StateSending && !opts.Again:
			return OutcomeUnsure
		case state == StateParked && l.Hops >= MaxHops:
			return OutcomeAlready
		case (state == StateReplayed || state == StateParked) && !opts.Again:
			return OutcomeAlready
		case l.Hops >= MaxHops:
			return OutcomeParked
		case l.tooLarge():
			return OutcomeTooLarge
		case kind.Futile && !opts.Force:
			return OutcomeNeedsForce
		default:
			return OutcomeSent
		}
	})
}

// Park puts the selected letters aside: Replay leaves them alone from then on.
func (s *Service) Park(ctx context.Context, f Filter, dryRun bool, report func(*Letter, Outcome)) error {
	return s.work(ctx, f, dryRun, report, func(run *session, _ *Letter, id string) Outcome {
		switch state := run.known.stateOf(id); {
		case state == StateParked:
			return OutcomeAlready
		case state == StateSending && run.now().Sub(run.known[id].at) < lease:
			return OutcomeElsewhere
		default:
			return OutcomeParked
		}
	})
}

// session is one run of Replay or Park.
type session struct {
	*Service

	dryRun bool
	report func(*Letter, Outcome)
	known  marks
	asOf   time.Time // up to when known is complete
	send   []held    // to be sent
	park   []held    // to be parked
	bytes  int
}

// held is a letter of a batch, copied.
type held struct {
	*Letter

	id string
}

func (s *session) now() time.Time { return s.deps.Now() }

// work looks at the selected letters, which choose decides about, and does it.
func (s *Service) work(ctx context.Context, f Filter, dryRun bool, report func(
	*Letter, Outcome,
), choose func(*session, *Letter, string) Outcome,
) error {
	if err := f.Check(); err != nil {
		return err
	}
	ends, err := s.survey(ctx, f)
	if err != nil {
		return err
	}
	run := &session{Service: s, dryRun: dryRun, report: report, asOf: s.deps.Now()}
	if run.known, err = s.readMarks(ctx, time.Time{}); err != nil {
		return err
	}
	if err := run.settle(ctx); err != nil {
		return err
	}
	err = s.each(ctx, f, func(l *Letter, id string, _ error) error {
		if l.Position.Offset > ends[partitionOf(l.Position)] {
			return nil // written since, perhaps because of us
		}
		return run.take(ctx, l, id, choose(run, l, id))
	})
	if err != nil {
		return err
	}
	return run.flush(ctx)
}

// survey reads the selected letters to the end, and returns the last one's offset
// of each partition, or what is wrong with letters.
func (s *Service) survey(ctx context.Context, f Filter) (ends map[record.Position]int64, err error) {
	const told = 5
	ends = map[record.Position]int64{}
	var bad []error
	count := 0
	err = s.each(ctx, f, func(l *Letter, _ string, problem error) error {
		ends[partitionOf(l.Position)] = max(ends[partitionOf(l.Position)], l.Position.Offset)
		if problem == nil {
			return nil
		}
		if count++; count <= told {
			bad = append(bad, fmt.Errorf("%s: %s", FormatPosition(l.Position), strings.ReplaceAll(problem.Error(), "\n", "; ")))
		}
		return nil
	})
	if count > 0 {
		err = errors.Join(append(
			[]error{err, fmt.Errorf("%d letters cannot be decoded, so nothing was done", count)}, bad...)...)
	}
	return ends, err
}

// partitionOf is a position without its offset.
func partitionOf(p record.Position) record.Position {
	p.Offset = 0
	return p
}

// settle finds out what became of the letters that a replay was about to send
// when it ended: those whose records are in their topics were sent.
func (s *session) settle(ctx context.Context) error {
	lost := map[string]held{} // by the header that their records would have
	since := map[string]time.Time{}
	for id, n := range s.known {
		if age := s.now().Sub(n.at); n.State != StateSending || age < lease || age > searchable {
			continue
		}
		topic, _, _ := strings.Cut(id, "/")
		lost[runHeader(n.Run, id)] = held{id: id}
		if at, ok := since[topic]; !ok || n.at.Before(at) {
			since[topic] = n.at
		}
	}
	var found []held
	for _, topic := range slices.Sorted(maps.Keys(since)) {
		err := s.deps.Reader.Read(ctx, topic, since[topic].Add(-slack), func(r *record.Record, _ record.Position) error {
			for _, h := range r.Headers {
				if l, ok := lost[string(h.Value)]; ok && h.Key == HeaderRun {
					found = append(found, l)
					delete(lost, string(h.Value))
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("finding letters that an earlier replay sent: %w", err)
		}
	}
	for _, l := range lost {
		n := s.known[l.id]
		n.unsent = true
		s.known[l.id] = n
	}
	for _, l := range found {
		s.known[l.id] = noted{Mark: Mark{State: StateReplayed, Run: s.run}, at: s.now()}
	}
	if s.dryRun || len(found) == 0 {
		return nil
	}
	return s.mark(ctx, found, StateReplayed)
}

// take does to a letter what was decided, or keeps it for the next flush.
func (s *session) take(ctx context.Context, l *Letter, id string, what Outcome) error {
	batch := map[Outcome]*[]held{OutcomeSent: &s.send, OutcomeParked: &s.park}[what]
	if batch == nil || s.dryRun {
		s.report(l, what)
		return nil
	}
	*batch = append(*batch, held{l.clone(), id})
	if s.bytes += len(l.Key) + len(l.Value); len(*batch) >= batchLetters || s.bytes >= batchBytes {
		return s.flush(ctx)
	}
	return nil
}

// flush sends and parks what is kept.
func (s *session) flush(ctx context.Context) error {
	send, park := s.send, s.park
	s.send, s.park, s.bytes = nil, nil, 0
	if len(park) > 0 {
		if err := s.mark(ctx, park, StateParked); err != nil {
			return err
		}
		for _, l := range park {
			s.report(l.Letter, OutcomeParked)
		}
	}
	if len(send) == 0 {
		return nil
	}
	send, err := s.claim(ctx, send)
	if err != nil || len(send) == 0 {
		return err
	}
	records := make([]record.Record, len(send))
	for i, l := range send {
		records[i] = l.again(s.run, s.now())
	}
	if err := s.deps.Publisher.Publish(ctx, records); err != nil {
		return fmt.Errorf("sending %d letters again: %w", len(send), err)
	}
	if err := s.mark(ctx, send, StateReplayed); err != nil {
		return err
	}
	for _, l := range send {
		s.report(l.Letter, OutcomeSent)
	}
	return nil
}

// claim marks letters as being sent, and returns those that are this run's.
func (s *session) claim(ctx context.Context, send []held) ([]held, error) {
	if err := s.mark(ctx, send, StateSending); err != nil {
		return nil, err
	}
	since := s.asOf.Add(-slack)
	s.asOf = s.now()
	if err := s.deps.Reader.Read(ctx, MarksTopic, since, s.known.read); err != nil {
		return nil, fmt.Errorf("reading the marks of other replays: %w", err)
	}
	var mine []held
	var done []record.Record
	for _, l := range send {
		switch last := s.known[l.id]; {
		case last.Run == s.run:
			mine = append(mine, l)
			continue
		case last.State != StateSending:
			// Our void mark is the last one now, and compaction keeps no other.
			done = append(done, markRecord(l.id, last.Mark, s.now()))
		}
		s.report(l.Letter, OutcomeElsewhere)
	}
	if len(done) == 0 {
		return mine, nil
	}
	if err := s.deps.Publisher.Publish(ctx, done); err != nil {
		return nil, fmt.Errorf("restoring the marks of %d letters: %w", len(done), err)
	}
	return mine, nil
}

func (s *session) mark(ctx context.Context, letters []held, state State) error {
	records := make([]record.Record, len(letters))
	for i, l := range letters {
		mark := Mark{State: state, Run: s.run}
		if state == StateSending {
			mark.After = s.known.nameOf(l.id)
		}
		records[i] = markRecord(l.id, mark, s.now())
	}
	if err := s.deps.Publisher.Publish(ctx, records); err != nil {
		return fmt.Errorf("marking %d letters as %s: %w", len(letters), state, err)
	}
	return nil
}

// clone returns a letter whose bytes are its own.
func (l *Letter) clone() *Letter {
	c := *l
	c.Key, c.Value, c.Headers = slices.Clone(l.Key), slices.Clone(l.Value), make([]record.Header, len(l.Headers))
	for i, h := range l.Headers {
		c.Headers[i] = record.Header{Key: h.Key, Value: slices.Clone(h.Value)}
	}
	return &c
}
