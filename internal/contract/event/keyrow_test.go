package event

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// member is a member of an object: a key as it is written, and the members of its value, which
// is a number when there are none.
type member struct {
	key    string
	within []member
}

// writtenKeys are few, so that they meet; two are the same key written otherwise, and two are
// longer than what is expected again.
var writtenKeys = []string{
	"a", "b", "c", "dd", "ee", `\u0061`, "f f", "", "thirteen-long", "a-key-of-more-than-sixteen", "another-key-beyond-sixteen",
}

// change makes the members of one object those of the next: mostly the same.
func change(r *rand.Rand, of []member, depth int) []member {
	next := slices.Clone(of)
	for range r.IntN(3) {
		fresh := member{key: writtenKeys[r.IntN(len(writtenKeys))]}
		if r.IntN(2) == 0 {
			fresh.key = strconv.Itoa(r.IntN(100)) // so that there are objects of very many keys
		}
		if depth < 2 && r.IntN(4) == 0 {
			fresh.within = change(r, nil, depth+1)
		}
		if len(next) == 0 {
			next = append(next, fresh)
			continue
		}
		at := r.IntN(len(next))
		within := next[at].within
		switch what := r.IntN(5); {
		case what == 0:
			next = slices.Delete(next, at, at+1)
		case what == 1:
			next[at] = fresh
		case what == 2 && within != nil && at+1 < len(next): // the next member moves into this one
			next[at].within = append(slices.Clone(within), next[at+1])
			next = slices.Delete(next, at+1, at+2)
		case what == 3 && len(within) > 1: // the last one within moves out
			next[at].within = slices.Clone(within[:len(within)-1])
			next = slices.Insert(next, at+1, within[len(within)-1])
		case len(next) < 2*comparedKeys:
			next = slices.Insert(next, at, fresh)
		}
	}
	for i := range next {
		if next[i].within != nil {
			next[i].within = change(r, next[i].within, depth+1)
		}
	}
	return next
}

// written returns the object, and whether it, or one within it, has a key twice.
func written(of []member) (object string, twice bool) {
	var b strings.Builder
	b.WriteByte('{')
	seen := map[string]bool{}
	for i, m := range of {
		if i > 0 {
			b.WriteByte(',')
		}
		key := strings.ReplaceAll(m.key, `\u0061`, "a")
		twice = twice || seen[key]
		seen[key] = true
		value := "1"
		if m.within != nil {
			var within bool
			value, within = written(m.within)
			twice = twice || within
		}
		b.WriteString(`"` + m.key + `":` + value)
	}
	b.WriteByte('}')
	return b.String(), twice
}

// eventWith is an event with such properties. More follows them: a key at the end of a body is
// read as if nothing was expected.
func eventWith(properties string) []byte {
	return []byte(`{"name":"a","properties":` + properties + `,"sessionId":"0123456789abcdef"}`)
}

// Keys that were new to the object before are not compared again; all others are.
func TestAKeyTwiceIsFoundWhateverObjectsCameBefore(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	var d Decoder
	var properties []member
	found, fine := 0, 0
	for range 100_000 {
		switch _, twice := written(properties); {
		case !twice:
			properties = change(r, properties, 0)
		case r.IntN(3) == 0:
			properties = properties[:r.IntN(len(properties))]
		case r.IntN(2) == 0: // otherwise the same again
			properties = change(r, properties, 0)
		}
		object, twice := written(properties)
		for range 3 { // read, expected, known
			if _, err := d.Decode(eventWith(object)); (err != nil) != twice {
				t.Fatalf("%s: %v, want a key twice: %v", object, err, twice)
			}
		}
		if twice {
			found++
		} else {
			fine++
		}
	}
	if found < 10_000 || fine < 10_000 {
		t.Errorf("%d objects with a key twice and %d without are too few", found, fine)
	}
}

func TestAKeyTwiceIsFoundInAnObjectOfAnySize(t *testing.T) {
	t.Parallel()
	var d Decoder
	for n := range 3 * lapKeys {
		var of []member
		for i := range n {
			of = append(of, member{key: strconv.Itoa(i)})
		}
		for range 3 {
			object, _ := written(of)
			if _, err := d.Decode(eventWith(`{"within":` + object + `}`)); err != nil {
				t.Fatalf("%s: %v", object, err)
			}
		}
		for i := range of {
			object, _ := written(append(of[:n:n], of[i]))
			if _, err := d.Decode(eventWith(`{"within":` + object + `}`)); err == nil {
				t.Errorf("%s is taken", object)
			}
		}
	}
}

// What is known of keys is known of those that stood before them in one object, without others
// between that were within.
func TestAKeyTwiceIsFoundWhereObjectsWithinChange(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ before, twice string }{
		{`{"k":{"a":1},"a":1}`, `{"k":{"a":1,"a":1}}`},
		{`{"a":{"n":1,"a":1}}`, `{"a":{"n":1},"a":1}`},
		{`{"a":1,"b":{"c":1},"c":1}`, `{"a":1,"b":{"c":1,"c":1}}`},
		{`{"a":1,"b":{"c":1,"a":1}}`, `{"a":1,"b":{"c":1},"a":1}`},
	} {
		var d Decoder
		for range 3 {
			if _, err := d.Decode(eventWith(tc.before)); err != nil {
				t.Fatalf("%s: %v", tc.before, err)
			}
		}
		if _, err := d.Decode(eventWith(tc.twice)); err == nil {
			t.Errorf("%s is taken after %s", tc.twice, tc.before)
		}
	}
}
