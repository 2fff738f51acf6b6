package exposure

import "testing"

func TestTheMemoryIsBoundedAndKeepsTheLatest(t *testing.T) {
	t.Parallel()
	s := newSeen()
	held := func() (n int) {
		for i := range s.shards {
			n += len(s.shards[i].young) + len(s.shards[i].aged)
		}
		return n
	}
	for hash := range uint64(3 * Remembered) {
		if !s.first(hash) {
			t.Fatalf("%d is known before it was told", hash)
		}
	}
	if n := held(); n > 2*Remembered || n < Remembered {
		t.Errorf("%d are held", n)
	}
	for hash := uint64(2 * Remembered); hash < 3*Remembered; hash++ {
		if s.first(hash) {
			t.Fatalf("%d is forgotten, although fewer came after it", hash)
		}
	}
	if !s.first(0) {
		t.Error("the first of all is still known")
	}
	s.forget(0)
	if !s.first(0) {
		t.Error("what is to be forgotten is known")
	}
}

// Who is served a flag all day is told once, however many others are meanwhile.
func TestWhatComesAgainAndAgainStaysKnown(t *testing.T) {
	t.Parallel()
	s := newSeen()
	s.first(0)
	for hash := range uint64(3 * Remembered) {
		if s.first(hash + 1); hash%1000 == 0 && s.first(0) {
			t.Fatalf("after %d others it is forgotten", hash)
		}
	}
}
