package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// What is asked for is held, and what comes back is found again by those who need
// as much, and by nobody who needs more.
func TestAFetchIsDecodedIntoMemoryOfItsSize(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 3, 100, 1023, 1024, 1025} {
		var p fetchPool
		got := p.GetRecords(n)
		if cap(got) < n || cap(got) > max(1, 2*n) {
			t.Errorf("asked for %d records, got room for %d", n, cap(got))
		}
		if b := p.GetDecompressBytes(make([]byte, n), kgo.CodecLz4); cap(b) < expansion*n || cap(b) > max(1, 2*expansion*n) {
			t.Errorf("asked for %d bytes compressed, got room for %d", n, cap(b))
		}
	}
	for _, c := range []int{1, 2, 3, 4, 1000, 1024} {
		if n := classOf(c); 1<<n > c || 2<<n <= c {
			t.Errorf("what holds %d is in class %d", c, n)
		}
	}
}
