package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// writeFile writes a settings file and returns its path.
func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "millrace.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// loadWith never reads the environment or the arguments of the test itself.
func loadWith(args, environ []string) (Settings, Meta, string, error) {
	var out strings.Builder
	s, meta, err := Load(Options{
		Name: "sink", Args: append([]string{}, args...), Environ: append([]string{}, environ...), Output: &out,
	})
	return s, meta, out.String(), err
}

// problemsOf returns the lines of an error.
func problemsOf(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

func TestLoadWithoutAnySourceReturnsTheDefaults(t *testing.T) {
	t.Parallel()
	s, meta, out, err := loadWith(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), s); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if meta.Done || out != "" || meta.IsSet("log.level") {
		t.Errorf("Done = %v, output %q, IsSet = %v", meta.Done, out, meta.IsSet("log.level"))
	}
}

func TestEachSourceWinsOverTheOneBeforeIt(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "log: {level: warn, format: text, access: true}\nkafka:\n  brokers: [a:1, b:2]\n  linger: 5ms\n")
	s, meta, _, err := loadWith(
		[]string{"--log.level=debug", "--config.file", path},
		[]string{"MILLRACE_LOG_LEVEL=error", "MILLRACE_LOG_FORMAT=json", "OTHER=x"},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Log = Log{Level: "debug", Format: "json", Access: true}
	want.Kafka.Brokers, want.Kafka.Linger = []string{"a:1", "b:2"}, 5*time.Millisecond
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	for key, want := range map[string]string{
		"log.level": "--log.level", "log.format": "MILLRACE_LOG_FORMAT", "log.access": "file " + path,
		"key.prefix": "default",
	} {
		if got := meta.Origin(key); got != want {
			t.Errorf("Origin(%s) = %q, want %q", key, got, want)
		}
		if got := meta.IsSet(key); got != (want != "default") {
			t.Errorf("IsSet(%s) = %v", key, got)
		}
	}
}

func TestTheFileMayBeNamedByTheEnvironment(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "key: {prefix: abc}\nlog: # nothing set\nkafka:\n  brokers:\n")
	s, _, _, err := loadWith(nil, []string{"MILLRACE_CONFIG_FILE=" + path})
	if err != nil || s.Key.Prefix != "abc" {
		t.Errorf("prefix %q, error %v", s.Key.Prefix, err)
	}
	other := writeFile(t, "key: {prefix: def}\n")
	s, _, _, err = loadWith([]string{"--config.file=" + other}, []string{"MILLRACE_CONFIG_FILE=" + path})
	if err != nil || s.Key.Prefix != "def" {
		t.Errorf("prefix %q, error %v; want the flag's file", s.Key.Prefix, err)
	}
}

// sample returns a valid value for a setting, other than its default, as one
// would type it.
func sample(t *testing.T, f *Field) string {
	t.Helper()
	switch {
	case len(f.rules.oneOf) > 0:
		for _, word := range f.rules.oneOf {
			if word != f.Default {
				return word
			}
		}
	case f.rules.high != "":
		if f.Default == f.rules.high { // the highest value is no change
			return f.rules.low
		}
		return f.rules.high
	case f.Type == "boolean":
		return "true"
	case f.rules.form == "address" && f.Type != "list":
		return "a:1"
	}
	return map[string]string{
		"address": "a:1,b:2", "header": "X-Site,x-client", "lane": "backfill,live", "mailbox": "M <m@x.example>",
		"contact": "tel:+1-201-555-0123",
		"network": "10.0.0.0/8,::1", "origin": "https://x:1", "redis": "redis://x:1", "scheme": "https,myapp",
		"listen": "127.0.0.1:7777", "loopback": "[::1]:7777", "endpoint": "http://x:1", "store": "sqlite:x.db",
		"topic": "x", "identifier": "x", "prefix": "x", "text": "x", "path": "x",
	}[f.rules.form]
}

func TestEverySettingCanBeSetInEachOfItsSpellings(t *testing.T) {
	t.Parallel()
	for _, f := range Fields() {
		t.Run(f.Key, func(t *testing.T) {
			t.Parallel()
			value := sample(t, &f)
			section, name, _ := strings.Cut(f.Key, ".")
			quoted := value
			if f.Type == "text" || f.Type == "secret" || f.Type == "list" {
				quoted = fmt.Sprintf("%q", value)
			}
			content := section + ":\n  " + strings.ReplaceAll(name, ".", ":\n    ") + ": " + quoted + "\n"
			if strings.Count(name, ".") == 2 {
				parts := strings.Split(name, ".")
				content = fmt.Sprintf("%s: {%s: {%s: {%s: %s}}}\n", section, parts[0], parts[1], parts[2], quoted)
			}
			for source, load := range map[string]func() (Settings, Meta, string, error){
				"flag": func() (Settings, Meta, string, error) { return loadWith([]string{"--" + f.Key + "=" + value}, nil) },
				"env":  func() (Settings, Meta, string, error) { return loadWith(nil, []string{f.Env + "=" + value}) },
				"file": func() (Settings, Meta, string, error) {
					return loadWith([]string{"--config.file", writeFile(t, content)}, nil)
				},
			} {
				s, meta, _, err := load()
				if err != nil && !strings.Contains(err.Error(), ", which is ") { // orders between settings have a test of their own
					t.Errorf("%s: %v", source, err)
					continue
				}
				got := f.of(&s)
				if text := formatValue(got); f.Type != "secret" && text != value || got.IsZero() && value != f.rules.low {
					t.Errorf("%s: value %q, want %q", source, text, value)
				}
				if !meta.IsSet(f.Key) {
					t.Errorf("%s: IsSet = false", source)
				}
			}
		})
	}
}

func TestEveryProblemIsReportedAtOnceUnderTheNameTyped(t *testing.T) {
	t.Parallel()
	path := writeFile(t, `
admin: {listen: nowhere}
data: x
kafka:
  brokers: [a:1, 5]
  broker: a:1
  linger: 5
log: {level: {min: info}, format: json}
log.format: text
sinc: {window: 1h}
store: {url: 7}
`)
	_, _, _, err := loadWith(
		[]string{
			"--config.file", path, "--sink.windw=1h", "--key.prefx", "x", "--key.prefix=A", "--ingest.max_in_flight",
			"many", "stray",
		},
		[]string{
			"MILLRACE_SINK_WINDOW=1day", "MILLRACE_KAFKA_BROKER=a:1", "MILLRACE_TRACE_RATIO=NaN", "MILLRACE_LOG_ACCESS=maybe",
			"MILLRACE_XYZZY=1",
		},
	)
	want := []string{
		"unknown flag --sink.windw; did you mean --sink.window?",
		"unknown flag --key.prefx; did you mean --key.prefix?",
		"unexpected arguments: 1; write a setting as --key=value",
		path + ": data: is a section; put its settings on lines of their own below it",
		path + ": unknown setting kafka.broker; did you mean kafka.brokers?",
		path + ": kafka.brokers: item 2 must be text: put the value in quotes",
		path + ": kafka.linger: 5 must have a unit, as in 250ms, 5s or 1h",
		path + ": log.level: is a setting, not a section",
		path + ": log.format: is set twice",
		path + ": unknown setting sinc; did you mean sink?",
		path + ": store.url: must be text: put the value in quotes",
		"unknown variable MILLRACE_KAFKA_BROKER; did you mean MILLRACE_KAFKA_BROKERS?",
		`MILLRACE_LOG_ACCESS: "maybe" must be true or false`,
		`MILLRACE_SINK_WINDOW: "1day" must be a duration such as 250ms, 5s or 1h`,
		"unknown variable MILLRACE_XYZZY",
		`--ingest.max_in_flight: "many" must be a whole number`,
		path + `: admin.listen: "nowhere" must be host:port`,
		`--key.prefix: "A" must be a lower-case letter followed by up to 15 lower-case letters and digits`,
		"MILLRACE_TRACE_RATIO: NaN must be between 0 and 1",
	}
	if diff := cmp.Diff(want, problemsOf(err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestAFileThatCannotBeReadIsOneProblem(t *testing.T) {
	t.Parallel()
	const secret = "postgres://u:hunter2@h/d"
	missing := filepath.Join(t.TempDir(), "none.yaml")
	for name, tc := range map[string]struct{ path, want string }{
		"missing":       {missing, "reading the settings file " + missing + ": no such file or directory"},
		"no mapping":    {writeFile(t, secret), "must be a mapping of settings"},
		"a list":        {writeFile(t, "- "+secret), "must be a mapping of settings"},
		"an alias":      {writeFile(t, "clickhouse: {password: *hunter2 }"), "put a value that begins with * in quotes"},
		"a wrong tag":   {writeFile(t, "clickhouse: {password: !!int hunter2}"), "does not match the YAML tag"},
		"broken syntax": {writeFile(t, "store: {url: "+secret), "did not find expected"},
		"a key twice":   {writeFile(t, "log: {}\nlog: {}\n"), "already defined"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, _, err := loadWith([]string{"--config.file", tc.path}, nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want %q", err, tc.want)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "postgre") {
				t.Errorf("the error quotes the file: %v", err)
			}
		})
	}
}

func TestWhatIsMeantForOthersIsNoSetting(t *testing.T) {
	t.Parallel()
	_, _, _, err := loadWith(nil, []string{
		"MILLRACE_CACHE=/var/cache/millrace", "MILLRACE_TEST_SLACK=1", "MILLRACE_API_KEY=mlr_key",
		"MILLRACE_SERVICE_HOST=10.0.0.1", "MILLRACE_SERVICE_PORT=80", "MILLRACE_SERVICE_PORT_HTTP=80",
		"MILLRACE_PORT=tcp://10.0.0.1:80",
		"MILLRACE_QUERY_SERVICE_HOST=10.0.0.1", "MILLRACE_QUERY_PORT_8080_TCP=tcp://10.0.0.1:8080",
		"MILLRACE_INGEST_EDGE_PORT_8081_TCP_ADDR=10.0.0.1",
	})
	if err != nil {
		t.Errorf("Load() = %v", err)
	}
	for _, f := range Fields() {
		if isNoSetting(f.Env) {
			t.Errorf("%s looks like no setting: it would be ignored", f.Env)
		}
	}
}

func TestRequiredSettingsMayNotBeEmpty(t *testing.T) {
	t.Parallel()
	_, _, err := Load(Options{
		Args: []string{}, Environ: []string{"MILLRACE_STORE_URL="}, Output: io.Discard,
		Required: []string{"kafka.brokers", "store.url", "key.prefix"},
	})
	want := []string{
		"kafka.brokers: must be set with MILLRACE_KAFKA_BROKERS or --kafka.brokers",
		"MILLRACE_STORE_URL: must be set with MILLRACE_STORE_URL or --store.url",
	}
	if diff := cmp.Diff(want, problemsOf(err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if got := Default().missing([]string{"key.prefix"}); len(got) != 0 {
		t.Errorf("key.prefix is missing: %v", got)
	}
	if got := Default().missing([]string{"no.such"}); len(got) != 1 {
		t.Errorf("of a setting that there is not: %v", got)
	}
}

func TestCheckSaysOkOrEveryProblem(t *testing.T) {
	t.Parallel()
	_, meta, out, err := loadWith([]string{"--config.check"}, nil)
	if err != nil || !meta.Done || out != "ok\n" {
		t.Errorf("good settings: output %q, Done %v, error %v", out, meta.Done, err)
	}
	_, _, out, err = loadWith([]string{"--config.check", "--log.level=loud"}, nil)
	if err == nil || out != "" {
		t.Errorf("bad settings: output %q, error %v", out, err)
	}
}

func TestPrintShowsEachSettingWithItsOriginAndNoSecret(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "kafka: {brokers: [a:1, b:2]}\n")
	_, meta, out, err := loadWith(
		[]string{"--config.print", "--config.file=" + path, "--store.url=postgres://u:hunter2@h/d"},
		[]string{"MILLRACE_SINK_WINDOW=90m", "MILLRACE_CLICKHOUSE_PASSWORD=hunter2"},
	)
	if err != nil || !meta.Done {
		t.Fatalf("Done %v, error %v", meta.Done, err)
	}
	for _, line := range []string{
		"kafka.brokers = a:1,b:2  (file " + path + ")",
		"sink.window = 1h30m  (MILLRACE_SINK_WINDOW)",
		"store.url = [redacted]  (--store.url)",
		"clickhouse.password = [redacted]  (MILLRACE_CLICKHOUSE_PASSWORD)",
		"key.prefix = mlr  (default)",
		`kafka.topic_prefix = ""  (default)`,
	} {
		if !strings.Contains(out, line+"\n") {
			t.Errorf("no line %q in:\n%s", line, out)
		}
	}
	if got := strings.Count(out, "\n"); got != len(Fields()) {
		t.Errorf("%d lines for %d settings", got, len(Fields()))
	}
	if strings.Contains(out, "hunter2") {
		t.Errorf("a secret is shown:\n%s", out)
	}
}

func TestHelpListsEverySetting(t *testing.T) {
	t.Parallel()
	_, meta, out, err := loadWith([]string{"--help"}, nil)
	if err != nil || !meta.Done {
		t.Fatalf("Done %v, error %v", meta.Done, err)
	}
	for _, f := range Fields() {
		if !strings.Contains(out, "--"+f.Key+" ") {
			t.Errorf("no --%s in:\n%s", f.Key, out)
		}
	}
}

func TestLoadFlagsServesACommandWithFlagsOfItsOwn(t *testing.T) {
	t.Parallel()
	fs := pflag.NewFlagSet("keys", pflag.ContinueOnError)
	name := fs.String("name", "", "own flag")
	AddFlags(fs)
	if err := fs.Parse([]string{"--name=x", "--store.url", "sqlite:a.db"}); err != nil {
		t.Fatal(err)
	}
	s, meta, err := LoadFlags(fs, Options{Environ: []string{}})
	if err != nil || *name != "x" || s.Store.URL.Reveal() != "sqlite:a.db" || meta.Origin("store.url") != "--store.url" {
		t.Errorf("name %q, store %q from %s, error %v", *name, s.Store.URL.Reveal(), meta.Origin("store.url"), err)
	}
	err = SuggestFlag(fs, fs.Parse([]string{"--nme=x"}))
	if got, want := fmt.Sprint(err), "unknown flag --nme; did you mean --name?"; got != want {
		t.Errorf("SuggestFlag() = %q, want %q", got, want)
	}
}

func TestASecretNeverPrints(t *testing.T) {
	t.Parallel()
	const value = "hunter2"
	s := Default()
	s.Store.URL, s.ClickHouse.Password = Secret("postgres://u:"+value+"@h/d"), value
	outputs := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%08.3f"} {
		outputs["settings by "+verb] = fmt.Sprintf(verb, s)
		outputs["pointer by "+verb] = fmt.Sprintf(verb, &s)
		outputs["secret by "+verb] = fmt.Sprintf(verb, s.Store.URL)
		outputs["section by "+verb] = fmt.Sprintf(verb, s.ClickHouse)
	}
	asJSON, err := json.Marshal(s) //nolint:musttag // whatever it looks like, it must not show a secret
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	outputs["json"], outputs["yaml"] = string(asJSON), string(asYAML)
	var log strings.Builder
	for _, h := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
		slog.New(h).Info("x", slog.Any("settings", s), slog.Any("url", s.Store.URL), slog.Any("pointer", &s.Store))
	}
	outputs["log"] = log.String()
	s.Store.URL = "mysql://u:" + value + "@h"
	outputs["problem"] = fmt.Sprint(s.Validate())
	s.Store.URL = "postgres://u:" + value + "@h:port\x00/%zz"
	outputs["problem of a malformed URL"] = fmt.Sprint(s.Validate())
	for name, out := range outputs {
		if strings.Contains(out, value) || strings.Contains(out, fmt.Sprintf("%x", value)) ||
			strings.Contains(out, fmt.Sprintf("%X", value)) {
			t.Errorf("%s shows a secret: %s", name, out)
		}
	}
	if got := fmt.Sprintf("%v|%s|%#v|%q",
		Secret(value), Secret(""), Secret(value), Secret("")); got != `[redacted]||"[redacted]"|""` {
		t.Errorf("shown as %s", got)
	}
}

func TestEveryTagIsUnderstood(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, f := range Fields() {
		if f.Help == "" || !strings.HasSuffix(f.Help, ".") {
			t.Errorf("%s: help %q is no sentence", f.Key, f.Help)
		}
		if names[f.Env] {
			t.Errorf("%s is the variable of two settings", f.Env)
		}
		names[f.Env] = true
		v := reflect.ValueOf(Default()).FieldByIndex(f.index)
		_, known := forms[f.rules.form]
		switch f.Type {
		case "integer", "number", "duration":
			for _, bound := range []string{f.rules.low, f.rules.high} {
				if _, err := convert(v.Type(), bound); err != nil {
					t.Errorf("%s: bound %v", f.Key, err)
				}
			}
			if low, high := f.rules.bounds(v.Type()); low >= high {
				t.Errorf("%s: range %s to %s is empty", f.Key, f.rules.low, f.rules.high)
			}
		case "boolean":
		default:
			if !known && len(f.rules.oneOf) == 0 {
				t.Errorf("%s: form %q is not in the table", f.Key, f.rules.form)
			}
		}
	}
}
