package broker_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/embedded/broker"
)

// childDir makes this test binary a broker on the folder that it names.
const childDir = "MILLRACE_BROKER_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		serve(dir)
	}
	os.Exit(m.Run())
}

// serve runs a broker until it is killed, and prints its address.
func serve(dir string) {
	b, err := broker.Start(context.Background(), config(dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(b.Addr())
	select {}
}

func config(dir string) broker.Config {
	return broker.Config{Listen: "127.0.0.1:0", DataDir: dir, Log: slog.New(slog.DiscardHandler)}
}

func start(t *testing.T, cfg broker.Config) *broker.Broker {
	t.Helper()
	b, err := broker.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func client(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestRecordsOffsetsAndClusterIDSurviveARestart(t *testing.T) {
	t.Parallel()
	cfg := config(t.TempDir())
	first := start(t, cfg)
	before := fill(t, first.Addr())
	first.Close()

	cfg.Listen = first.Addr() // the same port, at once
	second := start(t, cfg)
	if diff := cmp.Diff(before, read(t, second.Addr())); diff != "" {
		t.Errorf("after the restart (-before +after):\n%s", diff)
	}
}

func TestAcknowledgedRecordsSurviveAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	before := fill(t, strings.TrimSpace(addr))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()

	if diff := cmp.Diff(before, read(t, start(t, config(dir)).Addr())); diff != "" {
		t.Errorf("after the kill (-before +after):\n%s", diff)
	}
}

// contents is what a broker must not lose.
type contents struct {
	ClusterID string
	Values    []string
	Committed int64
	Metadata  string
}

// fill writes records and a group's offset, and returns them.
func fill(t *testing.T, addr string) contents {
	t.Helper()
	c := client(t, addr)
	admin := kadm.NewClient(c)
	if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, "events.v1"); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		rec := &kgo.Record{Topic: "events.v1", Value: fmt.Appendf(nil, "record %d", i)}
		if err := c.ProduceSync(t.Context(), rec).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: "events.v1", Partition: 0, At: 7, LeaderEpoch: -1, Metadata: "a plan"})
	if err := admin.CommitAllOffsets(t.Context(), "group", offsets); err != nil {
		t.Fatal(err)
	}
	return read(t, addr)
}

func read(t *testing.T, addr string) contents {
	t.Helper()
	c := client(t, addr, kgo.ConsumeTopics("events.v1"))
	admin := kadm.NewClient(c)
	meta, err := admin.BrokerMetadata(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := contents{ClusterID: meta.Cluster}
	for len(got.Values) < 10 {
		fetches := c.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { got.Values = append(got.Values, string(r.Value)) })
	}
	committed, err := admin.FetchOffsets(t.Context(), "group")
	if err != nil {
		t.Fatal(err)
	}
	offset, _ := committed.Lookup("events.v1", 0)
	got.Committed, got.Metadata = offset.At, offset.Metadata
	if got.ClusterID == "" || got.Committed != 7 {
		t.Fatalf("the broker holds %+v", got)
	}
	return got
}

func TestItListensWhereItIsTold(t *testing.T) {
	t.Parallel()
	b := start(t, config(t.TempDir()))
	brokers, err := kadm.NewClient(client(t, b.Addr())).ListBrokers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := net.JoinHostPort(brokers[0].Host, strconv.Itoa(int(brokers[0].Port))); len(brokers) != 1 || got != b.Addr() {
		t.Errorf("the broker tells clients %s (of %d), it listens on %s", got, len(brokers), b.Addr())
	}
}

func TestItMakesNoTopicByItself(t *testing.T) {
	t.Parallel()
	b := start(t, config(t.TempDir()))
	c := client(t, b.Addr(), kgo.AllowAutoTopicCreation())
	topics, err := kadm.NewClient(c).ListTopics(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if topics.Has("x") {
		t.Error("asking about a topic has made it")
	}
}

func TestAStartThatCannotWorkSaysWhy(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	for _, tt := range []struct{ name, listen, want string }{
		{"a port in use", taken.Addr().String(), taken.Addr().String() +
			" is in use by another program; stop it or set MILLRACE_EMBEDDED_KAFKA_LISTEN to another address"},
		{"an address that others reach", "0.0.0.0:9092", "no passwords"},
		{"no address", "9092", `MILLRACE_EMBEDDED_KAFKA_LISTEN: "9092" must be host:port`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t.TempDir())
			cfg.Listen = tt.listen
			_, err := broker.Start(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want %q in it", err, tt.want)
			}
		})
	}
}
