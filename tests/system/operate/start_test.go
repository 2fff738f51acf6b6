package operate

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// startWait is a limit for what happens within seconds.
const startWait = 2 * time.Minute

// door is an address at which nobody answers until it is opened; then it leads to a
// server.
type door struct{ addr, server string }

func newDoor(t *testing.T, server string) *door {
	t.Helper()
	return &door{testkit.FreeAddr(t), server}
}

func (d *door) open(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go d.pass(from)
		}
	}()
}

func (d *door) pass(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", d.server)
	if err != nil {
		return
	}
	defer to.Close()
	go io.Copy(to, from)
	io.Copy(from, to)
}

// closedSite is a site all of whose servers stand behind doors.
type closedSite struct {
	*site
	kafka, clickhouse, store *door
}

func newClosedSite(t *testing.T) *closedSite {
	t.Helper()
	s := newServers(t)
	delete(s.settings, "ADMIN_LISTEN") // each process has one of its own
	c := &closedSite{
		s, newDoor(t, s.kafka.Brokers[0]), newDoor(t, s.clickhouse.Addr[0]), newDoor(t, postgresAddr(t, s.storeURL)),
	}
	s.settings["KAFKA_BROKERS"], s.settings["CLICKHOUSE_ADDR"] = c.kafka.addr, c.clickhouse.addr
	s.settings["STORE_URL"] = strings.Replace(s.storeURL, c.store.server, c.store.addr, 1)
	s.settings["LOG_FORMAT"] = "text"
	return c
}

// says waits until /readyz of a daemon says everything of wants, and that it is not
// ready.
func says(t *testing.T, p *harness.Process, wants ...string) {
	t.Helper()
	testkit.Eventually(t, startWait, func() error {
		a, err := harness.Get(t.Context(), "http://"+p.Admin()+"/readyz", "")
		if err != nil {
			return fmt.Errorf("%w, the log:\n%s", err, p.Log())
		}
		for _, want := range wants {
			if a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), want) {
				return fmt.Errorf("/readyz says %d %q, want 503 and %q", a.Status, a.Body, want)
			}
		}
		return nil
	})
}

const (
	rejected  = "connection refused"
	noStore   = "waiting for the metadata store: "
	noTables  = "waiting for ClickHouse: "
	noBrokers = "waiting for Kafka: "
)

// The daemons are started before there is anything: the servers come later, and then
// the tables and topics in them.
func TestTheDaemonsMayBeStartedFirst(t *testing.T) {
	t.Parallel()
	s := newClosedSite(t)
	began := time.Now()
	daemons := map[string]*harness.Process{}
	for _, name := range []string{"ingest-edge", "sink", "query"} {
		daemons[name] = harness.NewProcess(t, name, nil, s.settings)
		daemons[name].Launch(t)
	}
	says(t, daemons["ingest-edge"], "starting\n", noStore, noBrokers, rejected)
	says(t, daemons["sink"], "starting\n", noTables, noBrokers, rejected)
	says(t, daemons["query"], "starting\n", noStore, noTables, rejected)

	s.kafka.open(t)
	says(t, daemons["sink"], noTables, rejected, noBrokers+"missing topics: ", `"millrace topics create"`)
	s.store.open(t)
	says(t, daemons["ingest-edge"], noStore+"the metadata store's schema is too old; run `millrace migrate`")
	s.clickhouse.open(t)
	says(t, daemons["query"], noTables, "database "+s.site.clickhouse.Database, `run "millrace migrate"`)

	s.must(t, "migrate")
	s.must(t, "topics create")
	for _, p := range daemons {
		p.WaitReady(t)
		n, most := strings.Count(p.Log(), `msg="server unavailable, waiting"`), 2*(2+int(time.Since(began)/time.Minute))
		if n < 2 || n > most {
			t.Errorf("%d lines tell of two servers, want 2 to %d:\n%s", n, most, p.Log())
		}
	}
	s.works(t)
}

// works makes the first account, sends an event and finds it.
func (c *closedSite) works(t *testing.T) {
	t.Helper()
	c.counts(t, variables(c.must(t, "bootstrap --organization Acme --domain shop.example --email owner@shop.example")))
}

// variables reads NAME=value lines.
func variables(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		all[name] = value
	}
	return all
}

func (c *closedSite) counts(t *testing.T, account map[string]string) {
	t.Helper()
	const event = `{"type":"custom","name":"started","eventId":"e-1"}`
	key, site := account["API_KEY"], "?website_id="+account["WEBSITE_ID"]
	a, err := harness.Post(t.Context(), "http://"+c.settings["INGEST_LISTEN"]+"/track"+site, key, []byte(event))
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("POST /track: %d %s, %v", a.Status, a.Body, err)
	}
	testkit.EventuallyEvery(t, time.Second, startWait, func() error {
		a, err := harness.Post(t.Context(), "http://"+c.settings["QUERY_LISTEN"]+"/v1/query"+site, key,
			[]byte(`{"parameters":["summary_metrics"],"preset":"last_7d"}`))
		if err == nil && !strings.Contains(string(a.Body), `"total_events":1`) {
			err = errors.New(string(a.Body))
		}
		return err
	})
}

func TestStandaloneMayBeStartedBeforeItsServers(t *testing.T) {
	t.Parallel()
	s := newClosedSite(t)
	data := t.TempDir()
	s.settings["DATA_DIR"] = data
	p := harness.NewProcess(t, "millrace", []string{"standalone"}, s.settings)
	p.Launch(t)
	says(t, p, "starting\n", noStore, noTables, noBrokers, rejected)
	for _, d := range []*door{s.clickhouse, s.store, s.kafka} {
		d.open(t)
	}
	p.WaitReady(t)
	var account map[string]string
	testkit.Eventually(t, startWait, func() error { // ready comes a moment before it is written
		text, err := os.ReadFile(filepath.Join(data, "dev.env"))
		account = variables(string(text))
		return err
	})
	s.counts(t, account)
}

// The commands that prepare an installation are started before there is anything, as
// jobs of a cluster are that is just being made.
func TestTheCommandsThatPrepareMayBeStartedFirst(t *testing.T) {
	t.Parallel()
	s := newClosedSite(t)
	var commands []*harness.Process
	for _, line := range []string{"migrate", "topics create"} {
		p := harness.NewProcess(t, "millrace", append(strings.Fields(line), "--wait", startWait.String()), s.settings)
		p.Launch(t)
		commands = append(commands, p)
	}
	for i, servers := range [][]string{{"the metadata store", "ClickHouse"}, {"Kafka"}} {
		for _, server := range servers {
			tells(t, commands[i], server)
		}
	}
	for _, line := range []string{"migrate", "topics create --wait 300ms"} {
		if out, code := millrace(t, s.settings, strings.Fields(line)...); code == 0 || !strings.Contains(out, rejected) {
			t.Errorf("millrace %s ends with %d, want that nobody answers:\n%s", line, code, out)
		}
	}
	s.store.open(t)
	s.clickhouse.open(t)
	s.kafka.open(t)
	for _, p := range commands {
		if err := p.Wait(); err != nil {
			t.Errorf("it ends with %v:\n%s", err, p.Log())
		}
	}
	s.must(t, "topics check")
	if out, _ := millrace(t, s.settings, "doctor"); strings.Contains(out, "millrace migrate") {
		t.Errorf("something is not migrated:\n%s", out)
	}
}

// tells waits until a program's log says that it waits for a server.
func tells(t *testing.T, p *harness.Process, server string) {
	t.Helper()
	testkit.Eventually(t, startWait, func() error {
		for line := range strings.Lines(p.Log()) {
			if strings.Contains(line, "server unavailable, waiting") && strings.Contains(line, server) {
				return nil
			}
		}
		return fmt.Errorf("it does not tell of waiting for %s:\n%s", server, p.Log())
	})
}

// hopeless are starts that no wait makes good, while the other servers are away.
var hopeless = []struct {
	name, program string
	settings      func(t *testing.T, s *closedSite) map[string]string
	says          string
}{
	{"a URL of nothing", "ingest-edge", set("STORE_URL", "mysql://somewhere/x"), "MILLRACE_STORE_URL: the value must be "},
	{"a database that is missing", "ingest-edge", func(t *testing.T, s *closedSite) map[string]string {
		t.Helper()
		return map[string]string{"STORE_URL": strings.Replace(s.storeURL, parsed(t, s.storeURL).Path, "/nobodys", 1)}
	}, "starting servers: the metadata store: store.url: there is no such database"},
	{"the same, of the query host", "query", func(t *testing.T, s *closedSite) map[string]string {
		t.Helper()
		return map[string]string{"STORE_URL": strings.Replace(s.storeURL, parsed(t, s.storeURL).Path, "/nobodys", 1)}
	}, "starting servers: the metadata store: store.url: there is no such database"},
	{"the same, of standalone", "millrace standalone", func(t *testing.T, s *closedSite) map[string]string {
		t.Helper()
		return map[string]string{"STORE_URL": strings.Replace(s.storeURL, parsed(t, s.storeURL).Path, "/nobodys", 1)}
	}, "the metadata store: store.url: there is no such database"},
	{
		"a folder that is missing", "query", set("STORE_URL", "sqlite:/nowhere/millrace.db"),
		"opening the SQLite file: open /nowhere/millrace.db: no such file or directory",
	},
	{
		"a secret's file that is missing", "query", set("CLICKHOUSE_PASSWORD_FILE", "/nowhere/password"),
		"ClickHouse: connecting to ClickHouse at ",
	},
	{
		"a certificate that is missing", "sink", set("KAFKA_TLS_ENABLED", "true", "KAFKA_TLS_CA_FILE", "/nowhere/ca.pem"),
		"kafka.tls.ca_file: /nowhere/ca.pem cannot be read",
	},
	{
		"the same, of the command that migrates", "millrace migrate --wait 1h",
		func(t *testing.T, s *closedSite) map[string]string {
			t.Helper()
			return map[string]string{"STORE_URL": strings.Replace(s.storeURL, parsed(t, s.storeURL).Path, "/nobodys", 1)}
		}, "the metadata store: store.url: there is no such database",
	},
	{"nobody may sign in there", "sink", signingIn, "starting servers: Kafka: connecting to Kafka at "},
	{"the same, of the query host", "query", signingIn, "starting servers: Kafka: connecting to Kafka at "},
}

func set(pairs ...string) func(*testing.T, *closedSite) map[string]string {
	return func(t *testing.T, s *closedSite) map[string]string { return settings(pairs...)(t, s.site) }
}

func signingIn(_ *testing.T, s *closedSite) map[string]string {
	return map[string]string{
		"KAFKA_BROKERS": s.kafka.server, "KAFKA_SASL_MECHANISM": "plain", "KAFKA_SASL_USER": "alice",
		"KAFKA_SASL_PASSWORD": "not-this-one",
	}
}

func TestWhatCanNeverWorkEndsTheStart(t *testing.T) {
	t.Parallel()
	s := newClosedSite(t)
	for _, tc := range hopeless {
		t.Run(tc.program+", "+tc.name, func(t *testing.T) {
			t.Parallel()
			changed := tc.settings(t, s)
			changed["INGEST_LISTEN"], changed["QUERY_LISTEN"], changed["LINK_LISTEN"] = testkit.FreeAddr(t),
				testkit.FreeAddr(t), testkit.FreeAddr(t)
			program, args, _ := strings.Cut(tc.program, " ")
			p := harness.NewProcess(t, program, strings.Fields(args), s.with(changed))
			p.Launch(t)
			err := p.Wait()
			if _, ended := errors.AsType[*exec.ExitError](err); !ended || !strings.Contains(p.Log(), tc.says) {
				t.Errorf("it ends with %v and says\n%s\nwant %q", err, p.Log(), tc.says)
			}
			if strings.Contains(p.Log(), "not-this-one") {
				t.Errorf("it tells the password:\n%s", p.Log())
			}
		})
	}
}
