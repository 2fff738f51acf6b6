package event

import (
	"fmt"
)

// Decoder reads bodies of events. It is for one goroutine at a time and is
// worth keeping: once its buffers have grown it allocates nothing for a valid
// body. The zero value is ready.
type Decoder struct {
	// Room, where it is set, is asked for so many bytes more before the keys of a body take
	// more memory than those of usual ones. Its error ends the decoding, which returns it.
	Room func(bytes int) error

	scan       Scanner
	form       *Form
	shape      Shape
	each       bool // every event stands for itself
	events     []Event
	pages      []*Page // of the events that have one
	pagesUsed  int
	batch      bool
	discarded  Event    // takes the fields of events that nobody will read
	present    fieldSet // fields of the current event that have a value
	faulty     fieldSet // fields of the current event that have a problem
	problems   []Problem
	most       int // problems that are told
	rejections int // events that DecodeEach has rejected
	seen       int // events that were begun
	from       int // where the current event begins
	atMost     int // what AtMost says of the body; below 0 while nobody asked
	broken     bool
	tooLarge   bool
}

// keptEvents bounds what one hostile body leaves behind in a pooled Decoder.
const keptEvents = 1 << 12

// Decode is DecodeForm for POST /track.
func (d *Decoder) Decode(body []byte) ([]Event, error) { return d.DecodeForm(Track, OneOrMany, body) }

// DecodeForm reads the events of a body. It returns at least one event, in the order of
// the body, or an *Invalid, or what Room said, and nothing. The events belong to the
// Decoder, and parts of them to body: both must stay as they are until the events are no
// longer needed.
func (d *Decoder) DecodeForm(form *Form, shape Shape, body []byte) ([]Event, error) {
	d.form, d.shape, d.each, d.most = form, shape, false, MaxProblems
	d.read(body)
	if d.scan.keys.denied != nil {
		return nil, d.scan.keys.denied
	}
	if d.problems != nil {
		return nil, &Invalid{Problems: d.problems, TooLarge: d.tooLarge}
	}
	return d.events, nil
}

// DecodeEach reads an array of events of which each stands for itself: those that
// break a rule, be it one of what JSON may hold here, are marked Rejected, and problems,
// in the order of the body, say why. Only a body that is no JSON, no array, or holds
// nothing is an *Invalid, and one with more than MaxRejected such events. What Room says
// concerns all of them.
func (d *Decoder) DecodeEach(form *Form, body []byte) (events []Event, problems []Problem, err error) {
	d.form, d.shape, d.each, d.most = form, Many, true, MaxEachProblems
	d.read(body)
	if d.scan.keys.denied != nil {
		return nil, nil, d.scan.keys.denied
	}
	if d.broken {
		told := d.problems
		if len(told) > MaxProblems {
			told = append(told[:MaxProblems-1:MaxProblems-1], told[len(told)-1])
		}
		return nil, nil, &Invalid{Problems: told}
	}
	return d.events, d.problems, nil
}

func (d *Decoder) read(body []byte) {
	d.Release()
	d.scan.Reset(body)
	d.scan.keys.room = d.Room
	d.batch, d.broken, d.tooLarge, d.problems = false, false, false, nil
	d.events, d.pagesUsed, d.rejections, d.seen, d.atMost = d.events[:0], 0, 0, 0, -1
	i := d.root(d.scan.Blank(0))
	if i >= 0 {
		if i = d.scan.Blank(i); i < len(body) {
			d.malformed(NoIndex, "", d.scan.fail(i, RuleMalformed))
		}
	}
}

// Release lets go of the memory that only large bodies take, those of very many events,
// keys or escaped texts, so that a Decoder that waits in a pool keeps none of it. The
// events of the last body end with it.
func (d *Decoder) Release() {
	d.scan.release()
	if cap(d.events) > keptEvents {
		d.events = nil
	}
	if cap(d.pages) > keptPages {
		d.pages = nil
	}
}

// Seen returns how many events the last body holds, good and bad ones; of a body
// that is no JSON, those up to where it broke.
func (d *Decoder) Seen() int { return d.seen }

// Batch reports whether the last body was an array.
func (d *Decoder) Batch() bool { return d.batch }

func (d *Decoder) root(i int) int {
	b := d.scan.body
	if list := i < len(b) && b[i] == '['; !list && d.shape == Many {
		return d.misshapen(i, "the body must be an array of JSON objects")
	} else if list && d.shape == One {
		return d.misshapen(i, "the body must be a JSON object")
	} else if !list {
		return d.event(i, 0, 0)
	}
	d.batch = true
	i, more := d.scan.First(i, ']')
	if !more {
		d.broken = true
		d.reject(NoIndex, &wholeEvent, RuleEmpty, "a batch must hold at least one event")
	}
	for index := 0; more; index++ {
		if i = d.event(i, index, 1); i < 0 {
			return -1
		}
		if i, more = d.scan.Next(i, ']'); i < 0 {
			return d.malformed(NoIndex, "", i)
		}
	}
	return i
}

// misshapen rejects a body that is JSON of another shape.
func (d *Decoder) misshapen(i int, message string) int {
	d.broken = true
	if i = d.scan.Skip(i, 0); i < 0 {
		return d.malformed(NoIndex, "", i)
	}
	d.reject(NoIndex, &wholeEvent, RuleWrongType, message)
	return i
}

// wholeEvent stands for the event where a problem is none of one field.
var wholeEvent Field

// event reads the value at i, which must be an event.
func (d *Decoder) event(i, index, depth int) int {
	b := d.scan.body
	d.faulty, d.present = 0, 0
	d.seen, d.from = index+1, i
	if i >= len(b) || b[i] != '{' {
		if i = d.scan.Skip(i, depth); i < 0 {
			return d.malformed(index, "", i)
		}
		if d.each {
			d.next(i).Rejected = true
		}
		d.reject(index, &wholeEvent, RuleWrongType, "an event must be a JSON object")
		return d.bounded(i)
	}
	e := d.next(i)
	e.Plain = true
	var seen fieldSet
	d.scan.Again()
	scope := d.scan.keys.open()
	i, more := d.scan.First(i, '}')
	for more {
		f, value := d.key(&scope, i)
		if value < 0 {
			return d.malformed(index, "", value)
		}
		if seen.has(f) {
			return d.malformed(index, d.form.fields[f].Name, d.scan.fail(i, d.scan.keys.rejection()))
		}
		i = value
		if f == fieldUnknown {
			i = d.scan.Skip(i, depth+1)
		} else {
			seen = seen.with(f)
			i = d.field(e, f, i, index, depth+1)
		}
		if i < 0 {
			return d.malformed(index, d.form.fields[f].Name, i)
		}
		if i+1 < len(b) && b[i] == ',' && b[i+1] > ' ' { // the usual case of Next
			i++
			continue
		}
		if i, more = d.scan.Next(i, '}'); i < 0 {
			return d.malformed(index, "", i)
		}
	}
	d.scan.keys.close(&scope)
	if missing := d.form.required &^ (d.present | d.faulty); missing != 0 {
		d.require(index, missing)
	}
	if d.form.settle != nil {
		d.form.settle(d, e, index)
	}
	if d.each && d.faulty != 0 {
		e.Rejected = true
		return d.bounded(i)
	}
	return i
}

// key reads the key at i and returns the field that it names, if any, and the position of
// its value. Keys that name none are noted in the scope; those that do are the caller's to note.
func (d *Decoder) key(scope *keyScope, i int) (f field, value int) {
	if d.form == Track {
		if f, value = d.scan.expectedField(i); value > 0 {
			return f, value
		}
	}
	key, value := d.scan.Key(i)
	if value < 0 {
		return fieldUnknown, value
	}
	if f = d.scan.common; d.form != Track {
		f = d.form.resolve(f, key)
	}
	if f == fieldUnknown && !d.scan.keys.add(scope, key) {
		return f, d.scan.fail(i, d.scan.keys.rejection())
	}
	return f, value
}

// require notes the fields that an event lacks, in the order of the form.
func (d *Decoder) require(index int, missing fieldSet) {
	for i := range d.form.Fields {
		number := d.form.Fields[i].number
		if missing.has(number) {
			f := &d.form.fields[number]
			d.reject(index, f, RuleRequired, f.Name+" is required")
		}
	}
}

// bounded passes i on unless DecodeEach has rejected too many events, which ends the
// decoding.
func (d *Decoder) bounded(i int) int {
	if !d.each {
		return i
	}
	if d.rejections++; d.rejections <= MaxRejected {
		return i
	}
	d.broken = true
	d.last(Problem{
		Index:   NoIndex,
		Rule:    RuleTooLarge,
		Message: fmt.Sprintf("a batch must have at most %d invalid events", MaxRejected),
	})
	return -1
}

// next returns where the fields of the event at i go.
func (d *Decoder) next(i int) *Event {
	if d.problems != nil && !d.each {
		d.discarded = Event{}
		return &d.discarded
	}
	if n := len(d.events); n == cap(d.events) && n >= keptEvents {
		d.events = append(make([]Event, 0, n+d.expected(i)), d.events...)
	}
	d.events = append(d.events, Event{})
	return &d.events[len(d.events)-1]
}

// expected is for how many more events there should be room from i on: as many as
// there are when they go on as long as those before, and an eighth more, but in all no
// more than AtMost says, by which memory is claimed. append would copy very many events
// again and again, and hold them twice meanwhile.
func (d *Decoder) expected(i int) int {
	if d.atMost < 0 {
		d.atMost = AtMost(d.scan.body)
	}
	n := len(d.events)
	likely := n * (len(d.scan.body) - i) / max(1, i)
	return max(0, min(likely+max(likely, n)/8, d.atMost-n))
}

// reject notes a problem; decoding goes on, so that a caller learns of all.
func (d *Decoder) reject(index int, f *Field, rule Rule, message string) {
	d.faulty = d.faulty.with(f.number)
	if len(d.problems) < d.most {
		d.problems = append(d.problems, Problem{Index: index, Field: f.Name, Rule: rule, Message: message})
	}
}

// malformed notes the scanner's last failure. It ends the decoding, and failed is
// returned, unless it is one event's alone, behind which decoding goes on.
func (d *Decoder) malformed(index int, name string, failed int) int {
	rule, at := d.scan.Failure()
	p := Problem{Index: index, Field: name, Rule: rule, Message: errorMessage(rule, at)}
	if index != NoIndex {
		if end := d.behind(rule); end >= 0 {
			return d.leaveOut(p, end)
		}
	}
	d.tooLarge, d.broken = false, true
	d.last(p)
	return failed
}

// last notes what ends the decoding, of which the caller learns whatever else there is.
func (d *Decoder) last(p Problem) {
	if len(d.problems) == d.most {
		d.problems = d.problems[:d.most-1]
	}
	d.problems = append(d.problems, p)
}
