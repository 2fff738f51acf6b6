package kafka

import (
	"encoding/binary"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// eventAt is a record whose headers name an event received at a time.
func eventAt(n int, at time.Time) *kgo.Record {
	hash := record.HashOf([]byte("web_1"), []byte(strconv.Itoa(n)))
	r := &kgo.Record{Topic: record.TopicEvents, Value: []byte("not looked at"), Timestamp: at}
	for _, h := range [][2]string{
		{record.HeaderSchema, record.TopicEvents},
		{record.HeaderType, record.TypeCustom},
		{record.HeaderWebsite, "web_1"},
		{record.HeaderOrganization, "org_1"},
		{record.HeaderReceivedAt, strconv.FormatInt(at.UnixMilli(), 10)},
		{record.HeaderRequestID, "r"},
		{record.HeaderEventHash, hash.Hex()},
	} {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h[0], Value: []byte(h[1])})
	}
	return r
}

type observation struct {
	Hash record.Hash
	At   int64
}

// observer is a function that sees.
type observer func(h record.Hash, at int64)

func (observer) Expect(int64) {}

func (w observer) Observe(h record.Hash, at int64) (int32, bool) {
	w(h, at)
	return 0, false
}

// observations reads what was seen since a time, before an offset.
func (r *reader) observations(t *testing.T, since time.Time, to int64) (seen []observation, records int64) {
	t.Helper()
	stretch := sink.Stretch{Since: since.UnixMilli(), To: to}
	if err := r.Observations(t.Context(), only, &stretch, observer(func(h record.Hash, at int64) {
		seen = append(seen, observation{h, at})
	})); err != nil {
		t.Fatal(err)
	}
	if stretch.Next != to {
		t.Errorf("read up to %d, want %d", stretch.Next, to)
	}
	return seen, stretch.Records
}

func TestObservationsAreWhatTheHeadersSay(t *testing.T) {
	t.Parallel()
	begin := time.UnixMilli(1_790_000_000_000)
	for _, codec := range []kgo.CompressionCodec{
		kgo.NoCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(), kgo.GzipCompression(), kgo.SnappyCompression(),
	} {
		r := newReader(t, 0)
		producer, err := kgo.NewClient(kgo.SeedBrokers(r.cfg.Brokers...), kgo.ProducerBatchCompression(codec),
			kgo.DefaultProduceTopic(record.TopicEvents))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(producer.Close)
		var all []observation
		for batch := range 5 {
			var records []*kgo.Record
			for n := batch * 100; n < batch*100+100; n++ {
				rec := eventAt(n, begin.Add(time.Duration(n)*time.Second))
				switch n % 10 {
				case 3: // names no event
					rec.Headers = rec.Headers[:5]
				case 4:
					rec.Headers[6].Value = []byte("zz")
				default:
					all = append(all,
						observation{record.HashOf([]byte("web_1"), []byte(strconv.Itoa(n))), begin.UnixMilli() + int64(n)*1000})
				}
				records = append(records, rec)
			}
			if err := producer.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		seen, records := r.observations(t, begin, 500)
		if diff := cmp.Diff(all, seen); diff != "" || records != 500 {
			t.Fatalf("%d records, seen (-want +got):\n%s", records, diff)
		}
		// From the middle of a batch to the middle of a batch.
		seen, records = r.observations(t, begin.Add(250*time.Second), 310)
		if diff := cmp.Diff(all[200:248], seen); diff != "" || records != 60 {
			t.Errorf("%d records, seen (-want +got):\n%s", records, diff)
		}
		if _, records := r.observations(t, begin.Add(time.Hour), 500); records != 0 {
			t.Errorf("%d records after the last one", records)
		}
		short := sink.Stretch{Since: begin.UnixMilli(), To: 501}
		if err := r.Observations(t.Context(), only, &short,
			observer(func(record.Hash, int64) {})); !errors.Is(err, errShort) {
			t.Errorf("read beyond the end of the log: %v", err)
		}
		// What is left of a stretch is what was not read of it.
		begun, rest := sink.Stretch{Since: begin.UnixMilli(), Next: 250, To: 310, Records: 250}, 0
		if err := r.Observations(t.Context(), only, &begun, observer(func(record.Hash, int64) { rest++ })); err != nil ||
			rest != 48 || begun.Records != 310 {
			t.Errorf("%d seen, %+v, %v", rest, begun, err)
		}
	}
}

func TestObservationsGoOnWhereTheLogBegins(t *testing.T) {
	t.Parallel()
	begin := time.UnixMilli(1_790_000_000_000)
	r := newReader(t, 0)
	for n := range 10 {
		if err := r.client.ProduceSync(t.Context(), eventAt(n, begin)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	var gone kadm.Offsets
	gone.Add(kadm.Offset{Topic: record.TopicEvents, At: 4})
	if _, err := kadm.NewClient(r.client).DeleteRecords(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if seen, _ := r.observations(t, begin, 10); len(seen) != 6 {
		t.Errorf("%d events seen, want the 6 that are left", len(seen))
	}
	if seen, _ := r.observations(t, begin, 3); len(seen) != 0 {
		t.Errorf("%d events seen before the log begins", len(seen))
	}
	if at, err := r.LogStart(t.Context(), only); at != 4 || err != nil {
		t.Errorf("LogStart() = %d, %v; want 4", at, err)
	}
}

// While the metadata names a broker that does not lead any more, it is asked again with pauses.
func TestALeaderThatNobodyKnowsYetIsNotHurried(t *testing.T) {
	t.Parallel()
	const rejections = 4
	r, cluster := newReaderOf(t, 1, 1)
	var asked atomic.Int64
	cluster.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		fetch, ok := req.(*kmsg.FetchRequest)
		if !ok || fetch.Topics[0].Partitions[0].PartitionMaxBytes != scanBytes || asked.Add(1) > rejections {
			return nil, nil, false
		}
		return rejection(fetch, 0, kerr.NotLeaderForPartition.Code), nil, true
	})
	at := time.UnixMilli(1_790_000_000_000)
	if err := r.client.ProduceSync(t.Context(), eventAt(0, at)).FirstErr(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if seen, _ := r.observations(t, at, 1); len(seen) != 1 {
		t.Errorf("%d events seen, want 1", len(seen))
	}
	const least = 600 * time.Millisecond // four fifths of 50, 100, 200 and 400
	if took := time.Since(began); took < least || asked.Load() != rejections+1 {
		t.Errorf("the leader was asked %d times in %s, want %d in %s at least", asked.Load(), took, rejections+1, least)
	}
}

// A batch that was damaged on the way is read the next time; one that stays so is passed over,
// for else nobody could ever make the window again.
func TestAWindowIsReadWithoutABatchThatStaysDamaged(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_790_000_000_000)
	damaged := batchAt(1, 1)
	damaged[len(damaged)-1]++
	for times, want := range map[int64]int64{0: 3, rangeFails: 3, rangeFails + 1: 2} {
		r, cluster := newReaderOf(t, 1, 1)
		for n := range 3 {
			if err := r.client.ProduceSync(t.Context(), eventAt(n, at)).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		var left atomic.Int64
		left.Store(times)
		cluster.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
			cluster.KeepControl()
			fetch, ok := req.(*kmsg.FetchRequest)
			if !ok {
				return nil, nil, false
			}
			p := &fetch.Topics[0].Partitions[0]
			if p.PartitionMaxBytes != scanBytes || p.FetchOffset != 1 || left.Add(-1) < 0 {
				return nil, nil, false
			}
			resp := rejection(fetch, 0, 0)
			got := &resp.Topics[0].Partitions[0]
			got.HighWatermark, got.RecordBatches = 3, damaged
			return resp, nil, true
		})
		stretch := sink.Stretch{Next: 1, To: 3, Records: 1}
		if err := r.Observations(t.Context(), only, &stretch, nobody{}); err != nil || stretch.Records != want {
			t.Errorf("damaged %d times: %d records, want %d: %v", times, stretch.Records, want, err)
		}
	}
}

func TestAWindowIsReadWithoutABatchAtWhichADecompressorPanics(t *testing.T) {
	t.Parallel()
	s := scan{to: 3, observer: nobody{}}
	s.unpack.lz4 = &lz4.Reader{}
	legacy := byLz4(t, recordBytes(1, nil), lz4.LegacyOption(true)).bytes
	if err := s.look(append(rawBatch(0, 1, legacy, kgo.CodecLz4), batchAt(1, 2)...)); err != nil || s.records != 2 {
		t.Errorf("%d records, want 2: %v", s.records, err)
	}
	if !errors.Is(s.panicked, sink.ErrPanicked) {
		t.Errorf("it tells of %v", s.panicked)
	}
}

// Whatever a broker answers, it is read or rejected, without a fault.
func FuzzAnswersOfABroker(f *testing.F) {
	f.Add([]byte{})
	whole := make([]byte, batchHeaderSize)
	binary.BigEndian.PutUint32(whole[batchLengthAt:], batchHeaderSize-batchLengthSize)
	f.Add(whole)
	f.Fuzz(func(_ *testing.T, response []byte) {
		s := scan{to: 1 << 40, observer: observer(func(record.Hash, int64) {})}
		_ = after(response)
		_ = s.look(response)
		_ = s.lookAtRecords(response, 0, 100)
	})
}

// batchOf is a response of a broker with n events in one batch.
func batchOf(b *testing.B, n int) []byte {
	b.Helper()
	var records []byte
	for i := range n {
		r := eventAt(i, time.UnixMilli(1_790_000_000_000))
		body := []byte{0}
		varint := func(v int) { body = binary.AppendVarint(body, int64(v)) }
		text := func(s []byte) { varint(len(s)); body = append(body, s...) }
		varint(0)
		varint(i)
		text([]byte("web_01M7ZBZ7W72QHPQMK2YPJ7AP94"))
		text(make([]byte, 465))
		varint(len(r.Headers))
		for _, h := range r.Headers {
			text([]byte(h.Key))
			text(h.Value)
		}
		records = binary.AppendVarint(records, int64(len(body)))
		records = append(records, body...)
	}
	return records
}

func BenchmarkObservations(b *testing.B) {
	const n = 1000
	records := batchOf(b, n)
	b.ReportAllocs()
	for b.Loop() {
		s := scan{to: 1 << 40, observer: observer(func(record.Hash, int64) {})}
		if err := s.lookAtRecords(records, 0, n); err != nil || s.records != n {
			b.Fatal(err, s.records)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
}
