package buffer

import "slices"

// epochs are the leader epochs of a partition's records in hand. They change when another
// broker leads, so there is seldom more than one.
type epochs struct {
	before int32 // of the record before the range; -1 when it is not known
	spans  []epochSpan
}

// epochSpan is an epoch and the first offset that it was seen at.
type epochSpan struct {
	from  int64
	epoch int32
}

// at notes the epoch of the next record.
func (e *epochs) at(offset int64, epoch int32) {
	last := e.before
	if n := len(e.spans); n > 0 {
		last = e.spans[n-1].epoch
	}
	if epoch != last {
		e.spans = append(e.spans, epochSpan{offset, epoch})
	}
}

// upTo returns the epoch of the last record at or below an offset, and forgets those
// before it.
func (e *epochs) upTo(last int64) int32 {
	for len(e.spans) > 0 && e.spans[0].from <= last {
		e.before, e.spans = e.spans[0].epoch, e.spans[1:]
	}
	return e.before
}

// seen returns the epoch of the last record at or below an offset, -1 when it is not known.
// Nothing is forgotten.
func (e *epochs) seen(last int64) int32 {
	epoch := e.before
	for _, s := range e.spans {
		if s.from > last {
			break
		}
		epoch = s.epoch
	}
	return epoch
}

// lostAt is upTo for an offset whose record is gone, as by compaction, and its epoch with it.
// That of a record before it may have ended earlier: a broker that was told of it would say
// that its log parts there. It returns -1.
func (e *epochs) lostAt(last int64) int32 {
	known := e.upTo(last)
	if len(e.spans) == 0 || e.spans[0].from > last+1 {
		e.spans = slices.Insert(e.spans, 0, epochSpan{last + 1, known}) // of the records behind it
	}
	e.before = -1
	return e.before
}

// forgotten is what is known once the records in hand are let go.
func (e *epochs) forgotten() epochs { return epochs{before: e.before} }
