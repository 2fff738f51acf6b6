package storetest

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/tenant/org"
)

// walk changes flags at random, and what they belong to: two organizations with two websites each.
// A seed is one walk, whatever ids there are.
type walk struct {
	*Fixture
	*rand.Rand

	service       *flag.Service
	organizations []*owner
	shops         []*owner // websites
	epoch         int64
	done          map[string]int // changes, by what they are
}

// owner is an organization or a website.
type owner struct {
	id   string
	of   *owner // a website's organization
	gone bool
}

// lives reports whether what an owner has is found.
func (o *owner) lives() bool { return !o.gone && (o.of == nil || o.of.lives()) }

func (f *Fixture) walk(seed uint64, organizations ...*org.Organization) *walk {
	f.tb.Helper()
	w := &walk{Fixture: f, Rand: rand.New(rand.NewPCG(seed, 0)), service: f.flags(), epoch: 1, done: map[string]int{}}
	for _, o := range organizations {
		is := &owner{id: o.ID}
		w.organizations = append(w.organizations, is)
		for range 2 {
			w.shops = append(w.shops, &owner{id: f.Website(o.ID).ID, of: is})
		}
	}
	return w
}

// errNone says that there is nothing that could be changed so.
var errNone = errors.New("there is none")

// step changes something by a clock that is somebody's, and now and then far ahead. It returns
// what, and what came of it.
func (w *walk) step() (name string, err error) {
	w.tb.Helper()
	at := Start.Add(time.Duration(w.IntN(20)-10) * 100 * time.Millisecond)
	if w.IntN(20) == 0 {
		at = at.Add(time.Hour)
	}
	w.Clock.Set(at)
	way := walkSteps[w.way()]
	err = way.step(w)
	if err == nil {
		w.done[way.name]++
	} else if !rejected(err) {
		w.tb.Fatalf("to %s: %v", way.name, err)
	}
	return way.name, err
}

// way is where one of walkSteps stands.
func (w *walk) way() (i int) {
	all := 0
	for _, way := range walkSteps {
		all += way.often
	}
	for at := w.IntN(all); at >= walkSteps[i].often; i++ {
		at -= walkSteps[i].often
	}
	return i
}

// rejected reports whether an error is one of the rules, which a walk runs into.
func rejected(err error) bool {
	_, is := errors.AsType[*apierr.Error](err)
	return is || errors.Is(err, errNone) || errors.Is(err, flag.ErrKeyTaken) || errors.Is(err, flag.ErrSegmentKeyTaken)
}

// pick returns one of several at random, or errNone.
func pick[T any](w *walk, from []T) (one T, err error) {
	if len(from) == 0 {
		return one, errNone
	}
	return from[w.IntN(len(from))], nil
}

// letter is one of a few keys.
func (w *walk) letter(of string) string { return string(of[w.IntN(len(of))]) }

// place is where a flag or a segment could be that has one of a few keys.
func (w *walk) place(keys string) (flag.Spec, error) {
	var all []flag.Spec
	for _, o := range slices.Concat(w.organizations, w.shops) {
		switch {
		case !o.lives():
		case o.of == nil:
			all = append(all, flag.Spec{OrganizationID: o.id})
		default:
			all = append(all, flag.Spec{OrganizationID: o.of.id, WebsiteID: o.id})
		}
	}
	spec, err := pick(w, all)
	spec.Key, spec.Type = w.letter(keys), flag.Boolean
	return spec, err
}

// anyOf picks one of what is listed of the organizations that live.
func anyOf[T interface{ Key() string }](
	w *walk, list func(organizationID string) ([]T, error), owners func(T) (organizationID, websiteID string),
) (one T, err error) {
	var all []T
	for _, o := range w.organizations {
		if !o.lives() {
			continue
		}
		of, err := list(o.id)
		if err != nil {
			return one, err
		}
		all = append(all, of...)
	}
	slices.SortFunc(all, func(a, b T) int {
		ofA, siteA := owners(a)
		ofB, siteB := owners(b)
		return cmp.Or(cmp.Compare(w.rank(ofA), w.rank(ofB)), cmp.Compare(w.rank(siteA), w.rank(siteB)),
			strings.Compare(a.Key(), b.Key()))
	})
	return pick(w, all)
}

// rank is where an owner stands, whatever its id is.
func (w *walk) rank(id string) int {
	return slices.IndexFunc(slices.Concat(w.organizations, w.shops), func(o *owner) bool { return o.id == id })
}

var flagWalkTests = map[string]func(*testing.T, *Fixture){
	"whatever is changed, a set that follows is the one that is read anew": func(t *testing.T, f *Fixture) {
		organizations := []*org.Organization{f.Organization(), f.Organization()}
		w := f.walk(1, organizations...)
		each, late := f.following(organizations...), f.following(organizations...)
		for range 400 {
			name, err := w.step()
			if err != nil {
				continue
			}
			for _, o := range organizations {
				each.follow("after to "+name, o.ID)
				if w.IntN(8) == 0 {
					late.follow("some changes later, after to "+name, o.ID)
				}
			}
		}
		for _, way := range walkSteps {
			if w.done[way.name] == 0 {
				t.Errorf("the walk never came to %s", way.name)
			}
		}
	},
}
