package sink

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer/buffertest"
	"github.com/millrace/millrace/internal/pipeline/sink/dedup"
)

// heavyBatch is a batch whose records have large headers, which count nothing in hand.
type heavyBatch struct {
	*buffertest.Packed

	header int // bytes of each record's
	room   int // bytes that it takes unpacked, at least
	opened int // how often it was
	copied int // originals
	fails  error
	panics bool
}

// heavyOpened is a heavyBatch that is unpacked.
type heavyOpened struct {
	buffer.Unpacked

	batch *heavyBatch
}

func (b *heavyBatch) Open(buffer.Unpacked) (buffer.Unpacked, error) {
	b.opened++
	u, err := b.Packed.Open(nil)
	return &heavyOpened{u, b}, errors.Join(err, b.fails)
}

func (o *heavyOpened) Records() []byte {
	return append(make([]byte, 0, o.batch.room), o.Unpacked.Records()...)
}

func (o *heavyOpened) Original(offset int64) (buffer.Original, error) {
	if o.batch.panics {
		panic("a mistake") //nolint:forbidigo // what the test is about
	}
	o.batch.copied++
	original, err := o.Unpacked.Original(offset)
	original.Headers = []record.Header{{Value: make([]byte, o.batch.header)}}
	return original, err
}

// sending is a DeadLetters.
type sending func(letters []DeadLetter) error

func (s sending) Send(_ context.Context, letters []DeadLetter) error { return s(letters) }

// heavyRange is a range of n records that lack a header, built.
func heavyRange(t *testing.T, n int, b *heavyBatch) *job {
	t.Helper()
	records := make([]buffer.Record, n)
	for i := range records {
		records[i] = buffer.Record{Offset: int64(i), BadHeaders: true}
	}
	b.Packed = buffertest.Pack(records)
	o, m := buffer.NewOpen(0, -1), buffer.NewMemory(2)
	o.Append(b, records, time.Time{}, m)
	r := &job{Range: o.Seal(n, int64(n-1), m)}
	if err := (&builder{}).build(r, part, dedup.NewWindow(time.Hour, 1000),
		func() Block { return &memoryBlock{} }); err != nil {
		t.Fatal(err)
	}
	b.opened = 0
	return r
}

// heavyWorker is a worker whose dead letters go to send.
func heavyWorker(t *testing.T, send sending) *worker {
	t.Helper()
	s := newSink(t, testConfig(), newWorld(part))
	s.deps.DeadLetters = send
	return newWorker(s.common, Assignment{Partition: part, Committed: -1})
}

// Headers and keys count nothing while they are packed: what a range has of them is never in
// memory at once.
func TestABuildCopiesNoOriginals(t *testing.T) {
	t.Parallel()
	b := &heavyBatch{header: 1}
	r := heavyRange(t, 1000, b)
	if len(r.letters) != 1000 || b.copied != 0 {
		t.Errorf("%d letters, %d originals are copied", len(r.letters), b.copied)
	}
}

func TestDeadLettersAreCopiedAndCountedWhileTheyAreSent(t *testing.T) {
	t.Parallel()
	const quarter = letterBytesAtOnce/4 - buffer.HeaderOverhead - len("web_1") // of a header, of a letter that is one
	for _, tc := range []struct {
		name      string
		n, header int
		want      []int
	}{
		{"as many as may wait", lettersAtOnce, 1, []int{lettersAtOnce}},
		{"one more", lettersAtOnce + 1, 1, []int{lettersAtOnce, 1}},
		{"as large as may be", 4, quarter, []int{4}},
		{"one beyond that", 5, quarter, []int{4, 1}},
		{"each a byte smaller", 6, quarter - 1, []int{5, 1}},
		{"each too large alone", 3, letterBytesAtOnce, []int{1, 1, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := &heavyBatch{header: tc.header, room: 1 << 10}
			r := heavyRange(t, tc.n, b)
			var w *worker
			var got []int
			sent := 0
			w = heavyWorker(t, func(letters []DeadLetter) error {
				sent += len(letters)
				got = append(got, len(letters))
				bytes := int64(len(letters)*(tc.header+buffer.HeaderOverhead+len("web_1")) + b.room)
				if n := len(w.copying); n > 0 {
					t.Errorf("what waits for a broker has %d places of those that copy", n)
				}
				if used := w.budget.InUse(); used != bytes || b.copied != sent {
					t.Errorf("%d bytes count, want %d; %d originals are copied, %d sent", used, bytes, b.copied, sent)
				}
				return nil
			})
			if err := w.settler.sendLetters(t.Context(), r, r.letters); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || w.budget.InUse() != 0 {
				t.Errorf("%d bytes count afterwards; sent at a time (-want +got):\n%s", w.budget.InUse(), diff)
			}
		})
	}
}

// A batch stays unpacked from one sending to the next, unless it is so large that partitions
// that wait for a broker would take too much together.
func TestALargeBatchDoesNotStayUnpackedWhileItsLettersWait(t *testing.T) {
	t.Parallel()
	for room, want := range map[int]int{buffer.KeptOpen: 1, buffer.KeptOpen + 1: 3} {
		b := &heavyBatch{room: room}
		r := heavyRange(t, 2*lettersAtOnce+1, b)
		var offsets []int64
		w := heavyWorker(t, func(letters []DeadLetter) error {
			for i := range letters {
				offsets = append(offsets, letters[i].Original.Offset)
			}
			return nil
		})
		if err := w.settler.sendLetters(t.Context(), r, r.letters); err != nil {
			t.Fatal(err)
		}
		if b.opened != want || len(offsets) != len(r.letters) || offsets[len(offsets)-1] != r.Last {
			t.Errorf("%d bytes were unpacked %d times, want %d; %d letters are sent", room, b.opened, want, len(offsets))
		}
	}
}

// What cannot be read again has its partition halt, and so has a panic: it is in a
// goroutine of its own, and would end all others.
func TestDeadLettersThatCannotBeReadStopTheirPartition(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[HaltReason]func(*heavyBatch){
		HaltBatch: func(b *heavyBatch) { b.fails = errors.New("malformed") },
		HaltPanic: func(b *heavyBatch) { b.panics = true },
	} {
		b := &heavyBatch{}
		r := heavyRange(t, 2, b)
		spoil(b)
		w := heavyWorker(t, func([]DeadLetter) error { return fmt.Errorf("%s: nothing is to be sent", want) })
		var got *haltError
		if err := w.settler.sendLetters(t.Context(), r, r.letters); !errors.As(err, &got) || got.reason != want {
			t.Errorf("is halted for %v, want %s", err, want)
		}
		if used := w.budget.InUse(); used != 0 {
			t.Errorf("%s: %d bytes count", want, used)
		}
	}
}

// Few copy at a time, each out of a batch that may be large; who is to end does not wait.
func TestDeadLettersWaitForAPlaceToBeCopied(t *testing.T) {
	t.Parallel()
	b := &heavyBatch{}
	r := heavyRange(t, 1, b)
	w := heavyWorker(t, func([]DeadLetter) error { return nil })
	for range testConfig().Connections {
		w.copying <- struct{}{}
	}
	close(w.abort)
	if err := w.settler.sendLetters(t.Context(), r, r.letters); !errors.Is(err, errAborted) || b.opened > 0 {
		t.Errorf("%v; %d batches are unpacked", err, b.opened)
	}
}
