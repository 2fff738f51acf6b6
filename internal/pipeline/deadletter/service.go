package deadletter

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
)

// Reader reads topics, named without prefix.
type Reader interface {
	// Read gives do every record that is in the topic now and was not written
	// before since, in order within a partition, and returns do's error. What it
	// gives is valid during the call only.
	Read(ctx context.Context, topic string, since time.Time, do func(*record.Record, record.Position) error) error
	// At gives do the record at a position; there being none is an error.
	At(ctx context.Context, at record.Position, do func(*record.Record, record.Position) error) error
}

// Publisher sends records.
type Publisher interface {
	// Publish returns nil once all in-sync replicas have every record. After an
	// error the records' memory still belongs to the Publisher.
	Publish(ctx context.Context, recs []record.Record) error
}

// Deps are the parts that a Service needs; Publisher only for Replay and Park, and
// Now may be nil for time.Now.
type Deps struct {
	Reader    Reader
	Publisher Publisher
	Now       func() time.Time
}

// Service is where dead letters are looked after. It is for one command: the marks
// that it leaves name it.
type Service struct {
	deps Deps
	run  string
}

// New returns a Service.
func New(deps Deps) *Service {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	return &Service{deps: deps, run: rand.Text()}
}

// List gives do the selected letters, each once, in order within a partition of
// their topics, with what became of them. A letter that cannot be read, or whose
// reason is not known, is given with its problem.
func (s *Service) List(ctx context.Context, f Filter, do func(*Letter, State, error) error) error {
	if err := f.Check(); err != nil {
		return err
	}
	known, err := s.readMarks(ctx, time.Time{})
	if err != nil {
		return err
	}
	return s.each(ctx, f, func(l *Letter, id string, problem error) error {
		return do(l, known.stateOf(id), problem)
	})
}

// Show gives do the letter at a position of a dead letter topic, as List does.
func (s *Service) Show(ctx context.Context, at record.Position, do func(*Letter, State, error) error) error {
	known, err := s.readMarks(ctx, time.Time{})
	if err != nil {
		return err
	}
	return s.deps.Reader.At(ctx, at, func(r *record.Record, at record.Position) error {
		l, problem := Parse(r, at)
		return do(l, known.stateOf(l.ID()), problem)
	})
}

// each gives do the selected letters, each once.
func (s *Service) each(ctx context.Context, f Filter, do func(l *Letter, id string, problem error) error) error {
	if len(f.Topics) == 0 {
		return errors.New("no topic is given")
	}
	seen := map[string]bool{}
	take := func(r *record.Record, at record.Position) error {
		l, problem := Parse(r, at)
		id := l.ID()
		if !f.wants(l) || seen[id] {
			return nil
		}
		seen[id] = true
		return do(l, id, problem)
	}
	if f.Position != nil {
		return s.deps.Reader.At(ctx, *f.Position, take)
	}
	for _, topic := range f.Topics {
		if err := s.deps.Reader.Read(ctx, topic+Suffix, f.Since, take); err != nil {
			return err
		}
	}
	return nil
}

// readMarks reads what was noted since a time, or ever.
func (s *Service) readMarks(ctx context.Context, since time.Time) (marks, error) {
	m := marks{}
	if err := s.deps.Reader.Read(ctx, MarksTopic, since, m.read); err != nil {
		return nil, fmt.Errorf("reading the states of dead letters: %w", err)
	}
	return m, nil
}
