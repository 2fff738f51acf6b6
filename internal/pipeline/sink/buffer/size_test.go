package buffer

import (
	"testing"
	"unsafe"
)

func TestAHeldRecordCountsWhatItTakes(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(Held{}); size > overhead {
		t.Errorf("%d bytes, counted as %d", size, overhead)
	}
}

// Where nothing lay in memory is no memory to keep.
func TestOnlyWhatHasMemoryIsKept(t *testing.T) {
	t.Parallel()
	m, o := NewMemory(1), NewOpen(0, -1)
	o.Release(m)
	(&Range{}).Release(m)
	(&Range{Records: make([]Held, 5)}).Release(m)
	if got := m.held.Get(); len(got) != 0 || cap(got) != 5 {
		t.Errorf("%d of %d records are kept, want memory for 5", len(got), cap(got))
	}
}
