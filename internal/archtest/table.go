package archtest

// Module is the path in front of every package of ours.
const Module = "github.com/millrace/millrace"

// ranks says how high a room stands. A room is a folder with all below it; the
// longest one that fits counts. A package imports lower ranks only, and what
// stands in edges.
var ranks = map[string]int{
	"internal/event": 0, "internal/fault": 0, "internal/id": 0, "internal/buildinfo": 0, "internal/suggest": 0,
	"internal/cidr": 0, "internal/wire": 0, "internal/flageval": 0,

	"internal/record": 1, "internal/config": 1, "internal/lifecycle": 1, "internal/telemetry": 1, "internal/lookup": 1,
	"internal/control": 1, "internal/lease": 1, "internal/label": 1, "internal/token": 1, "internal/admission": 1,
	"internal/tombstone": 1, "internal/salt": 1, "internal/fair": 1, "internal/credential": 1, "internal/buffer": 1, "internal/attempt": 1,

	"internal/org": 2, "internal/session": 2, "internal/website": 2, "internal/apikey": 2, "internal/auth": 2,
	"internal/ingest": 2, "internal/sink": 2, "internal/analytics": 2, "internal/deadletter": 2,
	"internal/audit": 2, "internal/bulk": 2, "internal/ledger": 2, "internal/ratelimit": 2, "internal/repair": 2,
	"internal/verify": 2, "internal/idempotency": 2, "internal/quota": 2, "internal/erasure": 2, "internal/enrich": 2, "internal/tally": 2,
	"internal/traffic": 2, "internal/export": 2, "internal/retention": 2, "internal/probe": 2, "internal/managed": 2, "internal/link": 2, "internal/flag": 2, "internal/flagset": 2, "internal/exposure": 2, "internal/click": 2, "internal/linkcache": 2, "internal/redirect": 2,

	"internal/kafka": adapter, "internal/mail": adapter, "internal/billing": adapter, "internal/clickhouse": adapter, "internal/store": adapter,
	"internal/redis": adapter, "internal/domaincheck": adapter, "internal/kubernetes": adapter, "internal/embedded": adapter, "internal/load": adapter,

	"internal/httpkit": surface, "internal/api": surface,

	"internal/app": composition,

	"cmd": 6,
}

const (
	adapter     = 3
	surface     = 4
	composition = 5
)

// edges are the imports within one rank; an entry is a decision, told in the
// commit that adds it. Packages of one room may always import each other, unless
// the room stands in apart.
var edges = map[string][]string{
	"internal/telemetry": {"internal/config", "internal/lifecycle"},
	// The files that settings name are read where connections are made.
	"internal/credential": {"internal/config"},
	"internal/buffer":     {"internal/record"},
	// News are published as records, by whoever holds the lease.
	"internal/control": {"internal/lease", "internal/record"},
	// Changes are audited, and each package says how its own are.
	"internal/managed": {"internal/audit"},
	"internal/apikey":  {"internal/audit", "internal/managed"},
	"internal/website": {"internal/audit", "internal/managed"},
	"internal/link":    {"internal/audit", "internal/managed"},
	"internal/flag":    {"internal/audit", "internal/managed", "internal/website"},
	// A click is of a link, by a visitor of whom something is known.
	"internal/click":     {"internal/enrich", "internal/link"},
	"internal/linkcache": {"internal/link"},
	"internal/redirect":  {"internal/click", "internal/enrich", "internal/link"},
	"internal/flagset":   {"internal/flag"},
	// An exposure is of a flag as it is served, on a website that says how ids are kept.
	"internal/exposure": {"internal/flag", "internal/flagset", "internal/website"},
	// Who leaves an organization leaves the keys that they made.
	"internal/org":       {"internal/apikey", "internal/audit", "internal/managed"},
	"internal/quota":     {"internal/audit"},
	"internal/erasure":   {"internal/audit", "internal/website"},
	"internal/session":   {"internal/audit", "internal/org"},
	"internal/auth":      {"internal/apikey", "internal/audit", "internal/org", "internal/ratelimit", "internal/website"},
	"internal/ingest":    {"internal/auth", "internal/enrich", "internal/ratelimit", "internal/tally", "internal/website"},
	"internal/analytics": {"internal/website"},
	// Paths are judged and masked by the website's settings.
	"internal/enrich": {"internal/website"},
	// Dead letters have the sink's reasons.
	"internal/deadletter": {"internal/sink"},
	"internal/ledger":     {"internal/sink"},
	// Both mend what the ledger found.
	"internal/repair": {"internal/ledger", "internal/sink"},
	"internal/verify": {"internal/ledger", "internal/repair", "internal/sink"},
	// Files are taken in as requests are.
	"internal/bulk": {"internal/ingest"},
	"internal/api":  {"internal/httpkit"},
	// The registry, the operations in it, and the host that serves both.
	"internal/api/management": {"internal/api/rpc"},
	"internal/api/flagapi":    {"internal/api/rpc"},
	"internal/api/queryapi":   {"internal/api/flagapi", "internal/api/management", "internal/api/rpc"},

	"internal/app/edge":       {"internal/app/daemon", "internal/app/limits", "internal/app/propagation"},
	"internal/app/sink":       {"internal/app/daemon"},
	"internal/app/query":      {"internal/app/daemon", "internal/app/limits", "internal/app/propagation"},
	"internal/app/standalone": {"internal/app/bootstrap", "internal/app/daemon", "internal/app/edge", "internal/app/limits", "internal/app/sink", "internal/app/query"},
}

// apart are rooms whose packages do not import each other without an edge.
var apart = []string{"internal/app", "internal/api", "cmd"}

// testRooms hold what only tests, measurements and the build use. They may
// import everything; nothing but tests and each other may import them. So may
// packages whose name ends in "test", wherever they stand.
var testRooms = []string{"internal/archtest", "internal/testkit", "tests", "bench", "tools"}

// fileRooms only embed files for others: they import nothing of ours, and every
// rank may import them.
var fileRooms = []string{"schemas", "web"}

// never is imported by nothing here: it has a module of its own.
const never = "sdk"

// technology is a library that only some rooms know, by the beginning of its
// import path; one without rooms is for nobody.
type technology struct {
	lib   string
	rooms []string
	alone bool // lib itself and nothing below it
}

// technologies lists them. Test rooms know all that somebody does.
var technologies = []technology{
	{lib: "github.com/gofiber/fiber", rooms: []string{"internal/httpkit", "internal/api"}},
	{lib: "github.com/valyala/fasthttp", rooms: []string{"internal/httpkit", "internal/api"}},
	{lib: "github.com/twmb/franz-go", rooms: []string{"internal/kafka", "internal/embedded"}},
	{lib: "github.com/ClickHouse/ch-go", rooms: []string{"internal/clickhouse", "internal/embedded"}},
	{lib: "github.com/redis/go-redis", rooms: []string{"internal/redis"}},
	{lib: "github.com/ebitengine/purego", rooms: []string{"internal/embedded"}},
	{lib: "github.com/danielgtaylor/huma", rooms: []string{"internal/api"}},
	{lib: "github.com/miekg/dns", rooms: []string{"internal/domaincheck"}},
	{lib: "github.com/boombuler/barcode", rooms: []string{"internal/link"}},
	{lib: "database/sql", rooms: []string{"internal/store"}},
	{lib: "github.com/uptrace/bun", rooms: []string{"internal/store"}},
	{lib: "github.com/jackc/pgx", rooms: []string{"internal/store"}},
	{lib: "github.com/pressly/goose", rooms: []string{"internal/store"}},
	{lib: "modernc.org/sqlite", rooms: []string{"internal/store"}},
	{lib: "github.com/wneessen/go-mail", rooms: []string{"internal/mail"}},
	{lib: "github.com/parquet-go", rooms: []string{"internal/export/download"}},
	{lib: "github.com/knadh/koanf", rooms: []string{"internal/config"}},
	{lib: "github.com/spf13/pflag", rooms: []string{"internal/config", "cmd"}},
	{lib: "github.com/spf13/cobra", rooms: []string{"cmd"}},
	{lib: "go.opentelemetry.io/otel/sdk", rooms: []string{"internal/telemetry"}},
	{lib: "go.opentelemetry.io/otel/exporters", rooms: []string{"internal/telemetry"}},
	{lib: "github.com/stretchr/testify"},
	{lib: "github.com/pkg/errors"},
	{lib: "log", alone: true},
}

// scarce are rooms that only some may link, by whatever way, besides themselves and
// test rooms.
var scarce = []struct {
	room, what string
	from       []string
}{
	{"internal/embedded", "the embedded servers", []string{"internal/app/standalone", "cmd/millrace"}},
	// What writes files of columns is large, and only the query host hands any out.
	{"internal/export/download", "the writers of exports", []string{
		"internal/api/management", "internal/api/queryapi", "internal/app/query", "internal/app/standalone", "cmd/query", "cmd/millrace",
	}},
}

// bannedNames say nothing about what a package holds.
var bannedNames = []string{
	"base", "common", "helper", "helpers", "impl", "lib", "manager", "managers", "misc", "model", "models",
	"service", "services", "shared", "types", "util", "utils",
}

// namedAnyway are packages for which one of these words is the right one.
var namedAnyway = []string{
	"internal/testkit/services", // real Kafka, PostgreSQL and Redis, as everybody calls them
}

// mainLines is how long the main.go of a command may be.
const mainLines = 60
