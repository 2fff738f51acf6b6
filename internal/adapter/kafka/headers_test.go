package kafka

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/testkit"
)

// In whatever order they come, however often, with whatever else: headers are read as they
// are when their keys are looked up one by one.
func TestHeadersAreReadInAnyOrder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	some := []record.Header{{Key: "other", Value: []byte("x")}, {Key: "eid", Value: []byte("zz")}, {Key: "", Value: nil}}
	for _, h := range record.HeaderTable {
		some = append(some, record.Header{Key: h.Key, Value: []byte(h.Example)})
	}
	whole, rounds := 0, 500
	if testkit.Strict() {
		rounds = 5000
	}
	for round := range rounds {
		list := append([]record.Header(nil), some[3:]...) // in the order of writing
		for range round % 4 {
			i := rng.IntN(len(list))
			switch rng.IntN(3) {
			case 0:
				list[i] = some[rng.IntN(len(some))]
			case 1:
				list = append(list[:i], list[i+1:]...)
			default:
				list[i], list[0] = list[0], list[i]
			}
		}
		b := binary.AppendVarint(nil, int64(len(list)))
		for _, h := range list {
			b = append(binary.AppendVarint(b, int64(len(h.Key))), h.Key...)
			b = append(binary.AppendVarint(b, int64(len(h.Value))), h.Value...)
		}
		want, wantErr := record.ParseHeaders(list)
		var got record.Headers
		f := fields{rest: b}
		err := f.headers(&got)
		if err == nil {
			whole++
		} else {
			got = record.Headers{}
		}
		diff := cmp.Diff(want, got, bytesAtOnce, cmpopts.IgnoreUnexported(record.Headers{}), cmpopts.EquateEmpty())
		if diff != "" || (err == nil) != (wantErr == nil) {
			t.Fatalf("%v: %v, want %v (-want +got):\n%s", list, err, wantErr, diff)
		}
		if f.bad || len(f.rest) > 0 {
			t.Fatalf("%v: %d bytes are left, malformed %v", list, len(f.rest), f.bad)
		}
		for cut := range b { // the record ends early
			if f := (fields{rest: b[:cut]}); f.headers(&record.Headers{}) == nil && !f.bad {
				t.Fatalf("%v: %d bytes of %d are taken", list, cut, len(b))
			}
		}
	}
	if whole == 0 || whole == rounds {
		t.Errorf("%d of the lists were whole", whole)
	}
}

// A thousand headers are read, and of more none is: what a record may have is the same for
// all who read it.
func TestOfTooManyHeadersNoneIsRead(t *testing.T) {
	t.Parallel()
	var good []record.Header
	for _, h := range record.HeaderTable {
		good = append(good, record.Header{Key: h.Key, Value: []byte(h.Example)})
	}
	for n, want := range map[int]error{record.MaxHeaders: nil, record.MaxHeaders + 1: record.ErrTooManyHeaders} {
		list := append(emptyHeaders(n-len(good)), good...)
		b := binary.AppendVarint(nil, int64(n))
		for _, h := range list {
			b = append(binary.AppendVarint(b, int64(len(h.Key))), h.Key...)
			b = append(binary.AppendVarint(b, int64(len(h.Value))), h.Value...)
		}
		f := fields{rest: b}
		var h record.Headers
		if err := f.headers(&h); !errors.Is(err, want) || f.bad || (h.ReceivedAt == 0) != (want != nil) {
			t.Errorf("%d headers of a batch: %v, %+v", n, err, h)
		}
		if _, err := record.ParseHeaders(list); !errors.Is(err, want) {
			t.Errorf("%d headers: %v", n, err)
		}
	}
}
