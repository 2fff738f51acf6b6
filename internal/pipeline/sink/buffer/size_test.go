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
