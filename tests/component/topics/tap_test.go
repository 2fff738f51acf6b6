package topics

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// example is a fenced block of a guide whose info string says tap-test.
type example struct {
	language   string
	eventually bool // its result may take a moment
	once       bool // it shows each event once, though the topic has copies
	text       string
}

// copied are the ids of events of which the topic has a copy.
var copied = []string{"e-0", "far"}

func examples(t *testing.T, path string) []example {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var found []example
	for i, part := range strings.Split("\n"+string(text), "\n```") {
		info, body, _ := strings.Cut(part, "\n")
		words := strings.Fields(info)
		if i%2 == 0 || len(words) < 2 || words[1] != "tap-test" {
			continue
		}
		found = append(found, example{
			language: words[0], text: body,
			eventually: slices.Contains(words, "eventually"), once: slices.Contains(words, "once"),
		})
	}
	return found
}

func TestTheExamplesForTappingTheTopicsRunAsPrinted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out under -short: needs kcat and runs standalone")
	}
	found := examples(t, filepath.Join(testkit.Root(t), "docs", "guides", "tapping-the-topics.md"))
	if len(found) == 0 {
		t.Fatal("the guide has no examples")
	}
	s := harness.New(t, harness.Standalone, harness.Options{})
	for n := range 5 {
		s.MustTrack(t,
			fmt.Sprintf(`[{"name":"signup","eventId":"e-%d","properties":{"plan":"pro"}},{"name":"screen_view"}]`, n))
	}
	s.MustTrack(t, `{"name":"signup","eventId":"e-0","properties":{"plan":"pro"}}`) // a copy
	putFarCopy(t, s, "far")
	here := strings.NewReplacer("127.0.0.1:9092", s.Kafka.Brokers[0], "127.0.0.1:8123", s.ClickHouseHTTP)
	play := func(t *testing.T, e example) {
		t.Helper()
		try := func() error { return e.run(t, s, here.Replace(e.text)) }
		if e.eventually {
			testkit.Eventually(t, 2*time.Minute, try)
		} else if err := try(); err != nil {
			t.Fatalf("%v\n%s", err, e.text)
		}
	}
	name := func(i int) string { return fmt.Sprintf("%d %s", i+1, found[i].language) }
	for i, e := range found {
		if e.language != "sql" {
			t.Run(name(i), func(t *testing.T) {
				t.Parallel()
				play(t, e)
			})
		}
	}
	t.Run("statements", func(t *testing.T) { // which go on where the ones before have ended
		t.Parallel()
		for i, e := range found {
			if e.language == "sql" {
				t.Run(name(i), func(t *testing.T) { play(t, e) })
			}
		}
	})
}

// run executes the example. Reading commands must print something.
func (e example) run(t *testing.T, s *harness.System, text string) error {
	t.Helper()
	var out []byte
	var err error
	switch e.language {
	case "sh":
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", text)
		bin := filepath.Dir(harness.Binary(t, "millrace"))
		cmd.Env = append(cmd.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
		out, err = cmd.CombinedOutput()
	case "go":
		out, err = run(t, text)
	case "sql":
		out, err = sql(t, s.ClickHouseHTTP, text)
	default:
		return fmt.Errorf("nothing runs %s", e.language)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if reads := e.language != "sql" || strings.HasPrefix(text, "SELECT"); reads &&
		len(strings.TrimSpace(string(out))) == 0 {
		return errors.New("printed nothing")
	}
	for _, id := range copied {
		if n := strings.Count(string(out), `"id":"`+id+`"`); e.once && n != 1 {
			return fmt.Errorf("the event %s, of which there is a copy, is shown %d times", id, n)
		}
	}
	return nil
}

// putFarCopy puts an event of hours ago and its copy on the topic: in another partition
// than that of the system's website, and with more between them than one fetch brings of
// a partition. Whoever reads from the start meets the copy in a later poll than records
// of now.
func putFarCopy(t *testing.T, s *harness.System, id string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Kafka.Brokers...),
		kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	topic := kafka.TopicName(s.Kafka, record.TopicEvents)
	topics, err := kadm.NewClient(client).ListTopics(t.Context(), topic)
	partitions := len(topics[topic].Partitions)
	if err != nil || partitions < 2 {
		t.Fatalf("%s has %d partitions: %v", topic, partitions, err)
	}
	owner, here := websiteID(0), javaPartition([]byte(s.WebsiteID), partitions)
	for n := 1; javaPartition([]byte(owner), partitions) == here; n++ {
		owner = websiteID(n)
	}
	const hours, between = 3 * time.Hour, 40 // of 30 kB each; a fetch brings 1 MiB
	var b record.Batch
	b.Reset(record.Receipt{Organization: organization, RequestID: "req-1", At: time.Now().Add(-hours)})
	add := func(id, properties string) {
		b.Add(&event.Event{Name: []byte("x"), EventID: []byte(id), Properties: []byte(properties)},
			record.Target{Website: owner}, nil)
	}
	add(id, "{}")
	for n := range between {
		add(fmt.Sprint("between-", n), `{"pad":"`+strings.Repeat("x", 30_000)+`"}`)
	}
	add(id, "{}")
	for _, r := range b.Records() {
		one := &kgo.Record{Topic: topic, Key: r.Key, Value: r.Value, Timestamp: r.Time}
		for _, h := range r.Headers {
			one.Headers = append(one.Headers, kgo.RecordHeader(h))
		}
		if err := client.ProduceSync(t.Context(), one).FirstErr(); err != nil { // a batch for each
			t.Fatal(err)
		}
	}
}

// run compiles a program against this module's dependencies, and runs it.
func run(t *testing.T, program string) ([]byte, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", file)
	cmd.Dir = testkit.Root(t)
	return cmd.CombinedOutput()
}

func sql(t *testing.T, addr, statement string) ([]byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/", strings.NewReader(statement))
	if err != nil {
		return nil, err
	}
	resp, err := harness.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return out, err
}
