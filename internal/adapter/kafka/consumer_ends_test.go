package kafka

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/testkit"
)

// What fails is counted and told of until it works again; where the log ends is known meanwhile.
func TestPartitionsThatCannotBeFetchedAreToldOfAsLongAsItLasts(t *testing.T) {
	t.Parallel()
	fetches := []kmsg.Key{kmsg.Fetch}
	for _, tc := range []struct {
		name  string
		fault kfake.Fault
		want  float64
	}{
		{"one of them", kfake.Fault{Partitions: []int32{1}, Err: kerr.TopicAuthorizationFailed}, 1},
		{"a broker", kfake.Fault{TopLevel: true, Err: kerr.UnknownServerError}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r, cluster := newReaderOf(t, 1, 2)
			tc.fault.Keys, tc.fault.Count = fetches, -1
			fault := cluster.Fault(tc.fault)
			r.produce(t, 0, 3) // to the first one
			other := sink.Partition{Topic: only.Topic, Index: 1}
			ends, err := r.Ends(t.Context(), []sink.Partition{only, other})
			if diff := cmp.Diff(map[sink.Partition]int64{only: 3, other: 0}, ends); diff != "" || err != nil {
				t.Errorf("ends: %v (-want +got):\n%s", err, diff)
			}
			poll := func() {
				if err := r.Poll(t.Context(), 1<<20, func(sink.Delivery) {}); err != nil {
					t.Fatal(err)
				}
			}
			unfetched := func() float64 {
				return float64(r.unfetched(time.Now().Add(unfetchedAfter))[record.TopicEvents])
			}
			testkit.Eventually(t, time.Minute, func() error {
				poll()
				if n, told := unfetched(), testutil.ToFloat64(r.errs); n != tc.want || told < 2 {
					return fmt.Errorf("%v partitions are not fetched, want %v; told of %v times", n, tc.want, told)
				}
				return nil
			})
			fault.Remove()
			testkit.Eventually(t, time.Minute, func() error {
				poll()
				if n := unfetched(); n > 0 {
					return fmt.Errorf("%v partitions are not fetched, though the broker sends them again", n)
				}
				return nil
			})
		})
	}
}

// Also a partition that was not begun with is one that cannot be fetched.
func TestAPartitionWhoseBeginIsNotKnownIsNotFetched(t *testing.T) {
	t.Parallel()
	r, cluster := newReaderOf(t, 1, 1)
	if n := testutil.CollectAndCount(unfetched{r.Consumer}); n != 1 {
		t.Errorf("%d series of one topic", n)
	}
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	if ends, err := r.Ends(t.Context(), []sink.Partition{only}); len(ends) > 0 || err == nil {
		t.Errorf("the partition ends at %v, %v, although the broker does not tell", ends, err)
	}
	r.Rewind(only)
	if err := r.Poll(t.Context(), 1<<20, func(sink.Delivery) {}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if n := r.unfetched(now.Add(unfetchedAfter))[record.TopicEvents]; n != 1 {
		t.Errorf("%d partitions are not fetched, want the one", n)
	}
	if n := r.unfetched(now.Add(-unfetchedAfter))[record.TopicEvents]; n != 0 {
		t.Errorf("%d partitions are not fetched before they have failed for a while", n)
	}
}

func TestAReceiptIsLookedUpInTheLog(t *testing.T) {
	t.Parallel()
	r, _ := newReaderOf(t, 1, 1)
	begin := time.UnixMilli(1_700_000_000_000)
	for i := range 5 { // a batch each
		rec := &kgo.Record{Topic: record.TopicEvents, Value: []byte("x"), Timestamp: begin.Add(time.Duration(i) * time.Hour)}
		if err := r.client.ProduceSync(t.Context(), rec).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	var gone kadm.Offsets
	gone.Add(kadm.Offset{Topic: record.TopicEvents, Partition: 0, At: 2})
	if _, err := kadm.NewClient(r.client).DeleteRecords(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	for offset, hours := range map[int64]int{0: 2, 2: 2, 3: 3} {
		want := begin.Add(time.Duration(hours) * time.Hour).UnixMilli()
		if got, err := r.ReceivedAt(t.Context(), only, offset); got != want || err != nil {
			t.Errorf("offset %d was received at %d, %v; want %d", offset, got, err, want)
		}
	}
	if _, err := r.ReceivedAt(t.Context(), only, 5); !errors.Is(err, errNoBatch) {
		t.Errorf("at the end of the log: %v", err)
	}
}
