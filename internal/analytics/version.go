package analytics

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Version tells the state of the data that a response is made of.
type Version struct {
	// Number changes with whatever may change the response: what arrives, what is
	// erased, what is rebuilt.
	Number uint64
	// Settling says that the data is being changed in ways that the number tells only
	// at their end, such as an erasure, so that a response is good for a moment only.
	Settling bool
}

// Versions reads the version of a subject's data: of the tables named, within the
// UTC days of a range.
type Versions interface {
	// Bases are the tables whose versions those of the tables named are, in order and
	// each once: a rollup changes with what it is made of.
	Bases(tables []string) []string
	Of(ctx context.Context, subject Subject, rng Range, tables []string) (Version, error)
}

// How long things are good for. What arrives is seen within twice fresh: a response
// may be asked for right after its version was read, and be kept as long again.
const (
	// fresh is how long a version is remembered, and a response to data that has just
	// changed: parts of one insert become visible one after the other, base tables and
	// rollups, on one replica and another.
	fresh = 250 * time.Millisecond
	// settled is how long a version must have been the same before a response is kept
	// for as long as it stays so.
	settled = 10 * time.Second
	// oldest is the longest time that a response is kept.
	oldest = time.Hour
	// versionTime is the longest time that a version may take. Without one, a statement
	// runs and its response is not kept.
	versionTime = time.Second
	// rememberedVersions bounds how many are remembered, twice.
	rememberedVersions = 1 << 14
)

// versions remembers versions for a moment, and since when each has been the same.
type versions struct {
	of    Versions
	group singleflight.Group

	mu sync.Mutex
	// recent and older are two generations: when recent is full it becomes older, and
	// what was older is forgotten.
	recent, older map[versionKey]seen
}

// versionKey is what a version is of: whole UTC days, and base tables joined by
// commas, so that what a dashboard asks of one range is told by one version.
type versionKey struct {
	subject  Subject
	from, to int64
	tables   string
}

// seen is a version as it was read.
type seen struct {
	Version
	read, since time.Time
}

// stamp is what a response is kept under, and for how long.
type stamp struct {
	number uint64
	life   time.Duration
}

func newVersions(of Versions) *versions {
	return &versions{of: of, recent: map[versionKey]seen{}}
}

// stampOf returns the stamp of a statement. The context bounds the wait of this
// caller; the others who wait for the same version go on.
func (v *versions) stampOf(ctx context.Context, s *Statement) (stamp, error) {
	const day = 24 * 60 * 60
	key := versionKey{
		s.Subject, s.Range.Start.Unix() / day, s.Range.End.Add(-time.Millisecond).Unix() / day,
		strings.Join(v.of.Bases(s.Tables), ","),
	}
	now := time.Now()
	if known, ok := v.known(key); ok && now.Sub(known.read) < fresh {
		return known.stamp(now), nil
	}
	read := v.group.DoChan(fmt.Sprint(key), func() (any, error) { return v.read(context.WithoutCancel(ctx), key, s) })
	select {
	case r := <-read:
		if r.Err != nil {
			return stamp{}, r.Err
		}
		return r.Val.(seen).stamp(now), nil //nolint:forcetypeassert // read returns nothing else
	case <-ctx.Done():
		return stamp{}, ctx.Err()
	}
}

func (s seen) stamp(now time.Time) stamp {
	if s.Settling || now.Sub(s.since) < settled {
		return stamp{s.Number, fresh}
	}
	return stamp{s.Number, oldest}
}

// read asks for a version, unless somebody has read it since the caller looked. It
// counts from the time before it was asked for: what arrives meanwhile may or may not be
// in it.
func (v *versions) read(ctx context.Context, key versionKey, s *Statement) (seen, error) {
	now := time.Now()
	if known, ok := v.known(key); ok && now.Sub(known.read) < fresh {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	version, err := v.of.Of(ctx, s.Subject, s.Range, s.Tables)
	if err != nil {
		return seen{}, fmt.Errorf("reading the version of the data: %w", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	got := seen{Version: version, read: now, since: now}
	if last, ok := v.knownLocked(key); ok && last.Version == version {
		got.since = last.since
	}
	if len(v.recent) >= rememberedVersions {
		v.recent, v.older = make(map[versionKey]seen, rememberedVersions), v.recent
	}
	v.recent[key] = got
	return got, nil
}

func (v *versions) known(key versionKey) (seen, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.knownLocked(key)
}

func (v *versions) knownLocked(key versionKey) (seen, bool) {
	s, ok := v.recent[key]
	if !ok {
		s, ok = v.older[key]
	}
	return s, ok
}
