package kafka

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/testkit"
)

// cutLog answers so many fetches as a broker does whose log parts from the one that was
// read at an offset, and notes what each fetch of the test names as the epoch before it.
type cutLog struct {
	mu    sync.Mutex
	times int
	at    int64
	asked []mark // each once, in order
}

func (l *cutLog) control(cluster *kfake.Cluster) {
	cluster.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		fetch, ok := req.(*kmsg.FetchRequest)
		if !ok {
			return nil, nil, false
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		p := &fetch.Topics[0].Partitions[0]
		if m := (mark{p.FetchOffset, p.LastFetchedEpoch}); len(l.asked) == 0 || l.asked[len(l.asked)-1] != m {
			l.asked = append(l.asked, m)
		}
		if l.times == 0 {
			return nil, nil, false
		}
		l.times--
		resp := rejection(fetch, 0, 0)
		resp.Topics[0].Partitions[0].DivergingEpoch = kmsg.FetchResponseTopicPartitionDivergingEpoch{
			Epoch: 0, EndOffset: l.at,
		}
		return resp, nil, true
	})
}

// cut has the next fetches answered so.
func (l *cutLog) cut(times int, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times, l.at = times, at
}

func (l *cutLog) seen() []mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]mark(nil), l.asked...)
}

// Each fetch names the epoch of the leader that appended the record before: of what was
// committed at first, then of what was fetched.
func TestAFetchNamesTheLeaderOfTheRecordBeforeIt(t *testing.T) {
	t.Parallel()
	r, cluster := newReaderOf(t, 1, 1)
	var log cutLog
	log.control(cluster)
	first := epochOfPartition(cluster)
	r.produce(t, 0, 1)
	r.inOrder(t, 0, 0, 1)
	// to the same broker, which is another term
	if err := cluster.MoveTopicPartition(record.TopicEvents, 0, 0); err != nil {
		t.Fatal(err)
	}
	second := epochOfPartition(cluster)
	r.produce(t, 1, 2)
	r.inOrder(t, 0, 1, 2)
	want := []mark{{0, -1}, {1, first}, {2, second}}
	if first == second {
		t.Fatal("a new leader has the epoch of the one before")
	}
	log.hasSeen(t, want)
	// What is read again begins with what stands beside the committed offset.
	progress := sink.Progress{Next: 1, LeaderEpoch: first, Metadata: "m"}
	if err := r.Commit(t.Context(), only, r.currentSession(), progress); err != nil {
		t.Fatal(err)
	}
	r.Rewind(only)
	r.inOrder(t, 0, 1, 2)
	log.hasSeen(t, append(want, mark{1, first}, mark{2, second}))
}

// hasSeen waits until fetches have asked for these, in this order.
func (l *cutLog) hasSeen(t *testing.T, want []mark) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() error {
		if diff := cmp.Diff(want, l.seen(), cmp.AllowUnexported(mark{})); diff != "" {
			return errors.New("asked for (-want +got):\n" + diff)
		}
		return nil
	})
}

func epochOfPartition(cluster *kfake.Cluster) int32 {
	return cluster.PartitionInfo(record.TopicEvents, 0).Epoch
}

// A broker that has just become the leader may lack records for a moment; one that says so
// again and again has lost them, and others stand at their offsets. To read on would skip
// what came between.
func TestALogThatWasCutStopsThePartition(t *testing.T) {
	t.Parallel()
	r, cluster := newReaderOf(t, 1, 1)
	var log cutLog
	log.control(cluster)
	r.produce(t, 0, 5)
	r.inOrder(t, 0, 0, 5)
	log.cut(rangeFails-1, 3)
	r.produce(t, 5, 10)
	r.inOrder(t, 0, 5, 10)
	if diff := cmp.Diff([]string{"assigned"}, r.noted()); diff != "" {
		t.Fatalf("after a moment, calls (-want +got):\n%s", diff)
	}
	log.cut(rangeFails, 7) // a fetch that is under way ends as before: it has nothing to bring until then
	poll := func() {
		t.Helper()
		if err := r.Poll(t.Context(), 1<<20,
			func(b sink.Delivery) { t.Errorf("%d records of another log", len(b.Records)) }); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, time.Minute, func() error {
		poll()
		if diff := cmp.Diff([]string{"assigned", "truncated"}, r.noted()); diff != "" {
			return errors.New("calls (-want +got):\n" + diff)
		}
		return nil
	})
	r.produce(t, 10, 15)
	for range 3 {
		poll()
	}
}

// Other responses between them, and whatever failed before, are no such responses.
func TestOnlyAnswersInARowThatAnOffsetIsNotThereStopAPartition(t *testing.T) {
	t.Parallel()
	const ok = int16(0)
	gone, away := kerr.OffsetOutOfRange.Code, kerr.NotLeaderForPartition.Code
	const cut, rot = int16(-2), int16(-3) // of this test: another log, and a batch that is damaged
	damaged := batchAt(7, 1)
	damaged[len(damaged)-1]++
	for _, tc := range []struct {
		responses []int16
		failed    bool
	}{
		{[]int16{gone, gone}, false},
		{[]int16{gone, gone, gone}, true},
		{[]int16{cut, gone, cut}, true},
		{[]int16{away, away, away, away, gone, cut}, false},
		{[]int16{away, away, away, away, gone, cut, gone}, true},
		{[]int16{gone, gone, away, gone, gone}, false},
		{[]int16{cut, cut, ok, cut, cut}, false},
		{[]int16{cut, cut, ok, cut, cut, cut}, true},
		{[]int16{rot, rot}, false},
		{[]int16{rot, rot, away, rot, rot}, false},
		{[]int16{rot, rot, ok, rot, rot}, false},
		{[]int16{rot, rot, rot}, true},
	} {
		f := newFetcher(1 << 20)
		f.refreshed = time.Now().Add(time.Hour) // there is no client that could look up leaders
		f.begin(only, record.TopicEvents, [16]byte{}, mark{7, 1})
		s := f.streams[only]
		for _, code := range tc.responses {
			got := kmsg.NewFetchResponseTopicPartition()
			switch got.ErrorCode = max(0, code); code {
			case cut:
				got.DivergingEpoch.EndOffset = 3
			case rot:
				got.RecordBatches = damaged
			}
			f.add(0, ask{s, s.next, 1}, &got)
		}
		if s.failed != tc.failed || len(f.failures) > 0 != tc.failed {
			t.Errorf("after %d: failed %v, told %v; want %v", tc.responses, s.failed, f.failures, tc.failed)
		}
	}
}

// A disk that has lost bits gives the same damaged batch for ever. What comes before it is
// delivered first, then the owner is told why nothing more comes.
func TestABatchThatStaysDamagedStopsThePartition(t *testing.T) {
	t.Parallel()
	f := newFetcher(1 << 20)
	f.begin(only, record.TopicEvents, [16]byte{}, mark{7, 1})
	s := f.streams[only]
	damaged := batchAt(8, 1)
	damaged[len(damaged)-1]++
	add := func(batches ...byte) {
		got := kmsg.NewFetchResponseTopicPartition()
		got.RecordBatches = batches
		f.add(0, ask{s, s.next, 1}, &got)
	}
	add(append(batchAt(7, 1), damaged...)...)
	for range rangeFails + 1 {
		add(damaged...)
	}
	if told := f.failed(); len(told) > 0 {
		t.Fatalf("told %v while a batch waits to be delivered", told)
	}
	first, ok := f.take()
	if !ok {
		t.Fatal("what is before the damaged batch is not delivered")
	}
	f.done(&first, 8, true)
	add(damaged...)
	told := f.failed()
	if len(told) != 1 || !errors.Is(told[0].err, buffer.ErrUnreadable) || !errors.Is(told[0].err, errSum) || !s.failed {
		t.Errorf("told %v, want that a batch cannot be read", told)
	}
}

func TestWhyAPartitionGotNothing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		code int16
		end  int64
		want error
	}{
		{0, -1, nil},
		{0, 0, sink.ErrTruncated}, // to the beginning
		{0, 7, sink.ErrTruncated},
		{kerr.OffsetOutOfRange.Code, -1, kerr.OffsetOutOfRange},
		{kerr.FencedLeaderEpoch.Code, 7, kerr.FencedLeaderEpoch},
	} {
		got := kmsg.NewFetchResponseTopicPartition()
		got.ErrorCode, got.DivergingEpoch.EndOffset = tc.code, tc.end
		if err := rejectionOf(&got); !errors.Is(err, tc.want) {
			t.Errorf("code %d, end %d: %v, want %v", tc.code, tc.end, err, tc.want)
		}
	}
}
