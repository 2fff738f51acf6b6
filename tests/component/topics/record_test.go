package topics

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/contract/record/recordtest"
	"github.com/millrace/millrace/internal/platform/config"
)

func TestEveryRecordKeepsThePublishedContract(t *testing.T) {
	t.Parallel()
	atBothBrokers(t, func(t *testing.T, cfg config.Kafka) {
		old := time.Now().Add(-100 * 24 * time.Hour).UnixMilli()
		ahead := strconv.FormatInt(time.Now().Add(24*time.Hour).UnixMilli(), 10)
		bodies := []string{
			`{"name":"x"}`,
			`{"name":"é\u0000\ud83d\ude00","eventId":"a\"b","path":"/ü?q=1","anonymousId":"anon_1","profileId":"p","sessionId":"s","timestamp":` + ahead + `,"namespace":"n","source":"s","properties":{"a":[1,2,{"b":null}],"c":1.5e3}}`,
			fmt.Sprintf(`{"name":"old","timestamp":%d}`, old),
			`{"name":"plain","anonymousId":"anon_1","anonymizeVisitorIds":false}`,
		}
		e := newEdge(t, cfg)
		before := time.Now().Truncate(time.Millisecond)
		for _, b := range bodies {
			e.accept(t, websiteID(1), b, 1)
			e.accept(t, "", b, 1) // an event of the organization
		}
		records := readAll(t, cfg, 2*len(bodies), record.TopicEvents, record.TopicEventsBackfill)
		backfill := 0
		for _, r := range records {
			rec := asRecord(cfg, r)
			recordtest.Validate(t, rec)
			if rec.Topic == record.TopicEventsBackfill {
				backfill++
			}
			if r.Timestamp.Before(before) || r.Timestamp.After(time.Now()) {
				t.Errorf("the broker's timestamp is %s, not the time of receipt", r.Timestamp)
			}
		}
		if backfill != 2 {
			t.Errorf("%d records are on the backfill topic, want 2", backfill)
		}
	})
}

func TestARecordSaysWhatATapperReliesOn(t *testing.T) {
	t.Parallel()
	atBothBrokers(t, func(t *testing.T, cfg config.Kafka) {
		newEdge(t, cfg).accept(t, websiteID(1), `{"name":"signup","eventId":"e-1","properties":{"plan":"pro"}}`, 1)
		r := readAll(t, cfg, 1, record.TopicEvents)[0]
		if got, want := string(r.Key), websiteID(1); got != want {
			t.Errorf("key %q, want the website %q", got, want)
		}
		headers := map[string]string{}
		for _, h := range r.Headers {
			headers[h.Key] = string(h.Value)
		}
		want := map[string]string{
			"schema": "events.v1", "type": "custom", "website": websiteID(1), "organization": organization,
			"received-at": strconv.FormatInt(r.Timestamp.UnixMilli(), 10), "request-id": "req-1",
			"eid":         hexOf(record.HashOf([]byte(websiteID(1)), []byte("e-1"))),
			"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		}
		if diff := cmp.Diff(want, headers); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
		var value map[string]any
		if err := json.Unmarshal(r.Value, &value); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{"plan": "pro"}, value["properties"]); diff != "" {
			t.Errorf("properties (-want +got):\n%s", diff)
		}
	})
}

func hexOf(h record.Hash) string { return hex.EncodeToString(h[:]) }

func TestAWebsitesPartitionIsTheOneThatTheJavaClientChooses(t *testing.T) {
	t.Parallel()
	atBothBrokers(t, func(t *testing.T, cfg config.Kafka) {
		const websites = 64
		e := newEdge(t, cfg)
		for n := range websites {
			e.accept(t, websiteID(n), `{"name":"x"}`, 1)
		}
		used := map[int32]bool{}
		for _, r := range readAll(t, cfg, websites, record.TopicEvents) {
			used[r.Partition] = true
			if want := javaPartition(r.Key, cfg.Partitions); r.Partition != want {
				t.Errorf("key %s is on partition %d, want %d", r.Key, r.Partition, want)
			}
		}
		if len(used) != cfg.Partitions {
			t.Errorf("%d partitions are used, want all %d", len(used), cfg.Partitions)
		}
	})
}

// javaPartition is Kafka's default for a key: toPositive(murmur2(key)) modulo the
// number of partitions.
func javaPartition(key []byte, partitions int) int32 {
	const m, seed = 0x5bd1e995, 0x9747b28c
	h := uint32(seed) ^ uint32(len(key))
	for ; len(key) >= 4; key = key[4:] {
		k := binary.LittleEndian.Uint32(key) * m
		k = (k ^ k>>24) * m
		h = h*m ^ k
	}
	for i, b := range slices.Backward(key) {
		h ^= uint32(b) << (8 * i)
	}
	if len(key) > 0 {
		h *= m
	}
	h = (h ^ h>>13) * m
	h ^= h >> 15
	return int32(h&0x7fffffff) % int32(partitions)
}
