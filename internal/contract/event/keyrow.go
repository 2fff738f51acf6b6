package event

import "math/bits"

// keyRow is an object whose keys are being read. Programs write the properties of one event
// with the keys of the last: as long as keys are expected, one behind the other, in an object
// in which they were all new before, they need not be compared again.
type keyRow struct {
	scope   keyScope
	members int  // keys that were read
	first   uint // step of the first of them
	inRow   int  // how many of the first ones were expected, one behind the other
	// listed says that the keys are in the keySet. Before, they are known to differ, and
	// begin at starts.
	listed bool
	starts [comparedKeys]uint32
}

// known returns the position of the value when at i stands the key that is expected, and it
// is known to be new to an object; else 0.
func (s *Scanner) known(row *keyRow, i int) (value int) {
	k := &s.lap[s.step%lapKeys]
	if k.before != row.members || row.listed || s.step-row.first != uint(row.members) {
		return 0
	}
	value = k.match(s.body, i)
	if value > 0 {
		row.starts[row.members%comparedKeys] = uint32(i)
		row.inRow++
		s.step++
		if s.body[value] <= ' ' {
			value = s.Blank(value)
		}
	}
	return value
}

// member reads a key of an object, which must be new to it, and returns the position of
// the value.
func (s *Scanner) member(row *keyRow, i int) (value int) {
	key, value := s.Key(i)
	if value >= 0 && !s.add(row, key) && !s.keys.idle {
		return s.fail(i, s.keys.rejection())
	}
	return value
}

// add reports whether the key that was read last, which is not known to be, is new to an
// object, as keySet.add does. One that is, and was expected, will be known in the objects to come.
func (s *Scanner) add(row *keyRow, key []byte) bool {
	if !row.listed {
		row.listed = true
		for _, at := range row.starts[:row.members] {
			s.keys.add(&row.scope, s.body[at+1:plainEnd(s.body, int(at)+1)])
		}
	}
	if !s.keys.add(&row.scope, key) {
		return false
	}
	if row.members < comparedKeys && s.matched && row.inRow == row.members && s.step-row.first == uint(row.members)+1 {
		s.note(s.step-1, row.members)
		row.inRow++
	}
	return true
}

// note keeps of the key of a step how many keys before it, one behind the other, it differs from.
func (s *Scanner) note(step uint, before int) {
	at := step % lapKeys
	s.lap[at].before = before
	s.behind &^= 1 << at
	if before > 0 {
		s.behind |= 1 << at
	}
}

// forget drops what is known of the key of a step, and of those behind it as far as it is about
// the one that stood there before.
func (s *Scanner) forget(step uint) {
	at := step % lapKeys
	s.lap[at].before = noneKnown
	if s.behind == 0 {
		return
	}
	s.behind &^= 1 << at
	near := bits.RotateLeft32(s.behind, -int((step+1)%lapKeys)) & (1<<(comparedKeys-1) - 1)
	for ; near != 0; near &= near - 1 {
		n := 1 + bits.TrailingZeros32(near)
		if s.lap[(step+uint(n))%lapKeys].before >= n {
			s.note(step+uint(n), noneKnown)
		}
	}
}
