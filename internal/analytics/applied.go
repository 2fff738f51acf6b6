package analytics

import "cmp"

// Applied is what a parameter was taken for, where the request leaves it open.
type Applied struct {
	// Limit and Page are those of its rows; 0 for a response of one row.
	Limit, Page int
	// Sort is the column that it is ordered by, after a minus where the largest comes
	// first; empty for a response of one row.
	Sort string
	// Filters is how many leave something out.
	Filters int
}

// appliedTo returns what a request means for a type.
func appliedTo(t *Type, r *Request) Applied {
	a := Applied{Filters: countFilters(r.Filters)}
	if t.SingleRow() {
		return a
	}
	a.Limit, a.Page = cmp.Or(r.Limit, t.DefaultLimit), max(r.Page, 1)
	by, desc := ordered(t, r)
	if a.Sort = by; desc {
		a.Sort = "-" + by
	}
	return a
}
