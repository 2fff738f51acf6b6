package standalone

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/embedded/chlibrary"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

// childSettings makes this test binary a standalone with the settings, in JSON,
// that it holds; to be killed.
const childSettings = "MILLRACE_STANDALONE_TEST_SETTINGS"

const readyLine = "millrace ready"

func TestMain(m *testing.M) {
	RunIfChild()
	if text := os.Getenv(childSettings); text != "" {
		os.Exit(serve(text))
	}
	os.Exit(m.Run())
}

func serve(text string) int {
	s := config.Default()
	err := json.Unmarshal([]byte(text), &s) //nolint:musttag // read back by the same struct
	if err == nil {
		err = Run(context.Background(), Options{Settings: s, Stdout: os.Stdout, Stderr: os.Stderr})
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// settings are those of a standalone on free ports and a folder of its own.
func settings(t *testing.T) config.Settings {
	t.Helper()
	s := config.Default()
	s.Data.Dir = t.TempDir()
	s.Query.Listen = testkit.FreeAddr(t)
	s.Ingest.Listen = testkit.FreeAddr(t)
	s.Link.Listen = testkit.FreeAddr(t)
	s.Admin.Listen = testkit.FreeAddr(t)
	s.Embedded.Kafka.Listen = testkit.FreeAddr(t)
	s.Embedded.ClickHouse.Listen = testkit.FreeAddr(t)
	s.Embedded.ClickHouse.HTTP.Listen = testkit.FreeAddr(t)
	s.Embedded.ClickHouse.Library = os.Getenv("MILLRACE_EMBEDDED_CLICKHOUSE_LIBRARY")
	s.Sink.MaxWait = 50 * time.Millisecond
	s.Limits = testkit.WideLimits() // answers are polled for
	s.Log.Level = "error"
	return s
}

// instance is a standalone that is ready.
type instance struct {
	out  string // what it printed until it was ready
	env  devEnv
	stop func() error
}

// start runs a standalone in this process.
func start(t *testing.T, s config.Settings) instance {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := Run(ctx, Options{Settings: s, Stdout: w, Stderr: t.Output()})
		w.CloseWithError(io.EOF)
		ended <- err
	}()
	i := instance{out: untilReady(r)}
	stop := func() error {
		cancel()
		go io.Copy(io.Discard, r)
		return <-ended
	}
	if !strings.HasSuffix(i.out, readyLine+"\n") {
		cancel()
		err := <-ended
		if errors.Is(err, chlibrary.ErrMissing) && testing.Short() {
			t.Skip(err)
		}
		t.Fatalf("it ended with %v after\n%s", err, i.out)
	}
	once := false
	i.stop = func() error {
		if once {
			return nil
		}
		once = true
		return stop()
	}
	t.Cleanup(func() {
		if err := i.stop(); err != nil {
			t.Error(err)
		}
	})
	i.env = readEnv(t, s)
	return i
}

// untilReady reads lines up to the one that says that all is ready, or the end.
func untilReady(r io.Reader) string {
	var out strings.Builder
	for lines := bufio.NewScanner(r); lines.Scan(); {
		out.WriteString(lines.Text() + "\n")
		if lines.Text() == readyLine {
			break
		}
	}
	return out.String()
}

func readEnv(t *testing.T, s config.Settings) devEnv {
	t.Helper()
	env, err := readDevEnv(filepath.Join(s.Data.Dir, devEnvFile))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// send posts one event until it is accepted: a broker that is slow is answered with
// 503, and what is sent again counts once.
func send(t *testing.T, env devEnv, eventID string) {
	t.Helper()
	body := fmt.Sprintf(`{"name":"signup","eventId":%q,"websiteId":%q}`, eventID, env.WebsiteID)
	testkit.Eventually(t, time.Minute, func() error {
		status, response := post(t, env.IngestURL+"/track", env.APIKey, body)
		if status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Fatalf("POST /track answers %d %s", status, response)
		}
		if status != http.StatusOK {
			return errors.New(response)
		}
		return nil
	})
}

// wantEvents waits until a query counts n events.
func wantEvents(t *testing.T, env devEnv, n int) {
	t.Helper()
	testkit.Eventually(t, 2*time.Minute, func() error {
		status, response := post(t, env.BaseURL+"/v1/query?website_id="+env.WebsiteID, env.APIKey,
			`{"parameters":["summary_metrics"],"preset":"last_7d"}`)
		var result struct {
			Data []struct {
				Data []struct {
					Total float64 `json:"total_events"`
				} `json:"data"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(response), &result); err != nil || status != http.StatusOK {
			return fmt.Errorf("POST /v1/query answers %d %s", status, response)
		}
		if len(result.Data) != 1 || len(result.Data[0].Data) != 1 || int(result.Data[0].Data[0].Total) != n {
			return fmt.Errorf("the answer is %s, want %d events", response, n)
		}
		return nil
	})
}

func post(t *testing.T, url, key, body string) (status int, response string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("x-api-key", key)
	req.Header.Set("content-type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

func TestAnEventIsSentQueriedAndStillThereAfterARestart(t *testing.T) {
	t.Parallel()
	s := settings(t)
	first := start(t, s)
	send(t, first.env, "a")
	send(t, first.env, "b")
	send(t, first.env, "b")
	wantEvents(t, first.env, 2)
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}

	second := start(t, s)
	if diff := cmp.Diff(first.env, second.env); diff != "" {
		t.Errorf("dev.env (-first start +second):\n%s", diff)
	}
	send(t, second.env, "b")
	send(t, second.env, "c")
	wantEvents(t, second.env, 3)
}

func TestNothingAcknowledgedIsLostByAKill(t *testing.T) {
	t.Parallel()
	s := settings(t)
	text, err := json.Marshal(s) //nolint:musttag // read back by the same struct
	if err != nil {
		t.Fatal(err)
	}
	var env devEnv
	for round := range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childSettings+"="+string(text))
		cmd.Stderr = t.Output()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		said := untilReady(out)
		if strings.Contains(said, chlibrary.ErrMissing.Error()) && testing.Short() {
			t.Skip(said)
		}
		if !strings.Contains(said, readyLine) {
			t.Fatalf("round %d: it is not ready:\n%s", round, said)
		}
		before := env
		env = readEnv(t, s)
		if diff := cmp.Diff(before, env); round > 0 && diff != "" {
			t.Errorf("round %d: dev.env (-before the kill +after):\n%s", round, diff)
		}
		for i := range 20 {
			send(t, env, fmt.Sprintf("%d-%d", round, i))
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
	}
	wantEvents(t, start(t, s).env, 60)
}

func TestWhatIsPrintedCanBeRunAndDevEnvIsForItsOwner(t *testing.T) {
	t.Parallel()
	s := settings(t)
	i := start(t, s)
	for _, want := range []string{
		"… starting Kafka\n", "… starting ClickHouse", "\nmillrace ready\n",
		i.env.BaseURL, i.env.IngestURL, i.env.LinkURL, i.env.KafkaBrokers, i.env.ClickHouseAddr, i.env.APIKey,
		i.env.WebsiteID, s.Embedded.ClickHouse.HTTP.Listen, "http://" + s.Admin.Listen + "/metrics",
	} {
		if !strings.Contains(i.out, want) {
			t.Errorf("what it printed lacks %q:\n%s", want, i.out)
		}
	}
	_, commands, _ := strings.Cut(i.out, "counts once:\n")
	sent, queried, _ := strings.Cut(commands, "Query it:\n")
	queried, _, _ = strings.Cut(queried, "\n\nCtrl-C")
	for range 2 {
		if out := shell(t, sent); !strings.Contains(out, `"status":"success"`) {
			t.Errorf("the command that sends answers %s", out)
		}
	}
	testkit.Eventually(t, 2*time.Minute, func() error {
		if out := shell(t, queried); !strings.Contains(out, `"name":"signup","total_events":1,`) {
			return fmt.Errorf("the command that queries answers %s", out)
		}
		return nil
	})

	file := filepath.Join(s.Data.Dir, devEnvFile)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("dev.env has mode %v", info.Mode())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok || value == "" {
			t.Errorf("the line %q of dev.env has no value", line)
		}
		names = append(names, name)
	}
	want := []string{
		"BASE_URL", "INGEST_URL", "LINK_URL", "KAFKA_BROKERS", "CLICKHOUSE_ADDR", "API_KEY", "WEBSITE_ID", "ORGANIZATION_ID",
		"ADMIN_EMAIL", "ADMIN_PASSWORD",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("dev.env (-want +got):\n%s", diff)
	}
}

func shell(t *testing.T, script string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

func TestOneListenerTellsAboutAllDaemons(t *testing.T) {
	t.Parallel()
	s := settings(t)
	start(t, s)
	for _, path := range []string{"/livez", "/readyz"} {
		if status, body := get(t, "http://"+s.Admin.Listen+path); status != http.StatusOK {
			t.Errorf("%s answers %d %s", path, status, body)
		}
	}
	_, metrics := get(t, "http://"+s.Admin.Listen+"/metrics")
	for _, d := range daemons {
		if !strings.Contains(metrics, fmt.Sprintf("component=%q", d.component)) {
			t.Errorf("there is no metric of %s", d.component)
		}
	}
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

func TestAStartThatCannotWorkSaysWhyInOneSentence(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	addr := taken.Addr().String()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(*config.Settings)
		want   []string
	}{
		"query port in use": {
			func(s *config.Settings) { s.Query.Listen = addr }, []string{addr, "MILLRACE_QUERY_LISTEN"},
		},
		"ingestion port in use": {
			func(s *config.Settings) { s.Ingest.Listen = addr }, []string{addr, "MILLRACE_INGEST_LISTEN"},
		},
		"short-link port in use": {
			func(s *config.Settings) { s.Link.Listen = addr }, []string{addr, "MILLRACE_LINK_LISTEN"},
		},
		"admin port in use": {
			func(s *config.Settings) { s.Admin.Listen = addr }, []string{addr, "MILLRACE_ADMIN_LISTEN"},
		},
		"Kafka port in use": {
			func(s *config.Settings) { s.Embedded.Kafka.Listen = addr }, []string{addr, "MILLRACE_EMBEDDED_KAFKA_LISTEN"},
		},
		"folder that is a file": {func(s *config.Settings) { s.Data.Dir = file }, []string{file, "MILLRACE_DATA_DIR"}},
		"folder that cannot be made": {
			func(s *config.Settings) { s.Data.Dir = filepath.Join(file, "x") }, []string{file, "MILLRACE_DATA_DIR"},
		},
		"ClickHouse that is not one": {
			func(s *config.Settings) { s.Embedded.ClickHouse.Binary = file }, []string{"MILLRACE_EMBEDDED_CLICKHOUSE_BINARY"},
		},
		"ClickHouse reached by others": {
			func(s *config.Settings) { s.Embedded.ClickHouse.Listen = "0.0.0.0:9000" },
			[]string{"MILLRACE_EMBEDDED_CLICKHOUSE_LISTEN"},
		},
		"store that is none": {func(s *config.Settings) { s.Store.URL = "mysql://x" }, []string{"sqlite"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := settings(t)
			tt.change(&s)
			err := Run(t.Context(), Options{Settings: s, Stdout: io.Discard, Stderr: io.Discard})
			if errors.Is(err, chlibrary.ErrMissing) && testing.Short() {
				t.Skip(err)
			}
			if err == nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("the error is %v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %q, want %q in it", err, want)
				}
			}
		})
	}
}

func TestTwoProcessesDoNotShareAFolder(t *testing.T) {
	t.Parallel()
	s := settings(t)
	f, err := openFolder(s.Data.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	err = Run(t.Context(), Options{Settings: s, Stdout: io.Discard, Stderr: io.Discard})
	want := fmt.Sprintf(
		"another millrace (process %d) runs on the data folder %s; stop that process or set MILLRACE_DATA_DIR to another "+
			"folder",
		os.Getpid(), s.Data.Dir)
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestAStopDuringTheStartIsNoError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	err := Run(ctx, Options{Settings: settings(t), Stderr: io.Discard, Stdout: writerFunc(func(p []byte) (int, error) {
		cancel() // at the first line
		return out.Write(p)
	})})
	if errors.Is(err, chlibrary.ErrMissing) && testing.Short() {
		t.Skip(err)
	}
	if err != nil {
		t.Error(err)
	}
	if !strings.HasSuffix(out.String(), "millrace stopped\n") || strings.Contains(out.String(), readyLine) {
		t.Errorf("it printed\n%s", &out)
	}
}

type writerFunc func([]byte) (int, error)

// Write calls f.
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestDefaultsGiveWayToWhatWasSet(t *testing.T) {
	t.Parallel()
	load := func(environ ...string) config.Settings {
		s, meta, err := config.Load(config.Options{Name: "x", Args: []string{}, Environ: environ})
		if err != nil {
			t.Fatal(err)
		}
		return Defaults(s, meta)
	}
	if got := load("HOME=/").Log; got.Level != "warn" || got.Format != "text" {
		t.Errorf("nothing set: %+v", got)
	}
	if got := load("MILLRACE_LOG_LEVEL=info",
		"MILLRACE_LOG_FORMAT=json").Log; got.Level != "info" || got.Format != "json" {
		t.Errorf("both set: %+v", got)
	}
}

func TestLocalLeavesWhatWasSet(t *testing.T) {
	t.Parallel()
	s := config.Default()
	got := Local(s)
	if got.Kafka.Brokers[0] != "127.0.0.1:9092" || got.ClickHouse.Addr[0] != "127.0.0.1:9000" ||
		got.Store.URL != "sqlite:data/millrace.db" {
		t.Errorf("nothing set: %v %v %s", got.Kafka.Brokers, got.ClickHouse.Addr, got.Store.URL.Reveal())
	}
	s.Kafka.Brokers, s.ClickHouse.Addr, s.Store.URL = []string{"k:1"}, []string{"c:1"}, "postgres://p/x"
	if diff := cmp.Diff(s, Local(s)); diff != "" {
		t.Errorf("all set (-before +after):\n%s", diff)
	}
}

func TestEveryLineOfDevEnvIsAField(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dev.env")
	var want devEnv
	seen := map[*string]bool{}
	for i, l := range devEnvLines {
		field := l.of(&want)
		*field = fmt.Sprint("value=", i)
		seen[field] = true
	}
	if n := len(slices.Collect(maps.Keys(seen))); n != len(devEnvLines) {
		t.Errorf("%d lines fill %d fields", len(devEnvLines), n)
	}
	if err := want.write(path); err != nil {
		t.Fatal(err)
	}
	got, err := readDevEnv(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}
