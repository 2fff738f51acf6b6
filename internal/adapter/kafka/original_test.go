package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

// bytesAtOnce compares bytes that are the same at once: one by one, as is done to say how
// others differ, takes the race detector seconds for a megabyte.
var bytesAtOnce = cmp.FilterValues(func(a, b []byte) bool { return len(a) > 0 && bytes.Equal(a, b) },
	cmp.Comparer(func(_, _ []byte) bool { return true }))

// copied is what a dead letter gets of a record.
func copied(t *testing.T, o buffer.Original) buffer.Original {
	t.Helper()
	p := packedOf(rawBatch(0, 1, bytesOf([]buffer.Original{o}), kgo.CodecNone), 1)[0]
	opened, err := p.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := opened.Original(0)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func emptyHeaders(n int) []record.Header {
	all := make([]record.Header, n)
	for i := range all {
		all[i].Value = []byte{}
	}
	return all
}

func TestOfARecordThatIsTooLargeTheBeginningIsCopied(t *testing.T) {
	t.Parallel()
	const around = 6 // bytes of no key, of the value's length and of no headers
	random := make([]byte, 3<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random)
	id, large := record.Header{Key: "eid", Value: []byte("x")}, record.Header{Key: "note", Value: random[:keptHeaders]}
	for _, tc := range []struct {
		name     string
		is, want buffer.Original
	}{
		{
			"at the limit",
			buffer.Original{Value: random[:wholeBytes-around]},
			buffer.Original{Value: random[:wholeBytes-around]},
		},
		{
			"one byte beyond it",
			buffer.Original{Value: random[:wholeBytes-around+1]},
			buffer.Original{Value: random[:keptValue], Cut: &deadletter.Sizes{Value: wholeBytes - around + 1}},
		},
		{
			"as many headers as there may be",
			buffer.Original{Headers: emptyHeaders(record.MaxHeaders)},
			buffer.Original{Headers: emptyHeaders(record.MaxHeaders)},
		},
		{
			"one more",
			buffer.Original{Headers: emptyHeaders(record.MaxHeaders + 1)},
			buffer.Original{Headers: emptyHeaders(record.MaxHeaders), Cut: &deadletter.Sizes{Headers: record.MaxHeaders + 1}},
		},
		{
			"millions of headers",
			buffer.Original{Key: []byte("k"), Value: []byte("v"), Headers: emptyHeaders(3_000_000)},
			buffer.Original{
				Key: []byte("k"), Value: []byte("v"), Headers: emptyHeaders(record.MaxHeaders),
				Cut: &deadletter.Sizes{Key: 1, Value: 1, Headers: 3_000_000},
			},
		},
		{
			"headers, as far as they fit whole",
			buffer.Original{Value: random[:2<<20], Headers: []record.Header{id, large, id}},
			buffer.Original{
				Value: random[:keptValue], Headers: []record.Header{id}, Cut: &deadletter.Sizes{Value: 2 << 20, Headers: 3},
			},
		},
		{
			"a key",
			buffer.Original{Key: random, Value: []byte("v")},
			buffer.Original{Key: random[:keptKey], Value: []byte("v"), Cut: &deadletter.Sizes{Key: 3 << 20, Value: 1}},
		},
	} {
		if diff := cmp.Diff(tc.want, copied(t, tc.is), bytesAtOnce); diff != "" {
			t.Errorf("%s (-want +got):\n%.2000s", tc.name, diff)
		}
	}
}

// Whatever else is wrong with a record that is too large, its batch can be read.
func TestARecordWithTooManyHeadersIsADeadLetterWhateverTheyAre(t *testing.T) {
	t.Parallel()
	body := []byte{0, 0, 0, 1, 1} // neither key nor value
	body = binary.AppendVarint(body, 1<<50)
	body = append(body, 2, 'k', 2, 'v', 99)
	records := append(binary.AppendVarint(nil, int64(len(body))), body...)
	p := packedOf(rawBatch(0, 1, records, kgo.CodecNone), 1)[0]
	w := walk{batchHeader: headerOf(p.batch), rest: records, size: len(records), left: 1}
	all, _, err := w.portion(nil, 0)
	if err != nil || len(all) != 1 || !all[0].BadHeaders {
		t.Fatalf("%d records, %v", len(all), err)
	}
	opened, err := p.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := opened.Original(0)
	want := buffer.Original{
		Headers: []record.Header{{Key: "k", Value: []byte("v")}}, Cut: &deadletter.Sizes{Headers: 1 << 50},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// The time of a record whose headers do not tell it is that of the log.
func TestARecordWithBadHeadersHasTheTimeOfTheLog(t *testing.T) {
	t.Parallel()
	const at = 1_795_000_000_000
	batch := batchAt(0, 2)
	binary.BigEndian.PutUint64(batch[27:], at)
	records := batch[batchHeaderSize:]
	w := walk{batchHeader: headerOf(signed(batch)), rest: records, size: len(records), left: 2}
	all, _, err := w.portion(nil, 0)
	if err != nil || len(all) != 2 || !all[1].BadHeaders || all[1].ReceivedAt != at {
		t.Errorf("%+v, %v", all, err)
	}
}

// letterbox is a cluster with all topics, whose one consumer sends dead letters.
func letterbox(t *testing.T) (*reader, config.Kafka) {
	t.Helper()
	cluster, cfg := kafkatest.Cluster(t)
	cfg.Partitions = 1
	if _, err := EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	producer, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...), kgo.DefaultProduceTopic(record.TopicEvents),
		kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.ProducerBatchMaxBytes(31<<20))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(producer.Close)
	r := &reader{client: producer, cluster: cluster}
	r.Consumer, err = NewConsumer(cfg, config.Default().Sink, []string{record.TopicEvents}, ConsumerDeps{
		Client: "test", Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Open(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, cfg
}

// theLetters reads the dead letter topic.
func theLetters(t *testing.T, cfg config.Kafka) (all []*deadletter.Letter) {
	t.Helper()
	opts := TapOptions{Topic: record.TopicEvents + deadletter.Suffix, Exit: true, Log: slog.New(slog.DiscardHandler)}
	if err := Tap(t.Context(), cfg, opts, func(r *Tapped) error {
		l, err := deadletter.Parse(&r.Record, r.Position)
		if err != nil {
			return err
		}
		l.Value = bytes.Clone(l.Value)
		all = append(all, l)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// A broker takes a batch by its compressed size, so what it took may be far larger than what
// the dead letter topic takes. It is kept all the same, once, as far as it fits.
func TestWhateverABrokerTookCanBeADeadLetter(t *testing.T) {
	t.Parallel()
	r, cfg := letterbox(t)
	value := []byte(strings.Repeat("not an event ", 5<<20/13))
	if err := r.client.ProduceSync(t.Context(), &kgo.Record{Key: []byte("web_1"), Value: value}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	var original buffer.Original
	testkit.Eventually(t, time.Minute, func() error {
		var failed error
		err := r.Poll(t.Context(), 1, func(b sink.Delivery) {
			opened, err := b.Packed.Open(nil)
			if err == nil {
				original, err = opened.Original(0)
			}
			failed = err
		})
		if err == nil && failed == nil && original.Key == nil {
			failed = errors.New("nothing came")
		}
		return errors.Join(err, failed)
	})
	letter := sink.DeadLetter{
		Partition: only, Original: original, Reason: deadletter.ReasonHeaders, Err: errors.New("why"),
	}
	if err := r.Send(t.Context(), []sink.DeadLetter{letter}); err != nil {
		t.Fatal(err)
	}
	all := theLetters(t, cfg)
	if len(all) != 1 || all[0].Cut != "key=5 headers=0 value=5242874" || !bytes.Equal(all[0].Value, value[:keptValue]) {
		t.Errorf("%d letters, of which the first is cut as %q to %d bytes", len(all), all[0].Cut, len(all[0].Value))
	}
}

// The largest letters that there are, whole and cut, of bytes that no codec makes smaller.
func TestTheLargestDeadLettersFitIntoABatch(t *testing.T) {
	t.Parallel()
	r, cfg := letterbox(t)
	random := make([]byte, wholeBytes)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(random)
	long := errors.New(strings.Repeat("x", 10_000))
	cut := buffer.Original{
		Key: random[:keptKey], Value: random[:keptValue],
		Headers: []record.Header{{Key: "note", Value: random[:keptHeaders]}},
		Cut:     &deadletter.Sizes{Key: 1 << 40, Value: 1 << 40, Headers: 1 << 40},
	}
	for _, o := range []buffer.Original{{Value: random}, cut} {
		letter := sink.DeadLetter{Partition: only, Original: o, Reason: deadletter.ReasonValue, Err: long}
		if err := r.Send(t.Context(), []sink.DeadLetter{letter}); err != nil {
			t.Fatal(err)
		}
	}
	if all := theLetters(t, cfg); len(all) != 2 {
		t.Errorf("%d letters, want 2", len(all))
	}
}
