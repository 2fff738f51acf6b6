package flageval

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// changing is flags and segments that change one at a time.
type changing struct {
	madeUp

	flags    []Member[Definition]
	segments []Member[Segment]
}

func newChanging(seed uint64) *changing {
	c := &changing{madeUp: madeUp{rand.New(rand.NewPCG(seed, 0))}}
	c.segments = []Member[Segment]{{Is: c.segment("s0")}, {Is: c.segment("s1")}}
	for i := range 6 {
		c.flags = append(c.flags, Member[Definition]{Is: c.flag(i)})
	}
	return c
}

func (c *changing) segment(key string) *Segment {
	return &Segment{Key: key, UserIDs: []string{fmt.Sprint("u", c.IntN(50))}}
}

// flag is one that may need those before it.
func (c *changing) flag(i int) *Definition {
	var others []string
	for n := range i {
		others = append(others, fmt.Sprint("f", n))
	}
	return c.definition(fmt.Sprint("f", i), others)
}

// change replaces, removes or adds something; all that was handed out stays as it is.
func (c *changing) change() {
	switch i := c.IntN(6); {
	case c.some(5):
		n := c.IntN(2)
		c.segments = slices.Clone(c.segments)
		c.segments[n].Is = c.segment(c.segments[n].Is.Key)
	case c.some(3):
		key := fmt.Sprint("f", i)
		without := slices.DeleteFunc(slices.Clone(c.flags), func(m Member[Definition]) bool { return m.Is.Key == key })
		if len(without) == len(c.flags) {
			without = append(without, Member[Definition]{Is: c.flag(i)})
		}
		c.flags = without
	default:
		c.flags = slices.Clone(c.flags)
		if n := i % max(1, len(c.flags)); n < len(c.flags) {
			var place int
			_, _ = fmt.Sscanf(c.flags[n].Is.Key, "f%d", &place)
			c.flags[n].Is = c.flag(place)
		}
	}
}

func (c *changing) compiled(t *testing.T, was *Set) *Set {
	t.Helper()
	s, err := Recompile(was, c.flags, c.segments)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestASetThatTakesOverServesWhatANewOneDoes changes sets a thousand times, one on top of another.
func TestASetThatTakesOverServesWhatANewOneDoes(t *testing.T) {
	t.Parallel()
	c := newChanging(3)
	s := c.compiled(t, nil)
	for range 1000 {
		c.change()
		next := c.compiled(t, s)
		fresh := c.compiled(t, nil)
		var mine, theirs Evaluator
		ctx, environment, at := c.context(), c.of("", "stage"), c.near()
		mine.Reset(next, ctx, environment, at)
		theirs.Reset(fresh, ctx, environment, at)
		for _, m := range c.flags {
			got, want := served(&mine, next.Flag("", m.Is.Key)), served(&theirs, fresh.Flag("", m.Is.Key))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%+v (-compiled anew +taken over):\n%s", m.Is, diff)
			}
		}
		s = next
	}
}

func TestWhatDidNotChangeIsTakenOver(t *testing.T) {
	t.Parallel()
	c := newChanging(4)
	was := c.compiled(t, nil)
	c.flags = slices.Clone(c.flags)
	c.flags[2].Is = c.flag(2)
	is := c.compiled(t, was)
	for i, m := range c.flags {
		of := name{"", m.Is.Key}
		if same := is.flags[of].base == was.flags[of].base; same != (i != 2) {
			t.Errorf("after a change of f2, the plan of %s is the same: %t", m.Is.Key, same)
		}
		if is.flags[of] == was.flags[of] {
			t.Errorf("%s stands in two sets, each of which has its own places", m.Is.Key)
		}
	}
	c.segments = slices.Clone(c.segments)
	c.segments[0].Is = c.segment("s0")
	if other := c.compiled(t, is); other.ordered[0].base == is.ordered[0].base {
		t.Error("a plan is taken over that may ask for a segment as it was")
	}
}

// asking has a rule for each of some attributes.
func asking(key string, attributes int) Member[Definition] {
	d := &Definition{Key: key, DefaultVariant: "a", OffVariant: "a", Variants: []Variant{{Key: "a"}}}
	var all []Condition
	for i := range attributes {
		all = append(all, Condition{Attribute: fmt.Sprint(key, i), Op: OpExists})
	}
	d.Rules = []Rule{{Conditions: &Conditions{All: all}, Serve: Serve{Variant: "a"}}}
	return Member[Definition]{Is: d}
}

// Attributes that nobody asks about any more are forgotten once there are too many.
func TestAttributesDoNotAddUp(t *testing.T) {
	t.Parallel()
	kept := asking("kept", 1)
	for attributes, want := range map[int]int{maxSlots - 1: maxSlots, maxSlots: 1} {
		was, err := Recompile(nil, []Member[Definition]{kept, asking("gone", attributes)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		is, err := Recompile(was, []Member[Definition]{kept}, nil)
		if err != nil || len(is.slots) != want {
			t.Errorf("after a set with %d attributes, the next knows %d, %v; want %d", len(was.slots), len(is.slots), err, want)
		}
	}
}
