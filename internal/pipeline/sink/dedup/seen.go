package dedup

import (
	"maps"
	"slices"
)

// seen counts records by the bucket of their receipt.
type seen struct {
	counts map[int32]*int
	last   int32 // the bucket of the last record, and
	count  *int  // its count
	total  int
	newest int32
	turned bool // a record was received well before one that was read earlier
}

func (s *seen) add(b int32) {
	if s.count == nil || b != s.last {
		s.last, s.count = b, s.counts[b]
		if s.count == nil {
			s.count = new(int)
			s.counts[b] = s.count
		}
		s.newest = max(s.newest, b)
		s.turned = s.turned || b+slackBuckets < s.newest
	}
	*s.count++
	s.total++
}

// low returns the bucket up to which a tenth of the records were received; 0 of none.
func (s *seen) low() int32 {
	below := 0
	for _, b := range slices.Sorted(maps.Keys(s.counts)) {
		if below += *s.counts[b]; below > s.total/followed {
			return b
		}
	}
	return 0
}

func (s *seen) reset() {
	clear(s.counts)
	*s = seen{counts: s.counts}
}
