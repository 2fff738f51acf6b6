package harness

import (
	"flag"
	"maps"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/apitest"
	"github.com/millrace/millrace/internal/testkit/nameserver"
	"github.com/millrace/millrace/internal/testkit/services"
)

// Mode is a way to run the product.
type Mode string

// The modes.
const (
	InProcess  Mode = "in process"
	Standalone Mode = "standalone"
	Split      Mode = "split"
)

// Main runs the tests of a binary that uses this package. It never returns.
func Main(m interface{ Run() int }) { clickhousetest.Main(cleaning{m: m}) }

// MainBeside is Main for tests that wait for processes more than they work: as many
// parallel ones as it says run at the same time, however few cores there are, unless
// somebody says -parallel.
func MainBeside(m interface{ Run() int }, tests int) { clickhousetest.Main(cleaning{m, tests}) }

type cleaning struct {
	m      interface{ Run() int }
	beside int // tests; 0 for as many as there are cores
}

// Run runs the tests and removes what all of them shared.
func (c cleaning) Run() int {
	defer removeBinaries()
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == parallel })
	if c.beside > runtime.GOMAXPROCS(0) && !said {
		if err := flag.Set(parallel, strconv.Itoa(c.beside)); err != nil {
			panic(err) //nolint:forbidigo // only without a flag that every test binary has
		}
	}
	return c.m.Run()
}

// parallel is the flag of every test binary for how many tests run at a time.
const parallel = "test.parallel"

// Beside has a test of what is promised in seconds run beside others, except where the
// bounds are asserted as users were given them: there it has the machine for itself.
func Beside(t *testing.T) {
	t.Helper()
	if !testkit.Strict() {
		t.Parallel()
	}
}

// Role is a part of the product that can be ended and started on its own. In
// standalone mode all roles are one process.
type Role string

// The roles, named as their programs.
const (
	Edge  Role = "ingest-edge"
	Sink  Role = "sink"
	Query Role = "query"
)

// System is one running product.
type System struct {
	Mode Mode
	*Fixture
	// IngestURL and QueryURL are the two hosts, without a slash at the end.
	IngestURL, QueryURL string
	// LinkURL is that of short links; empty in split mode, which serves none.
	LinkURL    string
	Kafka      config.Kafka
	ClickHouse config.ClickHouse
	// ClickHouseHTTP is host:port of ClickHouse's HTTP interface; only of a
	// Standalone system.
	ClickHouseHTTP string
	// StoreURL is the metadata store's.
	StoreURL string
	// DNS resolves names for the query host; only of an InProcess system.
	DNS *nameserver.Server
	// KafkaServer and StoreServer can be stopped; nil except with OwnServers.
	KafkaServer, StoreServer *services.Server

	processes map[Role]*Process
	logs      []*testkit.Log    // of an InProcess system's daemons
	settings  map[string]string // of a Split system's programs
}

// Options change how a System is built.
type Options struct {
	// OwnServers gives a Split system a Kafka and a PostgreSQL of its own, for
	// tests that stop them.
	OwnServers bool
	// Verbose has an InProcess system log every request, and at the level debug.
	Verbose bool
	// Settings are further settings, as environment variables without the prefix
	// MILLRACE_.
	Settings map[string]string
}

// New starts a System with a seeded metadata store and returns when it is ready.
func New(tb testing.TB, mode Mode, opts Options) *System {
	tb.Helper()
	s := &System{Mode: mode, processes: map[Role]*Process{}}
	switch mode {
	case InProcess:
		s.startInProcess(tb, opts)
	case Standalone:
		s.startStandalone(tb, opts)
	case Split:
		s.startSplit(tb, opts)
	}
	return s
}

// Process returns the process of a role.
func (s *System) Process(r Role) *Process { return s.processes[r] }

// Processes returns the different processes.
func (s *System) Processes() []*Process {
	if s.Mode == Standalone {
		return []*Process{s.processes[Edge]}
	}
	return []*Process{s.processes[Edge], s.processes[Sink], s.processes[Query]}
}

// Vars returns the variables of contract cases.
func (s *System) Vars() apitest.Vars {
	vars := s.Fixture.Vars()
	vars["INGEST"], vars["QUERY"] = s.IngestURL, s.QueryURL
	return vars
}

// startStandalone runs `millrace standalone` with a metadata store that is
// seeded before it looks.
func (s *System) startStandalone(tb testing.TB, opts Options) {
	tb.Helper()
	dir := testkit.ShortDir(tb)
	ingest, query, link := testkit.FreeAddr(tb), testkit.FreeAddr(tb), testkit.FreeAddr(tb)
	s.IngestURL, s.QueryURL, s.LinkURL = "http://"+ingest, "http://"+query, "http://"+link
	s.StoreURL = "sqlite:" + filepath.Join(testkit.ShortDir(tb), "meta.db")
	s.Fixture = Seed(tb, s.StoreURL)
	s.Kafka = config.Default().Kafka
	s.Kafka.Brokers = []string{testkit.FreeAddr(tb)}
	s.ClickHouse = config.Default().ClickHouse
	s.ClickHouse.Addr = []string{testkit.FreeAddr(tb)}
	s.ClickHouseHTTP = testkit.FreeAddr(tb)
	p := NewProcess(tb, "millrace", []string{"standalone"}, merge(patientLimits(), map[string]string{
		"DATA_DIR":                        dir,
		"INGEST_LISTEN":                   ingest,
		"QUERY_LISTEN":                    query,
		"LINK_LISTEN":                     link,
		"STORE_URL":                       s.StoreURL,
		"EMBEDDED_KAFKA_LISTEN":           s.Kafka.Brokers[0],
		"EMBEDDED_CLICKHOUSE_LISTEN":      s.ClickHouse.Addr[0],
		"EMBEDDED_CLICKHOUSE_HTTP_LISTEN": s.ClickHouseHTTP,
		"LOG_FORMAT":                      "text",
		"SECURITY_CONTACT":                securityContact,
	}, opts.Settings))
	s.processes = map[Role]*Process{Edge: p, Sink: p, Query: p}
	p.Start(tb)
}

// startSplit runs the three daemons against real servers.
func (s *System) startSplit(tb testing.TB, opts Options) {
	tb.Helper()
	if opts.OwnServers {
		own := services.OwnAll(tb, services.KindKafka, services.KindPostgres)
		s.KafkaServer, s.StoreServer = own[0], own[1]
		s.Kafka, s.StoreURL = s.KafkaServer.Kafka(), s.StoreServer.Database(tb)
	} else {
		s.Kafka, s.StoreURL = services.Kafka(tb), services.Postgres(tb)
	}
	s.Fixture = Seed(tb, s.StoreURL)
	s.ClickHouse = clickhousetest.Database(tb)
	ingest, query := testkit.FreeAddr(tb), testkit.FreeAddr(tb)
	s.IngestURL, s.QueryURL = "http://"+ingest, "http://"+query
	s.settings = merge(patientLimits(), map[string]string{
		"KAFKA_BROKERS":       s.Kafka.Brokers[0],
		"KAFKA_TOPIC_PREFIX":  s.Kafka.TopicPrefix,
		"KAFKA_PARTITIONS":    strconv.Itoa(s.Kafka.Partitions),
		"KAFKA_REPLICATION":   strconv.Itoa(s.Kafka.Replication),
		"STORE_URL":           s.StoreURL,
		"CLICKHOUSE_ADDR":     s.ClickHouse.Addr[0],
		"CLICKHOUSE_DATABASE": s.ClickHouse.Database,
		"INGEST_LISTEN":       ingest,
		"QUERY_LISTEN":        query,
		"SINK_GROUP":          s.Kafka.TopicPrefix + "sink",
		// A killed member without an instance id keeps its partitions this long.
		"SINK_SESSION_TIMEOUT": "3s",
		"LOG_FORMAT":           "text",
		"SECURITY_CONTACT":     securityContact,
	}, opts.Settings)
	programs := Current(tb)
	for _, args := range [][]string{{"migrate"}, {"topics", "create"}} {
		if out, err := programs.Run(tb, s, "millrace", args...); err != nil {
			tb.Fatalf("millrace %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	programs.launch(tb, s)
}

// securityContact is security.contact of all systems.
const securityContact = "security@example.com"

// patience is an edge's deadline that a broker keeps on a machine that stands still for
// some seconds now and then.
const patience = 25 * time.Second

// patientLimits are testkit.WideLimits and patience as settings of a process.
func patientLimits() map[string]string {
	s := config.Default()
	s.Limits = testkit.WideLimits()
	env := map[string]string{}
	for _, f := range config.Fields() {
		if strings.HasPrefix(f.Key, "limits.") {
			env[strings.TrimPrefix(f.Env, "MILLRACE_")] = f.Value(&s)
		}
	}
	env["INGEST_DEADLINE"] = patience.String()
	return env
}

func merge(into map[string]string, from ...map[string]string) map[string]string {
	for _, f := range from {
		maps.Copy(into, f)
	}
	return into
}
