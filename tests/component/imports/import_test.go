// Package imports_test proves that imports which are killed lose and double nothing.
package imports_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// batchLines is how many lines an import has in the air at most.
const batchLines = 1000

// writeEvents writes a file of lines, every hundredth of which is rejected and every
// second of which has an id of its own.
func writeEvents(tb testing.TB, path string, lines int) {
	tb.Helper()
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	out := bufio.NewWriter(file)
	var finish func() error
	switch filepath.Ext(path) {
	case ".gz":
		z := gzip.NewWriter(file)
		out, finish = bufio.NewWriter(z), z.Close
	case ".zst":
		z, err := zstd.NewWriter(file)
		if err != nil {
			tb.Fatal(err)
		}
		out, finish = bufio.NewWriter(z), z.Close
	}
	csv := strings.Contains(path, ".csv")
	if csv {
		fmt.Fprintln(out, "eventId,timestamp,name,properties.n")
	}
	from := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for i := range lines {
		id, name := "", "import"
		if i%2 == 0 {
			id = fmt.Sprint("own-", i)
		}
		if i%100 == 7 {
			name = ""
		}
		if csv {
			fmt.Fprintf(out, "%s,%d,%s,%d\n", id, from+int64(i), name, i)
			continue
		}
		fmt.Fprintf(out, `{"eventId":%q,"timestamp":%d,"name":%q,"anonymousId":"anon_%d","path":"https://shop.example.com/p/%d","sessionId":"sess_%d","properties":{"n":%d,"currency":"EUR","value":129.95}}`+"\n",
			id, from+int64(i), name, i%1000, i%50, i%5000, i)
	}
	if err := out.Flush(); err != nil {
		tb.Fatal(err)
	}
	if finish != nil {
		if err := finish(); err != nil {
			tb.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		tb.Fatal(err)
	}
}

// stage is a broker and a store, and a command that imports into them.
type stage struct {
	brake
	cfg  config.Kafka
	args []string
	env  []string
	adm  *kadm.Client
}

func newStage(tb testing.TB) *stage {
	tb.Helper()
	s := &stage{}
	var cluster *kfake.Cluster
	cluster, s.cfg = kafkatest.Cluster(tb)
	cluster.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if produce, ok := req.(*kmsg.ProduceRequest); ok {
			if wait := s.pass(recordsIn(produce)); wait != nil {
				cluster.SleepControl(func() { <-wait })
			}
		}
		return nil, nil, false
	})
	if _, err := kafka.EnsureTopics(tb.Context(), s.cfg); err != nil {
		tb.Fatal(err)
	}
	url := "sqlite:" + filepath.Join(testkit.ShortDir(tb), "meta.db")
	fixture := harness.Seed(tb, url)
	s.args = []string{
		"import", "--kafka.brokers=" + s.cfg.Brokers[0], "--store.url=" + url, "--website=" + fixture.WebsiteID,
	}
	s.env = []string{"PATH=" + os.Getenv("PATH"), "MILLRACE_API_KEY=" + fixture.Key, "TMPDIR=" + tb.TempDir()}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.cfg.Brokers...))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	s.adm = kadm.NewClient(client)
	return s
}

func (s *stage) command(tb testing.TB, file string) (*exec.Cmd, *strings.Builder) {
	tb.Helper()
	said := &strings.Builder{}
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), harness.Binary(tb, "millrace"),
		append(s.args, file)...)
	cmd.Env, cmd.Stderr = s.env, said
	return cmd, said
}

// brake has the broker answer no more once so many records have come: however fast an
// import is, and however slow the test, it is in the middle of it then.
type brake struct {
	mu     sync.Mutex
	passed int
	upTo   int           // 0 is no bound
	held   chan struct{} // closed when the bound was reached
	end    chan struct{} // closed by release
}

// set holds the request with which so many records have come, those of earlier imports
// included, and all after it.
func (b *brake) set(upTo int) (held <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.upTo, b.held, b.end = upTo, make(chan struct{}), make(chan struct{})
	return b.held
}

// release lets go what is held, and everything from now on.
func (b *brake) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.upTo = 0
	close(b.end)
}

// pass counts records, and returns what they have to wait for; nil for nothing.
func (b *brake) pass(records int) (wait <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.passed
	b.passed += records
	if b.upTo == 0 || b.passed < b.upTo {
		return nil
	}
	if before < b.upTo {
		close(b.held)
	}
	return b.end
}

// recordsIn counts those of a request: it stands in the head of each batch.
func recordsIn(r *kmsg.ProduceRequest) (n int) {
	const at = 57
	for _, topic := range r.Topics {
		for _, p := range topic.Partitions {
			n += int(binary.BigEndian.Uint32(p.Records[at:]))
		}
	}
	return n
}

// records returns how many are in the backfill topic.
func (s *stage) records(tb testing.TB) int64 {
	tb.Helper()
	ends, err := s.adm.ListEndOffsets(tb.Context(), kafka.TopicName(s.cfg, record.TopicEventsBackfill))
	if err != nil {
		tb.Fatal(err)
	}
	n := int64(0)
	ends.Each(func(o kadm.ListedOffset) { n += o.Offset })
	return n
}

func TestAnImportThatIsKilledGoesOnBehindTheLastAcknowledgedLine(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.ndjson", "a.ndjson.zst", "a.csv.gz"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const kills = 5
			lines := 20_000
			if testkit.Strict() {
				lines = 120_000
			}
			s := newStage(t)
			file := filepath.Join(t.TempDir(), name)
			writeEvents(t, file, lines)
			for n := range kills {
				held := s.set((n + 1) * lines / (kills + 1))
				cmd, said := s.command(t, file)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				select {
				case <-held:
				case err := <-ended:
					t.Fatalf("the import ended before it was killed: %v\n%s", err, said)
				case <-time.After(4 * time.Minute):
					t.Fatalf("%d records are there after 4 minutes", s.records(t))
				}
				if err := cmd.Process.Kill(); err != nil {
					t.Errorf("killing import %d: %v", n, err)
				}
				<-ended
				s.release() // what nobody waits for any more is stored all the same
			}
			cmd, said := s.command(t, file)
			if err := cmd.Run(); err == nil || !strings.Contains(said.String(), fmt.Sprint(lines/100, " lines were rejected")) {
				t.Errorf("the last run ended with %v and says %s", err, said)
			}
			ids, total := map[string]int{}, 0
			err := kafka.NewLog(s.cfg, slog.New(slog.DiscardHandler)).Read(t.Context(), record.TopicEventsBackfill, time.Time{},
				func(r *record.Record, _ record.Position) error {
					h, err := record.ParseHeaders(r.Headers)
					ids[h.Hash.Hex()]++
					total++
					return err
				})
			if err != nil {
				t.Fatal(err)
			}
			if want := lines - lines/100; len(ids) != want {
				t.Errorf("%d events are there, want %d", len(ids), want)
			}
			if most := len(ids) + kills*batchLines; total > most {
				t.Errorf("%d records are there, want at most %d", total, most)
			}
			text, err := os.ReadFile(file + ".errors.ndjson")
			if err != nil {
				t.Fatal(err)
			}
			rejected := map[int64]int{}
			for line := range strings.Lines(string(text)) {
				var r struct{ Line int64 }
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatal(err)
				}
				rejected[r.Line]++
			}
			if len(rejected) != lines/100 || strings.Count(string(text), "\n") != lines/100 {
				t.Errorf("%d lines are told as refused in %d rows, want %d",
					len(rejected), strings.Count(string(text), "\n"), lines/100)
			}
		})
	}
}

// BenchmarkImport measures the command on a gzip file, from its start to its end.
func BenchmarkImport(b *testing.B) {
	const lines = 1_000_000
	file := filepath.Join(b.TempDir(), "a.ndjson.gz")
	writeEvents(b, file, lines)
	harness.Binary(b, "millrace")
	for b.Loop() {
		s := newStage(b)
		cmd, said := s.command(b, file)
		_ = cmd.Run() // some lines are rejected
		if s.records(b) != lines-lines/100 {
			b.Fatalf("%d records are there: %s", s.records(b), said)
		}
		if err := os.Remove(file + ".import-state"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
