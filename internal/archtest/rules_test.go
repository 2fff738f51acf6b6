package archtest

import (
	"path/filepath"
	"strings"
	"testing"
)

// pkg returns a package that breaks no rule about itself.
func pkg(path string, imports ...string) Package {
	return Package{Path: path, Name: filepath.Base(path), Documented: true, Imports: imports}
}

func own(path string) string { return Module + "/" + path }

func TestEachRuleRejectsWhatBreaksIt(t *testing.T) {
	t.Parallel()
	undocumented, long, tested := pkg("internal/contract/event"), pkg("cmd/sink"), pkg("internal/pipeline/sink")
	undocumented.Documented = false
	long.MainLines = mainLines + 1
	tested.TestImports = []string{
		"github.com/stretchr/testify/assert", "github.com/gofiber/fiber/v2", own("internal/testkit"), own("sdk/go"),
	}
	const (
		broker   = "internal/adapter/embedded/broker"
		download = "internal/analytics/export/download"
	)
	for name, tc := range map[string]struct {
		packages []Package
		want     []string // the beginning of each violation
	}{
		"no package comment": {
			[]Package{undocumented},
			[]string{"internal/contract/event has no package comment"},
		},
		"a name that says nothing": {
			[]Package{pkg("internal/contract/util")},
			[]string{"internal/contract/util is named util"},
		},
		"a package in no room": {
			[]Package{pkg("internal/annex"), pkg("internal/contracts")},
			[]string{"internal/annex is in no room", "internal/contracts is in no room"},
		},
		"a long main": {
			[]Package{long},
			[]string{"cmd/sink/main.go has 61 lines"},
		},
		"a room below": {
			[]Package{pkg("internal/platform/config", own("internal/tenant/org"))},
			[]string{
				"internal/platform/config imports internal/tenant/org: a room imports rooms above it, and internal/tenant is below",
			},
		},
		"a noun that knows another": {
			[]Package{pkg("internal/resource/link/click", own("internal/resource/flag"))},
			[]string{"internal/resource/link/click imports internal/resource/flag: in internal/resource, a folder"},
		},
		"an adapter that knows another": {
			[]Package{pkg("internal/adapter/store", own("internal/adapter/redis"))},
			[]string{"internal/adapter/store imports internal/adapter/redis: in internal/adapter, a folder"},
		},
		"a host that knows an adapter": {
			[]Package{pkg("internal/api/queryapi", own("internal/adapter/store"))},
			[]string{"internal/api/queryapi imports internal/adapter/store: a host declares the interface"},
		},
		"a host that knows another": {
			[]Package{pkg("internal/api/queryapi", own("internal/api/ingestapi"))},
			[]string{"internal/api/queryapi imports internal/api/ingestapi: in internal/api, a folder"},
		},
		"operations that know their host": {
			[]Package{pkg("internal/api/management", own("internal/api/queryapi"), own("internal/api/flagapi"))},
			[]string{
				"internal/api/management imports internal/api/queryapi: in internal/api, a folder",
				"internal/api/management imports internal/api/flagapi: in internal/api, a folder",
			},
		},
		"somebody above app": {
			[]Package{pkg("internal/adapter/store", own("internal/app/edge"))},
			[]string{"internal/adapter/store imports internal/app/edge: a room imports rooms above it"},
		},
		"a daemon that knows another": {
			[]Package{pkg("internal/app/edge", own("internal/app/sink"), own("internal/app/standalone"))},
			[]string{
				"internal/app/edge imports internal/app/sink: in internal/app, a folder",
				"internal/app/edge imports internal/app/standalone: in internal/app, a folder",
			},
		},
		"the two ends of a topic": {
			[]Package{
				pkg("internal/pipeline/sink", own("internal/pipeline/ingest")),
				pkg("internal/pipeline/ingest", own("internal/pipeline/sink")),
			},
			[]string{
				"internal/pipeline/sink imports internal/pipeline/ingest: there is Kafka between them",
				"internal/pipeline/ingest imports internal/pipeline/sink: there is Kafka between them",
			},
		},
		"code that needs test helpers": {
			[]Package{
				pkg("internal/adapter/store", own("internal/testkit")),
				pkg("internal/adapter/kafka", own("internal/adapter/kafka/kafkatest")),
			},
			[]string{
				"internal/adapter/store imports internal/testkit: only tests may",
				"internal/adapter/kafka imports internal/adapter/kafka/kafkatest: only tests may",
			},
		},
		"files that import code": {
			[]Package{pkg("schemas", own("internal/contract/event"))},
			[]string{"schemas imports internal/contract/event: a folder of files imports nothing of ours"},
		},
		"the client": {
			[]Package{pkg("cmd/millrace", own("sdk/go")), pkg("tests/system/e2e", own("sdk/go"))},
			[]string{
				"cmd/millrace imports sdk/go: the service never imports its client",
				"tests/system/e2e imports sdk/go: the service never imports its client",
			},
		},
		"fiber in the domain": {
			[]Package{pkg("internal/pipeline/ingest", "github.com/gofiber/fiber/v2")},
			[]string{"internal/pipeline/ingest imports github.com/gofiber/fiber/v2: only internal/api"},
		},
		"kgo in an app": {
			[]Package{pkg("internal/app/edge", "github.com/twmb/franz-go/pkg/kgo")},
			[]string{"internal/app/edge imports github.com/twmb/franz-go/pkg/kgo: only internal/adapter/kafka"},
		},
		"ch-go in the domain": {
			[]Package{pkg("internal/pipeline/sink", "github.com/ClickHouse/ch-go/proto")},
			[]string{"internal/pipeline/sink imports github.com/ClickHouse/ch-go/proto: only internal/adapter/clickhouse"},
		},
		"SQL outside of the store": {
			[]Package{pkg("internal/tenant/auth", "database/sql")},
			[]string{"internal/tenant/auth imports database/sql: only internal/adapter/store"},
		},
		"the standard logger": {
			[]Package{pkg("internal/tenant/auth", "log", "log/slog"), pkg("tests/harness", "log")},
			[]string{"internal/tenant/auth imports log: nobody does", "tests/harness imports log: nobody does"},
		},
		"libraries in tests": {
			[]Package{tested},
			[]string{
				"internal/pipeline/sink imports github.com/stretchr/testify/assert: nobody does",
				"internal/pipeline/sink imports github.com/gofiber/fiber/v2",
				"internal/pipeline/sink imports " + own("sdk/go"),
			},
		},
		"the writers of exports, indirectly": {
			[]Package{
				pkg("cmd/sink", own("internal/adapter/clickhouse")),
				pkg("internal/adapter/clickhouse", own(download)),
				pkg(download),
			},
			[]string{
				"the writers of exports are reachable by cmd/sink → internal/adapter/clickhouse → " + download,
				"the writers of exports are reachable by internal/adapter/clickhouse →",
			},
		},
		"the embedded servers, indirectly": {
			[]Package{
				pkg("internal/app/edge", own("internal/app/daemon")),
				pkg("internal/app/daemon", own(broker)),
				pkg(broker),
			},
			[]string{
				"the embedded servers are reachable by internal/app/daemon →",
				"the embedded servers are reachable by internal/app/edge → internal/app/daemon → " + broker,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Check(tc.packages)
			if len(got) != len(tc.want) {
				t.Fatalf("violations %q, want %q", got, tc.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], tc.want[i]) {
					t.Errorf("violation %q, want %q", got[i], tc.want[i])
				}
			}
		})
	}
}

func TestTheRulesAllowWhatTheyShould(t *testing.T) {
	t.Parallel()
	main := pkg("cmd/millrace", own("internal/app/standalone"), "github.com/spf13/cobra")
	main.MainLines = mainLines
	tested := pkg("internal/app/edge",
		own("internal/app/daemon/limits"), own("internal/adapter/store"), own("internal/api/ingestapi"))
	tested.TestImports = []string{own("internal/adapter/embedded/broker"), own("internal/testkit")}
	for _, violation := range Check([]Package{
		main,
		tested,
		pkg("internal/app/standalone", own("internal/app/edge"), own("internal/adapter/embedded/broker")),
		pkg("internal/app/daemon", own("internal/platform/telemetry")),
		pkg("internal/api/queryapi", own("internal/api/management"), own("internal/api/flagapi"),
			own("internal/api/httpkit")),
		pkg("internal/adapter/embedded/broker", own("internal/adapter/embedded/filelock"),
			"github.com/twmb/franz-go/pkg/kfake"),
		pkg("internal/adapter/embedded/filelock"),
		pkg("internal/adapter/store", own("schemas/sql"), "database/sql", own("internal/tenant/auth")),
		pkg("internal/adapter/kafka/kafkatest", own("internal/testkit"), own("internal/adapter/kafka")),
		pkg("internal/resource/link/redirect", own("internal/resource/link"), own("internal/pipeline/enrich")),
		pkg("internal/pipeline/ingest", own("internal/pipeline/enrich"), own("internal/privacy/salt")),
		pkg("internal/tenant/auth", own("internal/tenant/apikey"), own("internal/contract/apierr"), "log/slog"),
		pkg("internal/tenant/apikey", own("internal/tenant/audit")),
		pkg("schemas/sql", "embed"),
		pkg("tests/system/e2e", own("internal/adapter/embedded/chserver"), "github.com/twmb/franz-go/pkg/kgo"),
		pkg("tools/docgen", own("internal/analytics")),
	}) {
		t.Error(violation)
	}
}
