package flagset

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// RampStep is how often what a ramp serves is looked at as another thing.
const RampStep = time.Minute

// viewer is a website, and whether flags for servers are seen too.
type viewer struct {
	websiteID string
	trusted   bool
}

// View is what those who ask about one website see of a set: when it is something else. It
// does not change and is safe for concurrent use.
type View struct {
	// Print is the same for views of the same flags in the same versions, and of all that
	// these depend on, in every process; for other ones it is another.
	Print uint64

	instants []int64 // Unix milliseconds, in their order
	ramps    []span  // in the order of their beginnings, and apart from each other
}

// span is a time in Unix milliseconds, up to an end.
type span struct{ from, to int64 }

// View returns how a website sees the set: with trusted also its flags for servers. It is
// made once.
func (s *Set) View(websiteID string, trusted bool) *View {
	who := viewer{websiteID, trusted}
	if known, ok := s.views.Load(who); ok {
		return known.(*View) // nothing else is stored
	}
	made, _ := s.views.LoadOrStore(who, s.view(who))
	return made.(*View) // nothing else is stored
}

func (s *Set) view(who viewer) *View {
	l := looking{set: s, seen: make(map[*flageval.Flag]bool), asked: make(map[int]bool)}
	l.number(s.Mark.Epoch) // versions come again in another one
	for f := range s.All(who.websiteID) {
		if who.trusted || f.About.Visibility == flag.Public {
			l.look(f.Flag)
		}
	}
	v := &View{Print: l.print()}
	for _, at := range l.timing.Instants {
		v.instants = append(v.instants, at.UnixMilli())
	}
	slices.Sort(v.instants)
	v.instants = slices.Compact(v.instants)
	v.ramps = merged(l.timing.Ramps)
	return v
}

// looking goes through flags and what they depend on.
type looking struct {
	set    *Set
	seen   map[*flageval.Flag]bool
	asked  map[int]bool
	text   []byte // of all, by their ids and versions
	timing flageval.Timing
}

func (l *looking) look(f *flageval.Flag) {
	if l.seen[f] {
		return
	}
	l.seen[f] = true
	l.record(l.set.flags[f].ID, l.set.flags[f].Version)
	l.timing.Add(f)
	for need := range f.Needs() {
		l.look(need)
	}
	var segments []int
	for place := range f.Asks() {
		if !l.asked[place] {
			l.asked[place] = true
			segments = append(segments, place)
		}
	}
	slices.Sort(segments) // environments have no order
	for _, place := range segments {
		l.record(l.set.asked[place].ID, l.set.asked[place].Version)
	}
}

func (l *looking) record(id string, version int64) {
	l.text = append(append(l.text, id...), 0)
	l.number(version)
}

func (l *looking) number(n int64) {
	l.text = binary.BigEndian.AppendUint64(l.text, uint64(n))
}

func (l *looking) print() uint64 {
	sum := sha256.Sum256(l.text)
	return binary.BigEndian.Uint64(sum[:])
}

// merged returns spans in their order, those that touch each other as one.
func merged(all []flageval.Span) (out []span) {
	slices.SortFunc(all, func(a, b flageval.Span) int { return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To)) })
	for _, one := range all {
		next := span{one.From.UnixMilli(), one.To.UnixMilli()}
		if n := len(out); n > 0 && next.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, next.to)
			continue
		}
		out = append(out, next)
	}
	return out
}

// Next returns the first time after another one at which the flags serve something else by
// themselves: where a schedule or a ramp begins or ends and, while a ramp runs, every whole
// RampStep. It is the zero time for never.
func (v *View) Next(after time.Time) time.Time {
	at := after.UnixMilli()
	i, found := slices.BinarySearch(v.instants, at)
	if found {
		i++
	}
	if t, ok := v.ramping(at); ok && (i == len(v.instants) || t < v.instants[i]) {
		return time.UnixMilli(t)
	}
	if i == len(v.instants) {
		return time.Time{}
	}
	return time.UnixMilli(v.instants[i])
}

// ramping returns the first step after a time that lies in a ramp.
func (v *View) ramping(at int64) (next int64, ok bool) {
	step := RampStep.Milliseconds()
	i, _ := slices.BinarySearchFunc(v.ramps, at, func(r span, at int64) int { return cmp.Compare(r.to, at+1) })
	for _, r := range v.ramps[i:] {
		from := max(at, r.from)
		if next = from - from%step + step; next < r.to {
			return next, true
		}
	}
	return 0, false
}
