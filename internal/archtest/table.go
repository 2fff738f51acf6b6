package archtest

// Module is the path in front of every package of ours.
const Module = "github.com/millrace/millrace"

// ranks says how high a room stands. A room is a folder with all below it; the
// longest one that fits counts. A package imports lower ranks only, and what
// stands in edges.
var ranks = map[string]int{
	"internal/contract/event": 0, "internal/contract/fault": 0, "internal/contract/id": 0, "internal/platform/buildinfo": 0, "internal/platform/suggest": 0,
	"internal/platform/cidr": 0, "internal/contract/wire": 0, "internal/resource/flag/flageval": 0,

	"internal/contract/record": 1, "internal/platform/config": 1, "internal/platform/lifecycle": 1, "internal/platform/telemetry": 1, "internal/platform/lookup": 1,
	"internal/platform/control": 1, "internal/platform/lease": 1, "internal/tenant/label": 1, "internal/tenant/token": 1, "internal/platform/admission": 1,
	"internal/privacy/tombstone": 1, "internal/privacy/salt": 1, "internal/platform/fair": 1, "internal/platform/credential": 1, "internal/pipeline/buffer": 1, "internal/tenant/attempt": 1,

	"internal/tenant/org": 2, "internal/tenant/session": 2, "internal/tenant/website": 2, "internal/tenant/apikey": 2, "internal/tenant/auth": 2,
	"internal/pipeline/ingest": 2, "internal/pipeline/sink": 2, "internal/analytics": 2, "internal/pipeline/deadletter": 2,
	"internal/tenant/audit": 2, "internal/pipeline/bulk": 2, "internal/pipeline/ledger": 2, "internal/tenant/ratelimit": 2, "internal/pipeline/repair": 2,
	"internal/pipeline/verify": 2, "internal/tenant/idempotency": 2, "internal/tenant/quota": 2, "internal/privacy/erasure": 2, "internal/pipeline/enrich": 2, "internal/pipeline/tally": 2,
	"internal/pipeline/traffic": 2, "internal/analytics/export": 2, "internal/privacy/retention": 2, "internal/pipeline/probe": 2, "internal/tenant/managed": 2, "internal/resource/link": 2, "internal/resource/flag": 2, "internal/resource/flag/flagset": 2, "internal/resource/flag/exposure": 2, "internal/resource/link/click": 2, "internal/resource/link/linkcache": 2, "internal/resource/link/redirect": 2,

	"internal/adapter/kafka": adapter, "internal/adapter/mail": adapter, "internal/adapter/billing": adapter, "internal/adapter/clickhouse": adapter, "internal/adapter/store": adapter,
	"internal/adapter/redis": adapter, "internal/adapter/domaincheck": adapter, "internal/adapter/kubernetes": adapter, "internal/adapter/embedded": adapter, "internal/adapter/load": adapter,

	"internal/api/httpkit": surface, "internal/api": surface,

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
	"internal/platform/telemetry": {"internal/platform/config", "internal/platform/lifecycle"},
	// The files that settings name are read where connections are made.
	"internal/platform/credential": {"internal/platform/config"},
	"internal/pipeline/buffer":     {"internal/contract/record"},
	// News are published as records, by whoever holds the lease.
	"internal/platform/control": {"internal/platform/lease", "internal/contract/record"},
	// Changes are audited, and each package says how its own are.
	"internal/tenant/managed": {"internal/tenant/audit"},
	"internal/tenant/apikey":  {"internal/tenant/audit", "internal/tenant/managed"},
	"internal/tenant/website": {"internal/tenant/audit", "internal/tenant/managed"},
	"internal/resource/link":  {"internal/tenant/audit", "internal/tenant/managed"},
	"internal/resource/flag":  {"internal/tenant/audit", "internal/tenant/managed", "internal/tenant/website"},
	// A click is of a link, by a visitor of whom something is known.
	"internal/resource/link/click":     {"internal/pipeline/enrich", "internal/resource/link"},
	"internal/resource/link/linkcache": {"internal/resource/link"},
	"internal/resource/link/redirect":  {"internal/resource/link/click", "internal/pipeline/enrich", "internal/resource/link"},
	"internal/resource/flag/flagset":   {"internal/resource/flag"},
	// An exposure is of a flag as it is served, on a website that says how ids are kept.
	"internal/resource/flag/exposure": {"internal/resource/flag", "internal/resource/flag/flagset", "internal/tenant/website"},
	// Who leaves an organization leaves the keys that they made.
	"internal/tenant/org":      {"internal/tenant/apikey", "internal/tenant/audit", "internal/tenant/managed"},
	"internal/tenant/quota":    {"internal/tenant/audit"},
	"internal/privacy/erasure": {"internal/tenant/audit", "internal/tenant/website"},
	"internal/tenant/session":  {"internal/tenant/audit", "internal/tenant/org"},
	"internal/tenant/auth":     {"internal/tenant/apikey", "internal/tenant/audit", "internal/tenant/org", "internal/tenant/ratelimit", "internal/tenant/website"},
	"internal/pipeline/ingest": {"internal/tenant/auth", "internal/pipeline/enrich", "internal/tenant/ratelimit", "internal/pipeline/tally", "internal/tenant/website"},
	"internal/analytics":       {"internal/tenant/website"},
	// Paths are judged and masked by the website's settings.
	"internal/pipeline/enrich": {"internal/tenant/website"},
	// Dead letters have the sink's reasons.
	"internal/pipeline/deadletter": {"internal/pipeline/sink"},
	"internal/pipeline/ledger":     {"internal/pipeline/sink"},
	// Both mend what the ledger found.
	"internal/pipeline/repair": {"internal/pipeline/ledger", "internal/pipeline/sink"},
	"internal/pipeline/verify": {"internal/pipeline/ledger", "internal/pipeline/repair", "internal/pipeline/sink"},
	// Files are taken in as requests are.
	"internal/pipeline/bulk": {"internal/pipeline/ingest"},
	"internal/api":           {"internal/api/httpkit"},
	// The registry, the operations in it, and the host that serves both.
	"internal/api/management": {"internal/api/rpc"},
	"internal/api/flagapi":    {"internal/api/rpc"},
	"internal/api/queryapi":   {"internal/api/flagapi", "internal/api/management", "internal/api/rpc"},

	"internal/app/edge":       {"internal/app/daemon", "internal/app/daemon/limits", "internal/app/daemon/propagation"},
	"internal/app/sink":       {"internal/app/daemon"},
	"internal/app/query":      {"internal/app/daemon", "internal/app/daemon/limits", "internal/app/daemon/propagation"},
	"internal/app/standalone": {"internal/app/bootstrap", "internal/app/daemon", "internal/app/edge", "internal/app/daemon/limits", "internal/app/sink", "internal/app/query"},
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
	{lib: "github.com/gofiber/fiber", rooms: []string{"internal/api/httpkit", "internal/api"}},
	{lib: "github.com/valyala/fasthttp", rooms: []string{"internal/api/httpkit", "internal/api"}},
	{lib: "github.com/twmb/franz-go", rooms: []string{"internal/adapter/kafka", "internal/adapter/embedded"}},
	{lib: "github.com/ClickHouse/ch-go", rooms: []string{"internal/adapter/clickhouse", "internal/adapter/embedded"}},
	{lib: "github.com/redis/go-redis", rooms: []string{"internal/adapter/redis"}},
	{lib: "github.com/ebitengine/purego", rooms: []string{"internal/adapter/embedded"}},
	{lib: "github.com/danielgtaylor/huma", rooms: []string{"internal/api"}},
	{lib: "github.com/miekg/dns", rooms: []string{"internal/adapter/domaincheck"}},
	{lib: "github.com/boombuler/barcode", rooms: []string{"internal/resource/link"}},
	{lib: "database/sql", rooms: []string{"internal/adapter/store"}},
	{lib: "github.com/uptrace/bun", rooms: []string{"internal/adapter/store"}},
	{lib: "github.com/jackc/pgx", rooms: []string{"internal/adapter/store"}},
	{lib: "github.com/pressly/goose", rooms: []string{"internal/adapter/store"}},
	{lib: "modernc.org/sqlite", rooms: []string{"internal/adapter/store"}},
	{lib: "github.com/wneessen/go-mail", rooms: []string{"internal/adapter/mail"}},
	{lib: "github.com/parquet-go", rooms: []string{"internal/analytics/export/download"}},
	{lib: "github.com/knadh/koanf", rooms: []string{"internal/platform/config"}},
	{lib: "github.com/spf13/pflag", rooms: []string{"internal/platform/config", "cmd"}},
	{lib: "github.com/spf13/cobra", rooms: []string{"cmd"}},
	{lib: "go.opentelemetry.io/otel/sdk", rooms: []string{"internal/platform/telemetry"}},
	{lib: "go.opentelemetry.io/otel/exporters", rooms: []string{"internal/platform/telemetry"}},
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
	{"internal/adapter/embedded", "the embedded servers", []string{"internal/app/standalone", "cmd/millrace"}},
	// What writes files of columns is large, and only the query host hands any out.
	{"internal/analytics/export/download", "the writers of exports", []string{
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
