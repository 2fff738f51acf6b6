package harness

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/ingestapi"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ingest"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/quota"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/apitest"
	"github.com/millrace/millrace/web/tracker"
)

// PlayContract plays cases at a system, in parallel, and holds every response also
// against the OpenAPI document of its host. Beside the system stand the hosts of
// faultyHosts and faultyQueries, for the responses that a healthy one never gives; beside
// processes, those of faultyEdges.
func PlayContract(t *testing.T, s *System, cases []apitest.Case) {
	t.Helper()
	vars := s.Vars()
	for i, name := range []string{"TRACKER_HASH", "TRACKER_EXTRA_HASH"} {
		vars[name] = hashOf(tracker.Current()[i])
	}
	maps.Copy(vars, faultyHosts(t))
	maps.Copy(vars, faultyQueries(t))
	if s.Mode == Split {
		maps.Copy(vars, faultyEdges(t, s))
	}
	docs, ingestion := map[string]*apitest.OpenAPI{}, Document(t, vars["INGEST"])
	for name, url := range vars {
		if strings.HasPrefix(name, "INGEST") {
			docs[strings.TrimPrefix(url, "http://")] = ingestion
		}
	}
	doc := Document(t, vars["QUERY"])
	for i := range cases {
		t.Run(cases[i].Name, func(t *testing.T) {
			t.Parallel()
			own := apitest.Vars{"UNIQUE": cases[i].Name + time.Now().Format("150405.000000000")}
			maps.Copy(own, vars)
			p := apitest.Player{Client: Client, Vars: own, Document: doc, Documents: docs}
			p.Play(t, &cases[i])
		})
	}
}

// hashOf is what stands for the content in the name of a file of the tracker.
func hashOf(f *tracker.File) string {
	_, rest, _ := strings.Cut(f.Hashed, ".")
	return strings.TrimSuffix(rest, ".js")
}

// faultyHosts serves the ingestion hosts that something is wrong with, by the names
// of their variables.
func faultyHosts(t *testing.T) apitest.Vars {
	t.Helper()
	noStore := auth.New(auth.Config{KeyPrefix: keyPrefix}, auth.Deps{Keys: noStore{}, Websites: noStore{}})
	once := config.Default().Limits
	once.Track, once.Page, once.Vitals, once.Errors, once.Engagement, once.Identify, once.Pixel = 1, 1, 1, 1, 1, 1, 1
	full, silent := quota.NewExternal(biller{}, time.Second, nil), quota.NewExternal(biller{errDown}, time.Second, nil)
	t.Cleanup(full.Close)
	t.Cleanup(silent.Close)
	return apitest.Vars{
		"INGEST_FAULTY":     faulty(t, ingest.Deps{Access: faultyAccess{}}),
		"INGEST_NO_STORE":   faulty(t, ingest.Deps{Access: noStore}, ingestapi.Service{Name: "store", Check: away}),
		"INGEST_NO_BROKER":  faulty(t, ingest.Deps{Publisher: noBroker(t)}),
		"INGEST_NO_QUOTA":   faulty(t, ingest.Deps{Quota: full}),
		"INGEST_NO_BILLING": faulty(t, ingest.Deps{Quota: silent}),
		"INGEST_ONCE":       faulty(t, ingest.Deps{Limits: ratelimit.New(once, ratelimit.Deps{})}),
	}
}

// biller is a billing service that allows nothing, or cannot be asked.
type biller struct{ err error }

// Allowed implements quota.Biller.
func (b biller) Allowed(context.Context, string) (bool, error) { return false, b.err }

// Document returns what a host says about itself.
func Document(t *testing.T, host string) *apitest.OpenAPI {
	t.Helper()
	text, _, err := get(t.Context(), host+"/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := apitest.ParseOpenAPI([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// away is the check of a service that cannot be asked.
func away(context.Context) error { return errDown }

// faulty serves an ingestion host of the given parts, beside which all is well, and
// returns its address. It looks at the services that it is given.
func faulty(tb testing.TB, deps ingest.Deps, services ...ingestapi.Service) string {
	tb.Helper()
	log, reg := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	deps.Metrics, deps.Salts = reg, salt.New(zeroSalt{}, log, nil)
	if deps.Access == nil {
		deps.Access = anybody{}
	}
	if deps.Publisher == nil {
		deps.Publisher = acknowledging{}
	}
	app := ingestapi.New(ingestapi.Config{}, ingestapi.Deps{
		Log: log, Metrics: reg,
		Intake: ingest.New(deps), Services: services,
	})
	return serve(tb, func(addr string) lifecycle.Component {
		return httpkit.ListenComponent("faulty host", addr, "none", app, log)
	})
}

// serve runs the listener of a host until the test ends and returns its address.
func serve(tb testing.TB, listener func(addr string) lifecycle.Component) string {
	tb.Helper()
	addr := testkit.FreeAddr(tb)
	component := listener(addr)
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	if err := component.Start(ctx); err != nil {
		cancel()
		tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- component.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		err := <-ended
		if component.Stop != nil {
			err = errors.Join(err, component.Stop(context.WithoutCancel(ctx)))
		}
		if err != nil {
			tb.Errorf("stopping a faulty host: %v", err)
		}
		Client.CloseIdleConnections()
	})
	testkit.Eventually(tb, readyTimeout, func() error {
		_, status, err := get(ctx, "http://"+addr+"/health")
		if err == nil && status != http.StatusOK {
			err = errors.New("not healthy")
		}
		return err
	})
	return "http://" + addr
}

var errDown = errors.New("the server is away")

// noStore is a metadata store that cannot be reached.
type noStore struct{}

// KeyByHash implements auth.KeyStore.
func (noStore) KeyByHash(context.Context, [apikey.HashLen]byte) (*apikey.Key, error) {
	return nil, errDown
}

// WebsiteByID implements auth.WebsiteStore.
func (noStore) WebsiteByID(context.Context, string) (*website.Website, error) { return nil, errDown }

// WebsiteByClientID implements auth.WebsiteStore.
func (noStore) WebsiteByClientID(context.Context, string) (*website.Website, error) {
	return nil, errDown
}

// zeroSalt is a salt for tests.
type zeroSalt struct{}

// Salt implements salt.Store.
func (zeroSalt) Salt(context.Context, time.Time) ([]byte, error) { return make([]byte, 32), nil }

// PruneSalts destroys none: there are none.
func (zeroSalt) PruneSalts(context.Context, time.Time) error { return nil }

// anybody lets everybody do everything.
type anybody struct{}

// Key implements ingest.Access.
func (anybody) Key(context.Context, []byte, auth.From) (auth.Principal, error) {
	return auth.Principal{Kind: auth.KindKey, OrganizationID: "org_1", Scopes: auth.AllScopes()}, nil
}

// ClientWebsite implements ingest.Access.
func (anybody) ClientWebsite(_ context.Context, ref string) (*website.Website, error) {
	return &website.Website{Record: managed.Record{ID: ref, OrganizationID: "org_1"}, ClientID: ref}, nil
}

// Website implements ingest.Access.
func (a anybody) Website(ctx context.Context, ref string) (*website.Website, error) {
	return a.ClientWebsite(ctx, ref)
}

// Remembered implements ingest.Access.
func (anybody) Remembered(string) *website.Website { return nil }

// faultyAccess fails in a way that nobody foresaw.
type faultyAccess struct{ anybody }

// Key implements ingest.Access.
func (faultyAccess) Key(context.Context, []byte, auth.From) (auth.Principal, error) {
	return auth.Principal{}, errDown
}

// acknowledging confirms everything.
type acknowledging struct{}

// Publish implements ingest.Publisher.
func (acknowledging) Publish(context.Context, []record.Record) error { return nil }

// noBroker is the real producer with nobody to talk to.
func noBroker(tb testing.TB) ingest.Publisher {
	tb.Helper()
	cfg := config.Default().Kafka
	cfg.Brokers = []string{testkit.FreeAddr(tb)}
	p, err := kafka.NewProducer(cfg, kafka.ProducerDeps{
		Client: "faulty", Deadline: time.Second, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
		cancel() // what it still holds nobody will take
		p.Close(ctx)
	})
	return p
}
