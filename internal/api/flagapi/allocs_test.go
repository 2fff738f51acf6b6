package flagapi

import (
	"testing"

	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// A response's size costs nothing but its bytes: no flag of it is allocated for.
func TestNoFlagOfAResponseIsAllocatedFor(t *testing.T) { //nolint:paralleltest // others would allocate meanwhile
	w := new(work)
	w.set, w.website = testSet(t, benchFlags(100)), &websites[0]
	w.person = flageval.Context{UserID: "user-4711", Email: "ann@shop.example", OrganizationID: "acme", TeamID: "team-9"}
	var list listing
	evaluate := func() {
		list.body, list.n = list.body[:0], 0
		w.evaluator.Reset(w.set.Compiled, &w.person, "", now)
		for f := range w.set.All(w.website.ID) {
			if w.sees(f) {
				list.add(w, f)
			}
		}
		w.etag = appendETag(w.etag[:0], list.body)
	}
	evaluate()
	const walk = 6 // of the iterator, once for all flags
	if n := testing.AllocsPerRun(100, evaluate); n > walk || list.n != 100 {
		t.Errorf("%g allocations for %d flags", n, list.n)
	}
}
