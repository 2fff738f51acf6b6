package archtest

// Module is the path in front of every package of ours.
const Module = "github.com/millrace/millrace"

// rooms are folders with all the packages in them, in the order of import: a package
// imports those of its own room and of rooms above it. ARCHITECTURE.md says what each
// room is for, in the same order.
var rooms = []string{
	"internal/contract",
	"internal/platform",
	"internal/tenant",
	"internal/privacy",
	"internal/pipeline",
	"internal/analytics",
	"internal/resource",
	"internal/adapter",
	"internal/api",
	"internal/app",
	"cmd",
}

// layers order the folders of rooms in which not all may know each other, again from
// above: a folder imports those of lines above its own. A folder that stands in no line
// is below all lines; without any, no folder of the room knows another.
var layers = map[string][][]string{
	"internal/pipeline": {
		{"deadletter", "enrich", "ledger", "probe", "sendqueue", "tally"},
		{"ingest", "repair", "traffic", "sink"},
	},
	"internal/resource": nil,
	"internal/adapter":  nil,
	"internal/api":      {{"httpkit"}, {"rpc"}, {"flagapi", "management"}},
	"internal/app":      {{"daemon"}, {"bootstrap", "edge", "query", "sink"}},
	"cmd":               nil,
}

// separated are pairs that do not know each other, although the order would let one know
// the other.
var separated = []struct{ one, other, why string }{
	{"internal/api", "internal/adapter", "a host declares the interface that it needs"},
	{"internal/analytics", "internal/pipeline", "questions are about tables, whoever filled them"},
	{"internal/pipeline/ingest", "internal/pipeline/sink", "there is Kafka between them"},
	{"internal/pipeline/sink/buffer", "internal/pipeline/sink/dedup", "what holds records does not judge them"},
}

// testRooms hold what only tests, measurements and the build use. They may
// import everything; nothing but tests and each other may import them. So may
// packages whose name ends in "test", wherever they stand.
var testRooms = []string{"internal/archtest", "internal/testkit", "tests", "bench", "tools"}

// testKinds are the folders of tests/, by what a test is about. The guide to the tests says
// of each what goes there, in the same order.
var testKinds = []string{
	"tests/contract", "tests/component", "tests/system", "tests/fault", "tests/model", "tests/harness",
}

// fileRooms only embed files for others: they import nothing of ours, and every
// room may import them.
var fileRooms = []string{"schemas", "web"}

// never is imported by nothing here: it has a module of its own.
const never = "sdk"

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
