package flagset

import (
	"reflect"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// sizer adds up what values take of memory, from field to field. What several of them point to
// counts once. Texts count where texts is set only, so that those which definitions share with
// what is compiled from them do not count twice.
type sizer struct {
	bytes int64
	seen  map[uintptr]bool
	texts bool
}

// count says what a set takes: its own parts, its flags and its segments. What an earlier one
// counted is not counted again.
func (s *Set) count(was *Set) {
	if was != nil && slices.Equal(was.asked, s.asked) {
		s.segmentBytes = was.segmentBytes
	} else {
		s.segmentBytes = segmentBytes(s)
	}
	z := newSizer()
	z.texts = false
	z.addInto(reflect.ValueOf(s))
	s.Bytes = z.bytes + s.segmentBytes
	for _, f := range s.flags {
		s.Bytes += f.bytes
	}
}

// flagBytes is about what a flag takes, as it is kept and as it is served.
func flagBytes(f *Flag) int64 {
	z := newSizer()
	z.addInto(reflect.ValueOf(f.Record))
	// Both are inside of the record.
	z.seen[reflect.ValueOf(f.Definition).Pointer()] = true
	z.seen[reflect.ValueOf(f.About).Pointer()] = true
	z.texts = false
	z.addInto(reflect.ValueOf(f.Flag))
	z.take(int(reflect.TypeOf(*f).Size()))
	return z.bytes
}

// segmentBytes is about what the segments of a set take.
func segmentBytes(s *Set) int64 {
	z := newSizer()
	for _, g := range s.asked {
		z.addInto(reflect.ValueOf(g))
	}
	z.texts = false
	for it := reflect.ValueOf(s.Compiled.Segments()).MapRange(); it.Next(); {
		z.addInto(it.Value())
	}
	return z.bytes
}

func newSizer() *sizer { return &sizer{seen: make(map[uintptr]bool), texts: true} }

// addInto counts what a pointer leads to, whoever it belongs to.
func (z *sizer) addInto(v reflect.Value) {
	z.seen[v.Pointer()] = true
	z.take(int(v.Type().Elem().Size()))
	z.add(v.Elem())
}

// shared are pointers to what is counted by itself: several lead to it. There is one time zone of
// all times together.
var shared = map[reflect.Type]bool{
	reflect.TypeFor[*time.Location](): true,
	reflect.TypeFor[*Flag]():          true,
	reflect.TypeFor[*flageval.Flag](): true,
	reflect.TypeFor[*flag.Segment]():  true,

	reflect.TypeFor[*flageval.Segment](): true, // inside of one of those

	reflect.TypeOf(new(flageval.Set).Segments()).Elem(): true,
}

// add counts what a value leads to; the value itself counts where it stands.
func (z *sizer) add(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if z.texts {
			z.take(v.Len())
		}
	case reflect.Pointer:
		if leads(v.Type()) && z.first(v) {
			z.take(int(v.Type().Elem().Size()))
			z.add(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			z.take(int(v.Elem().Type().Size()))
			z.add(v.Elem())
		}
	case reflect.Slice:
		if z.first(v) {
			z.take(v.Cap() * int(v.Type().Elem().Size()))
			z.each(v)
		}
	case reflect.Array:
		z.each(v)
	case reflect.Map:
		if z.first(v) {
			z.addMap(v)
		}
	case reflect.Struct:
		for _, i := range leading(v.Type()) {
			z.add(v.Field(i))
		}
	default: // numbers, and functions, which are the program's
	}
}

func (z *sizer) each(v reflect.Value) {
	if !leads(v.Type().Elem()) {
		return
	}
	for i := range v.Len() {
		z.add(v.Index(i))
	}
}

// addMap counts a map: a header and, once there is something in it, groups of eight places with
// eight bytes of their own, of which seven may be taken.
func (z *sizer) addMap(v reflect.Value) {
	const header, group = 48, 8
	pair := pairSize(v.Type())
	places := group
	for places < v.Len() || places > group && places*7/8 < v.Len() {
		places *= 2
	}
	z.take(header)
	if v.Len() == 0 {
		return
	}
	z.take(places*pair + places)
	if !leads(v.Type().Key()) && !leads(v.Type().Elem()) {
		return
	}
	for it := v.MapRange(); it.Next(); {
		z.add(it.Key())
		z.add(it.Value())
	}
}

// pairSize is what a key and its value take where they stand side by side.
func pairSize(m reflect.Type) int {
	key, value := m.Key(), m.Elem()
	align := max(key.Align(), value.Align())
	return (int(key.Size()+value.Size()) + align - 1) &^ (align - 1)
}

// yieldEvery is after how many of what it counts a sizer lets others run: answers wait for the
// same processor, and a set may be large.
const yieldEvery = 256

// first reports whether something that is pointed to was not counted before.
func (z *sizer) first(v reflect.Value) bool {
	at := v.Pointer()
	if at == 0 || z.seen[at] {
		return false
	}
	z.seen[at] = true
	if len(z.seen)%yieldEvery == 0 {
		runtime.Gosched()
	}
	return true
}

// take counts an allocation.
func (z *sizer) take(n int) {
	const least = 8
	if n > 0 {
		z.bytes += int64((n + least - 1) &^ (least - 1))
	}
}

// leads reports whether values of a type may lead to others that count.
func leads(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Interface, reflect.Slice, reflect.Map:
		return true
	case reflect.Pointer:
		return !shared[t]
	case reflect.Struct:
		return len(leading(t)) > 0
	case reflect.Array:
		return leads(t.Elem())
	default:
		return false
	}
}

// leadingFields has what leading found out, by the type: to ask a type for its fields costs
// far more than to look at them.
var leadingFields sync.Map // of []int

// leading returns the fields of a struct that lead to others, by their index.
func leading(t reflect.Type) []int {
	if known, ok := leadingFields.Load(t); ok {
		return known.([]int) // the map holds nothing else
	}
	var all []int
	for i := range t.NumField() {
		if leads(t.Field(i).Type) {
			all = append(all, i)
		}
	}
	leadingFields.Store(t, all)
	return all
}
