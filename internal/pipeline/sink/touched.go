package sink

import (
	"slices"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// touched collects which owners' days a range changes. Rows of one owner and day
// mostly follow each other, so most rows cost a comparison.
type touched struct {
	last  []ledger.Touched // of each owner the latest day, to be found by index
	rows  []int            // of each owner
	index map[string]int
	more  map[ledger.Touched]struct{} // the other days
}

func (t *touched) reset() {
	t.last, t.rows = t.last[:0], t.rows[:0]
	clear(t.index)
	clear(t.more)
}

// add notes that a row of an owner at a time is stored. It allocates only for an
// owner or a day that is new.
func (t *touched) add(owner []byte, millis int64) {
	day := record.Day(millis)
	i, ok := t.index[string(owner)]
	if !ok {
		if t.index == nil {
			t.index, t.more = map[string]int{}, map[ledger.Touched]struct{}{}
		}
		t.index[string(owner)] = len(t.last)
		t.last, t.rows = append(t.last, ledger.Touched{Owner: string(owner), Day: day}), append(t.rows, 1)
		return
	}
	t.rows[i]++
	if l := &t.last[i]; l.Day != day {
		t.more[*l] = struct{}{}
		l.Day = day
	}
}

// all returns each pair once, by owner and day.
func (t *touched) all() []ledger.Touched {
	pairs := slices.Clone(t.last)
	for p := range t.more {
		if i := t.index[p.Owner]; t.last[i] != p {
			pairs = append(pairs, p)
		}
	}
	slices.SortFunc(pairs, func(a, b ledger.Touched) int {
		if a.Owner != b.Owner {
			if a.Owner < b.Owner {
				return -1
			}
			return 1
		}
		return int(a.Day - b.Day)
	})
	return pairs
}

// largest returns the places of up to n owners with the most rows.
func (t *touched) largest(n int) []int {
	top := make([]int, 0, n+1)
	for i, rows := range t.rows {
		at := len(top)
		for at > 0 && t.rows[top[at-1]] < rows {
			at--
		}
		if at < n {
			top = slices.Insert(top, at, i)
			top = top[:min(len(top), n)]
		}
	}
	return top
}
