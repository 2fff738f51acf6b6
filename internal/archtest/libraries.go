package archtest

// technology is a library that only some folders know, by the beginning of its
// import path; one without folders is for nobody.
type technology struct {
	lib   string
	rooms []string
	alone bool // lib itself and nothing below it
}

// technologies lists them. Test rooms know all that somebody does.
var technologies = []technology{
	{lib: "github.com/gofiber/fiber", rooms: []string{"internal/api"}},
	{lib: "github.com/valyala/fasthttp", rooms: []string{"internal/api"}},
	{lib: "github.com/danielgtaylor/huma", rooms: []string{"internal/api"}},
	{lib: "github.com/twmb/franz-go", rooms: []string{"internal/adapter/kafka", "internal/adapter/embedded"}},
	{lib: "github.com/ClickHouse/ch-go", rooms: []string{"internal/adapter/clickhouse", "internal/adapter/embedded"}},
	{lib: "github.com/redis/go-redis", rooms: []string{"internal/adapter/redis"}},
	{lib: "github.com/ebitengine/purego", rooms: []string{"internal/adapter/embedded"}},
	{lib: "github.com/miekg/dns", rooms: []string{"internal/adapter/domaincheck"}},
	{lib: "database/sql", rooms: []string{"internal/adapter/store"}},
	{lib: "github.com/uptrace/bun", rooms: []string{"internal/adapter/store"}},
	{lib: "github.com/jackc/pgx", rooms: []string{"internal/adapter/store"}},
	{lib: "github.com/pressly/goose", rooms: []string{"internal/adapter/store"}},
	{lib: "modernc.org/sqlite", rooms: []string{"internal/adapter/store"}},
	{lib: "github.com/wneessen/go-mail", rooms: []string{"internal/adapter/mail"}},
	{lib: "github.com/boombuler/barcode", rooms: []string{"internal/resource/link/qrcode"}},
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

// scarce are folders that only some may link, by whatever way, besides themselves and
// test rooms.
var scarce = []struct {
	room, what string
	from       []string
}{
	{"internal/adapter/embedded", "the embedded servers", []string{"internal/app/standalone", "cmd/millrace"}},
	// What writes files of columns is large, and only the query host hands any out.
	{"internal/analytics/export/download", "the writers of exports", []string{
		"internal/api/management", "internal/api/queryapi", "internal/app/query", "internal/app/standalone",
		"cmd/query", "cmd/millrace",
	}},
}
