package harness

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/ingestapi"
	"github.com/millrace/millrace/internal/apikey"
	"github.com/millrace/millrace/internal/auth"
	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/httpkit"
	"github.com/millrace/millrace/internal/ingest"
	"github.com/millrace/millrace/internal/kafka"
	"github.com/millrace/millrace/internal/record"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/apitest"
	"github.com/millrace/millrace/internal/website"
)

// PlayContract plays cases at a system, in parallel, and holds every answer also
// against the OpenAPI document of the system. Beside the system stand
// three ingestion hosts that something is wrong with, for the answers that a
// healthy one never gives: INGEST_FAULTY, INGEST_NO_STORE, INGEST_NO_BROKER.
func PlayContract(t *testing.T, s *System, cases []apitest.Case) {
	t.Helper()
	vars := s.Vars()
	vars["INGEST_FAULTY"] = faulty(t, faultyAccess{}, acknowledging{})
	vars["INGEST_NO_STORE"] = faulty(t, auth.New(auth.Config{KeyPrefix: keyPrefix}, auth.Deps{Keys: noStore{}, Websites: noStore{}}), acknowledging{})
	vars["INGEST_NO_BROKER"] = faulty(t, anybody{}, noBroker(t))
	doc := document(t, vars["QUERY"])
	for i := range cases {
		t.Run(cases[i].Name, func(t *testing.T) {
			t.Parallel()
			own := apitest.Vars{"UNIQUE": cases[i].Name + time.Now().Format("150405.000000000")}
			maps.Copy(own, vars)
			p := apitest.Player{Client: Client, Vars: own, Document: doc}
			p.Play(t, &cases[i])
		})
	}
}

// document returns what the query host says about both hosts.
func document(t *testing.T, query string) *apitest.OpenAPI {
	t.Helper()
	text, _, err := get(t.Context(), query+"/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := apitest.ParseOpenAPI([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// faulty serves an ingestion host of the given parts and returns its address.
func faulty(tb testing.TB, access ingest.Access, to ingest.Publisher) string {
	tb.Helper()
	log, reg := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	app := ingestapi.New(ingestapi.Config{}, ingestapi.Deps{
		Log: log, Metrics: reg,
		Tracker: ingest.New(ingest.Deps{Access: access, Salts: ingest.NewSalts(zeroSalt{}, log, nil), Publisher: to, Metrics: reg}),
	})
	addr := testkit.FreeAddr(tb)
	part := httpkit.ListenPart("faulty host", addr, "none", app, log)
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	if err := part.Start(ctx); err != nil {
		cancel()
		tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- part.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		err := <-ended
		if part.Stop != nil {
			err = errors.Join(err, part.Stop(context.WithoutCancel(ctx)))
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

// Salt implements ingest.SaltStore.
func (zeroSalt) Salt(context.Context, time.Time) ([]byte, error) { return make([]byte, 32), nil }

// anybody lets everybody do everything.
type anybody struct{}

// Key implements ingest.Access.
func (anybody) Key(context.Context, []byte, netip.Addr) (auth.Principal, error) {
	return auth.Principal{Kind: auth.KindKey, OrganizationID: "org_1", Scopes: auth.AllScopes()}, nil
}

// ClientWebsite implements ingest.Access.
func (anybody) ClientWebsite(_ context.Context, ref string) (*website.Website, error) {
	return &website.Website{ID: ref, OrganizationID: "org_1", ClientID: ref}, nil
}

// Website implements ingest.Access.
func (a anybody) Website(ctx context.Context, ref string) (*website.Website, error) {
	return a.ClientWebsite(ctx, ref)
}

// faultyAccess fails in a way that nobody foresaw.
type faultyAccess struct{ anybody }

// Key implements ingest.Access.
func (faultyAccess) Key(context.Context, []byte, netip.Addr) (auth.Principal, error) {
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
