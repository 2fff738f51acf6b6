package kafka

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// failedFetch is what a client returns of a partition that it cannot read.
func failedFetch(topic string, partition int32, err error) kgo.Fetches {
	return kgo.Fetches{{Topics: []kgo.FetchTopic{{
		Topic: topic, Partitions: []kgo.FetchPartition{{Partition: partition, Err: err}},
	}}}}
}

// Where reading stopped is what an operator needs to look at the log.
func TestAReadingSaysWhereItStopped(t *testing.T) {
	t.Parallel()
	r := reading{name: "p.events.v1", next: map[int32]int64{3: 17, 4: 5}, left: map[int32]int64{3: 30, 4: 9}}
	for _, tc := range []struct {
		topic     string
		partition int32
		want      string
	}{
		{"p.events.v1", 3, "reading p.events.v1/3 at offset 17: " + kerr.OffsetOutOfRange.Error()},
		{"p.events.v1", 4, "reading p.events.v1/4 at offset 7: " + kerr.OffsetOutOfRange.Error()},
		{"", 0, "reading p.events.v1: " + kerr.OffsetOutOfRange.Error()}, // nothing of a partition
	} {
		if tc.partition == 4 {
			r.wants(&kgo.Record{Partition: 4, Offset: 6})
		}
		err := r.stopped(failedFetch(tc.topic, tc.partition, kerr.OffsetOutOfRange))
		if err == nil || err.Error() != tc.want || !errors.Is(err, kerr.OffsetOutOfRange) {
			t.Errorf("%v, want %s", err, tc.want)
		}
	}
	if err := r.stopped(kgo.Fetches{}); err != nil {
		t.Errorf("%v of nothing", err)
	}
}
