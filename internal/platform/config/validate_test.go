package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

func TestTheDefaultsAreValid(t *testing.T) {
	t.Parallel()
	if err := Default().Validate(); err != nil {
		t.Errorf("Validate() = %v", err)
	}
}

func TestEachRangeHoldsAtItsBoundsAndNotBeyond(t *testing.T) {
	t.Parallel()
	for _, f := range Fields() {
		if f.rules.high == "" {
			continue
		}
		low, high := f.rules.bounds(f.of(&Settings{}).Type())
		step := map[string]float64{"number": 1e-9, "integer": 1, "duration": float64(time.Nanosecond)}[f.Type]
		for value, want := range map[float64]bool{low: true, high: true, low - step: false, high + step: false} {
			s := Default()
			v := f.of(&s)
			if f.Type == "number" {
				v.SetFloat(value)
			} else {
				v.SetInt(int64(value))
			}
			if err := f.rules.check(v); (err == nil) != want {
				t.Errorf("%s = %s: %v", f.Key, formatValue(v), err)
			}
		}
	}
}

func TestRulesBetweenSettings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		change  func(*Settings)
		problem string // empty: valid
	}{
		{
			"an insert may take just less than half of a rebalance",
			func(s *Settings) { s.Sink.InsertTimeout = s.Sink.Rebalance/2 - 1 }, "",
		},
		{
			"an insert may not take half of a rebalance", func(s *Settings) { s.Sink.InsertTimeout = s.Sink.Rebalance / 2 },
			"sink.insert_timeout: 30s must be below half of sink.rebalance_timeout, which is 30s: ",
		},
		{"a drain may take the whole grace", func(s *Settings) { s.Sink.DrainBudget = s.Shutdown.Grace }, ""},
		{
			"a drain may not take longer than the grace", func(s *Settings) { s.Sink.DrainBudget = s.Shutdown.Grace + 1 },
			"sink.drain_budget: 30.000000001s must be at most shutdown.grace, which is 30s: ",
		},
		{"a grace below the deadlines", func(s *Settings) {
			s.Shutdown.Grace, s.Sink.DrainBudget = 4*time.Second, time.Second
		}, "ingest.deadline: 5s must be at most shutdown.grace, which is 4s: "},
		{
			"a grace below the queries' deadline", func(s *Settings) { s.Shutdown.Grace = 29 * time.Second },
			"query.deadline: 30s must be at most shutdown.grace, which is 29s: ",
		},
		{
			"stale before it is read again", func(s *Settings) { s.Lookup.Stale = 4 * time.Second },
			"lookup.fresh: 5s must be at most lookup.stale, which is 4s: ",
		},
		{
			"signing in", func(s *Settings) { s.Kafka.SASL = KafkaSASL{Mechanism: "scram-sha-512", User: "u", Password: "p"} },
			"",
		},
		{
			"signing in without a name",
			func(s *Settings) { s.Kafka.SASL = KafkaSASL{Mechanism: "plain", User: "", Password: "p"} },
			"kafka.sasl.mechanism: requires kafka.sasl.user, which is empty",
		},
		{
			"signing in without a password",
			func(s *Settings) { s.Kafka.SASL = KafkaSASL{Mechanism: "plain", User: "u", Password: ""} },
			"kafka.sasl.mechanism: requires kafka.sasl.password, which is empty",
		},
		{
			"a password that nobody asks for", func(s *Settings) { s.Kafka.SASL.Password = "p" },
			"kafka.sasl.password: requires kafka.sasl.mechanism, which is empty",
		},
		{
			"a mechanism that is none",
			func(s *Settings) { s.Kafka.SASL = KafkaSASL{Mechanism: "gssapi", User: "u", Password: "p"} },
			`kafka.sasl.mechanism: "gssapi" must be one of plain, `,
		},
		{"sessions that last as long as they may be idle", func(s *Settings) { s.Session.Absolute = s.Session.Idle }, ""},
		{
			"sessions that end before they may be idle", func(s *Settings) { s.Session.Absolute = s.Session.Idle - 1 },
			"session.idle: 336h must be at most session.absolute, which is 335h59m59.999999999s: ",
		},
		{"mail", func(s *Settings) {
			s.Mail = Mail{SMTP: SMTP{Addr: "h:25", TLS: "none", User: "u", Password: "p"}, From: "a@b.example"}
		}, ""},
		{
			"mail from nobody", func(s *Settings) { s.Mail.SMTP.Addr = "h:25" },
			"mail.smtp.addr: requires mail.from, which is empty",
		},
		{
			"mail to nowhere", func(s *Settings) { s.Mail.From = "a@b.example" },
			"mail.from: requires mail.smtp.addr, which is empty",
		},
		{"a mail user without a password", func(s *Settings) {
			s.Mail = Mail{SMTP: SMTP{Addr: "h:25", TLS: "none", User: "u", Password: ""}, From: "a@b.example"}
		}, "mail.smtp.user: requires mail.smtp.password, which is empty"},
		{
			"authorities of a plain connection", func(s *Settings) { s.Kafka.TLS.CAFile = "/ca.pem" },
			"kafka.tls.ca_file: requires kafka.tls.enabled, which is false",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := Default()
			tc.change(&s)
			err := s.Validate()
			if tc.problem == "" && err != nil || tc.problem != "" && !strings.HasPrefix(fmt.Sprint(err), tc.problem) {
				t.Errorf("Validate() = %v, want %q", err, tc.problem)
			}
		})
	}
}

func TestFormsOfTexts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ good, bad []string }{
		"listen": {
			[]string{"127.0.0.1:0", ":8080", "[::]:8080", "localhost:65535", "0.0.0.0:1"},
			[]string{
				"8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+1", "127.0.0.1:http", "::1:80",
				"http://h:1", "a b:1",
			},
		},
		"loopback": {
			[]string{"127.0.0.1:9000", "127.9.9.9:0", "[::1]:9000", "localhost:9000"},
			[]string{"0.0.0.0:9000", ":9000", "[::]:9000", "10.0.0.1:9000", "example.com:9000", "127.0.0.1"},
		},
		"address": {
			[]string{"kafka:9092", "[::1]:9092", "10.0.0.1:65535"},
			[]string{"kafka", ":9092", "kafka:0", "kafka:65536", "user@kafka:9092", "tcp://kafka:9092", ""},
		},
		"endpoint": {
			[]string{"http://127.0.0.1:4318", "https://collector/v1/traces"},
			[]string{"127.0.0.1:4318", "ftp://h", "http://", "http:/h", "://"},
		},
		"origin": {
			[]string{
				"https://api.example.com", "http://127.0.0.1:8080", "https://[2001:db8::1]", "https://xn--bcher-kva.example:8443",
				"http://localhost",
			},
			[]string{
				"https://api.example.com/", "https://api.example.com/v1", "https://API.example.com", "https://api.example.com:443",
				"http://h:80", "https://u@h", "https://h?", "https://h#", "https://h:", "https://h:0", "https://h:65536",
				"https://h:080", "ftp://h", "https://", "h", "https://b\u00fccher.example", "https://a b", "https://.h",
				"HTTPS://h", "https://[fe80::1%25eth0]",
			},
		},
		"scheme": {
			[]string{"https", "http", "mailto", "myapp", "web+app", "a.b-1"},
			[]string{"javascript", "data", "vbscript", "file", "blob", "about", "intent", "HTTPS", "https:", "1a", ""},
		},
		"network": {
			[]string{"10.0.0.7", "10.0.0.0/8", "10.1.2.3/8", "::1", "fd00::/8", "0.0.0.0/1", "192.0.2.1/32"},
			[]string{
				"0.0.0.0/0", "::/0", "::ffff:10.0.0.1", "::ffff:10.0.0.0/104", "fe80::1%eth0", "10.0.0.0/33", "10.0.0",
				"proxy.internal", "10.0.0.1:80", "",
			},
		},
		"store": {
			[]string{
				"sqlite:x.db", "sqlite:/var/lib/x.db", "sqlite::memory:", "postgres://u:p@h/d",
				"postgresql://h:5432/d?sslmode=disable",
			},
			[]string{"sqlite:", "x.db", "postgres://h", "postgres://h/", "postgres:///d", "mysql://h/d", "postgres://h:x/d"},
		},
		"redis": {
			[]string{"redis://127.0.0.1:6379", "rediss://u:p@h:6380/1", "redis://h"},
			[]string{"127.0.0.1:6379", "redis://", "http://h", "redis:h:x"},
		},
		"mailbox": {
			[]string{"millrace@example.com", "Millrace <millrace@example.com>", `"Acme, Inc." <a@b.example>`},
			[]string{"", "millrace", "a@b.example, c@d.example", "a@b.example\r\nBcc: c@d.example", "<a@b.example"},
		},
		"contact": {
			[]string{
				"security@example.com", "mailto:security@example.com?subject=Report", "https://example.com/report?a=b",
				"https://[2001:db8::1]/", "tel:+1-201-555-0123",
			},
			[]string{
				"", "security", "http://example.com/report", "https:", "https:///report", "mailto:", "mailto:a", "tel:", "tel:+",
				"tel:12a", "a@b.example, c@d.example", "Acme <a@b.example>", "a@b.example\nExpires: 1", "https://b.example/a b",
				"ftp://example.com", "ä@b.example", "mailto://a@b.example",
			},
		},
		"topic": {
			[]string{"dev.", "a-b_c.D9", strings.Repeat("x", 64)}, []string{"a/b", "a b", "ä", strings.Repeat("x", 65)},
		},
		"identifier": {
			[]string{"millrace", "_a9", strings.Repeat("x", 64)}, []string{"9a", "a-b", "a.b", "a`b", strings.Repeat("x", 65)},
		},
		"prefix": {[]string{"mlr", "a", "a2345678901234_"[:14]}, []string{"A", "9a", "a_b", "", strings.Repeat("a", 17)}},
		"text":   {[]string{"", strings.Repeat("x", 255)}, []string{strings.Repeat("x", 256)}},
		"path":   {[]string{"./data", "/a b"}, []string{"a\x00b"}},
	} {
		for _, s := range tc.good {
			if !forms[name].check(s) {
				t.Errorf("%s: %q is refused", name, s)
			}
		}
		for _, s := range tc.bad {
			if forms[name].check(s) {
				t.Errorf("%s: %q is accepted", name, s)
			}
		}
	}
}

func TestDurationsAreShownAsOneWritesThem(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Hour: "1h", 90 * time.Minute: "1h30m", time.Minute: "1m", 61 * time.Second: "1m1s", 0: "0s",
		250 * time.Millisecond: "250ms",
		10 * time.Second:       "10s", time.Hour + time.Second: "1h0m1s", 100 * time.Minute: "1h40m", 10 * time.Hour: "10h",
	} {
		if got := formatDuration(d); got != want {
			t.Errorf("formatDuration(%d) = %q, want %q", d, got, want)
		}
	}
}

// FuzzLoad checks that no input makes loading panic, print a secret, or accept
// settings that Validate rejects.
func FuzzLoad(f *testing.F) {
	f.Add("log: {level: debug}\n", "--sink.window=1h", "MILLRACE_KAFKA_BROKERS=a:1")
	f.Add("kafka.brokers: [a, {b: c}]", "--", "MILLRACE_")
	f.Add("a: &a [*a]", "--config.check=maybe", "MILLRACE_CONFIG_FILE=/")
	f.Fuzz(func(t *testing.T, content, arg, variable string) {
		l := newLayer()
		if section, err := parseYAML(content); err == nil {
			l.walk(section, "", origin{layer: layerFile, name: "x.yaml"})
		}
		if strings.Contains(arg, "config.") || strings.Contains(variable, "CONFIG_FILE") {
			t.Skip("would read a file of its own")
		}
		s, meta, out, err := loadWith([]string{arg}, []string{variable, "MILLRACE_CLICKHOUSE_PASSWORD=hunter2"})
		if err == nil && !meta.Done {
			if err := s.Validate(); err != nil {
				t.Errorf("accepted although %v", err)
			}
		}
		if strings.Contains(out+fmt.Sprint(err)+fmt.Sprint(s), "hunter2") && !strings.Contains(arg+variable, "hunter2") {
			t.Errorf("a secret is shown: %s %v", out, err)
		}
	})
}

// FuzzSplitArgs checks that no argument is lost: each is kept, or belongs to a
// flag that is reported.
func FuzzSplitArgs(f *testing.F) {
	f.Add("--log.level", "debug", "--x")
	f.Add("--x", "--log.level", "debug")
	f.Add("--log.access", "--", "--x")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		fs := pflag.NewFlagSet("x", pflag.ContinueOnError)
		AddFlags(fs)
		known, problems := splitArgs(fs, []string{a, b, c})
		if missing := 3 - len(known); missing < len(problems) || missing > 2*len(problems) {
			t.Errorf("kept %q of %q, %d problems", known, []string{a, b, c}, len(problems))
		}
		if len(problems) == 0 {
			if diff := cmp.Diff([]string{a, b, c}, known); diff != "" {
				t.Error(diff)
			}
		}
	})
}

func parseYAML(content string) (map[string]any, error) {
	k := koanf.New(".")
	if err := k.Load(rawbytes(content), yaml.Parser()); err != nil {
		return nil, err
	}
	return k.Raw(), nil
}

// rawbytes is a file's content without the file.
type rawbytes string

// ReadBytes implements koanf.Provider.
func (b rawbytes) ReadBytes() ([]byte, error) { return []byte(b), nil }

// Read implements koanf.Provider.
func (b rawbytes) Read() (map[string]any, error) { return nil, fmt.Errorf("%s is bytes", string(b)) }

func TestAnEdgeServesSomething(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		ingest, link string
		fine         bool
	}{
		{"127.0.0.1:8081", "", true},
		{"127.0.0.1:8081", "127.0.0.1:8082", true},
		{"", "127.0.0.1:8082", true},
		{"", "", false},
	} {
		s := Default()
		s.Ingest.Listen, s.Link.Listen = tc.ingest, tc.link
		if err := s.Validate(); (err == nil) != tc.fine {
			t.Errorf("ingest.listen %q, link.listen %q: %v", tc.ingest, tc.link, err)
		}
	}
}
