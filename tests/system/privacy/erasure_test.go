// Package privacy_test proves what the product promises about visitors: that who is
// erased is in no table afterwards and does not come back, and that a visitor's
// address and user agent get no further than the ingestion host.
package privacy_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/deletion"
	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/pipeline/verify"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/privacy/erasure"
	"github.com/millrace/millrace/internal/privacy/tombstone"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
	"github.com/millrace/millrace/tests/harness/stage"
)

func TestMain(m *testing.M) { harness.Main(m) }

// office is a stage, a metadata store, and the job that erases.
type office struct {
	*stage.Stage

	t       *testing.T
	db      *store.Store
	service *erasure.Service
	org     *org.Organization
	now     time.Time // of the job's clock; zero for the real one
}

var tester = audit.By{Actor: audit.Actor{Type: audit.Operator, ID: "test", Name: "test"}}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{Stage: stage.New(t), t: t}
	o.Sink.TombstoneAge = 50 * time.Millisecond
	var err error
	if o.db, err = store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "meta.db"), store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.db.Close() })
	if err := o.db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.service = erasure.NewService(o.db, nil)
	if o.org, err = org.New("Acme", time.Now()); err == nil {
		err = o.db.CreateOrganization(t.Context(), tester, o.org)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// work runs the job until everything is erased that was asked for.
func (o *office) work() {
	o.t.Helper()
	o.workUntil(func() error { return nil })
}

// workUntil is work, and until something is so besides.
func (o *office) workUntil(so func() error) {
	o.t.Helper()
	eraser := deletion.NewEraser(o.ClickHouse)
	defer eraser.Close()
	job := erasure.NewJob(erasure.Config{Settle: 200 * time.Millisecond}, erasure.Deps{
		Store: o.db, Tables: eraser, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		Topics: func(ctx context.Context) (time.Duration, error) { return kafka.Life(ctx, o.Kafka) },
		Now: func() time.Time {
			if o.now.IsZero() {
				return time.Now()
			}
			return o.now
		},
	})
	ctx, cancel := context.WithCancel(o.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- job.Run(ctx) }()
	testkit.Eventually(o.t, time.Minute, func() error {
		due, err := o.db.DeletedWebsites(ctx, o.now.Add(-website.RestoreFor-time.Hour), 10)
		if err == nil && len(due) > 0 {
			return errors.New("a website waits")
		}
		open, err := o.db.OpenErasures(ctx, erasure.Selection{Limit: 10})
		if err == nil && len(open) > 0 {
			err = fmt.Errorf("erasure %+v is open", *open[0])
		}
		return errors.Join(err, so())
	})
	cancel()
	if err := <-ended; err != nil {
		o.t.Error(err)
	}
}

func (o *office) request(owner, profile, visitor string) *erasure.Erasure {
	o.t.Helper()
	e, err := o.service.Request(o.t.Context(), tester, erasure.Subject{
		OrganizationID: o.org.ID, OwnerID: owner, ProfileID: profile, AnonymousID: visitor,
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return e
}

// found returns where in the database any of the texts stands, whatever the type
// of the column.
func found(t *testing.T, cfg config.ClickHouse, texts ...string) (places []string) {
	t.Helper()
	client, err := clickhouse.Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ask := func(sql string) (rows []string) {
		var col proto.ColStr
		if err := client.Do(t.Context(), ch.Query{
			Body: sql, Result: proto.Results{{Data: &col}},
			OnResult: func(context.Context, proto.Block) error {
				for i := range col.Rows() {
					rows = append(rows, col.Row(i))
				}
				return nil
			},
		}); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return rows
	}
	columns := ask("SELECT concat(table, '.', name) FROM system.columns WHERE database = currentDatabase() AND type " +
		"NOT LIKE 'AggregateFunction%'\n" +
		"AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree') " +
		"ORDER BY table, name")
	if len(columns) < 50 {
		t.Fatalf("only %d columns are looked into", len(columns))
	}
	// One question a table: there are hundreds of columns.
	looks := map[string][]string{}
	for _, c := range columns {
		table, column, _ := strings.Cut(c, ".")
		for _, text := range texts {
			looks[table] = append(looks[table],
				fmt.Sprintf("(countIf(position(toString(%[1]s), '%[2]s') > 0), ' rows of %[3]s have \"%[2]s\"')", column, text, c))
		}
	}
	for _, table := range slices.Sorted(maps.Keys(looks)) {
		places = append(places, ask("SELECT concat(toString(look.1), look.2) AS place FROM (SELECT ["+
			strings.Join(looks[table], ", ")+"] AS looks FROM "+table+") ARRAY JOIN looks AS look WHERE look.1 > 0")...)
	}
	return places
}

// told are the tables of what is told of a visitor besides events, by topic.
var told = map[string]string{
	record.TopicVitals: "vitals", record.TopicErrors: "errors", record.TopicIdentities: "identities",
	record.TopicExposures: "flag_exposures",
}

// storeTold has everything stored that is told besides events.
func (o *office) storeTold() {
	o.t.Helper()
	o.StoreWeb(o.t)
	o.StoreExposures(o.t)
}

// toldOnly compares what is stored of each topic in told.
func (o *office) toldOnly(want func(topic string) string) {
	o.t.Helper()
	for topic, table := range told {
		if diff := cmp.Diff([]string{want(topic)}, o.ids(table)); diff != "" {
			o.t.Errorf("%s (-want +got):\n%s", table, diff)
		}
	}
}

// events returns the ids of the events that are stored, without FINAL.
func (o *office) events() []string { o.t.Helper(); return o.ids("events") }

// ids returns the ids of what a table of events holds, without FINAL.
func (o *office) ids(table string) (ids []string) {
	o.t.Helper()
	client, err := clickhouse.Dial(o.t.Context(), o.ClickHouse)
	if err != nil {
		o.t.Fatal(err)
	}
	defer client.Close()
	var col proto.ColStr
	if err := client.Do(o.t.Context(), ch.Query{
		Body:   "SELECT DISTINCT event_id FROM " + table + " ORDER BY event_id",
		Result: proto.Results{{Name: "event_id", Data: &col}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range col.Rows() {
				ids = append(ids, col.Row(i))
			}
			return nil
		},
	}); err != nil {
		o.t.Fatal(err)
	}
	return ids
}

// holds compares the stored events, and checks that nothing of anna is anywhere.
func (o *office) holds(want ...string) {
	o.t.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, o.events()); diff != "" {
		o.t.Errorf("events (-want +got):\n%s", diff)
	}
	if places := found(o.t, o.ClickHouse, "anna", "visitor of a", "browser-a"); len(places) > 0 {
		o.t.Errorf("something is left:\n%s", strings.Join(places, "\n"))
	}
}

// replay has every event stored again, under a new epoch.
func (o *office) replay() {
	o.t.Helper()
	o.again(repair.ReplayOptions{Pipeline: repair.Pipeline{Topic: record.TopicEvents, Group: o.Sink.Group}})
	o.Store(o.t)
}

// replayTold is replay for what is told besides, and for further topics of the web pipeline.
func (o *office) replayTold(more ...string) {
	o.t.Helper()
	for _, topic := range append(slices.Collect(maps.Keys(told)), more...) {
		group := kafka.WebGroup(o.Sink.Group)
		if slices.Contains(kafka.ExposureTopics, topic) {
			group = kafka.ExposureGroup(o.Sink.Group)
		}
		o.again(repair.ReplayOptions{Pipeline: repair.Pipeline{Topic: topic, Group: group}})
	}
	o.storeTold()
}

func (o *office) again(options repair.ReplayOptions) {
	o.t.Helper()
	store := ledgerstore.NewStore(o.ClickHouse)
	defer store.Close()
	deps := repair.ReplayDeps{Groups: o.Offsets, Log: o.Offsets, Store: store}
	if _, err := repair.Replay(o.t.Context(), deps, options); err != nil {
		o.t.Fatal(err)
	}
}

func TestAnErasedProfileIsNowhereAndDoesNotComeBack(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Produce(t,
		stage.Event{ID: "a1", Profile: "anna"}, stage.Event{ID: "b1", Profile: "ben"},
		stage.Event{ID: "a2", Profile: "anna", Partition: 1},
		stage.Event{ID: "c1"}, stage.Event{ID: "d1", Profile: "anna", Owner: "web_2"},
		// Rejected for its time, and so a dead letter that names her.
		stage.Event{ID: "a3", Profile: "anna", At: time.UnixMilli(5)},
	)
	for topic := range told {
		o.Produce(t,
			stage.Event{Topic: topic, ID: "a4 " + topic, Profile: "anna"},
			stage.Event{Topic: topic, ID: "b2 " + topic, Profile: "ben"},
			stage.Event{Topic: topic, ID: "a5 " + topic, Profile: "anna", Partition: 1, Owner: "web_2"},
		)
	}
	o.Store(t)
	o.storeTold()
	before := strings.Join(found(t, o.ClickHouse, "anna"), "\n")
	for _, table := range append(slices.Collect(maps.Values(told)), "events", "profiles", "profile_traits", "aliases") {
		if !strings.Contains(before, " "+table+".profile_id ") {
			t.Fatalf("she is not in %s before the erasure; the test shows nothing", table)
		}
	}
	holds := func() {
		t.Helper()
		o.holds("b1", "c1")
		o.toldOnly(func(topic string) string { return "b2 " + topic })
	}
	first := o.request("web_1", "anna", "")
	o.request("web_2", "anna", "")
	o.work()
	holds()

	done, err := o.service.Get(t.Context(), o.org.ID, "", first.ID)
	if err != nil || done.State != erasure.Done || done.Deleted["events"] != 2 ||
		done.Deleted["errors"] != 1 || done.DoneAt.IsZero() {
		t.Errorf("the erasure is %+v, %v", done, err)
	}
	o.replay()
	o.replayTold()
	holds()
	o.replayDeadLetters()
	o.Store(t)
	holds()
	if n := o.Count(t, "(SELECT toUInt64(sum(erased)) FROM ingest_ledger)"); n == 0 {
		t.Error("the ledger knows of nothing erased")
	}
	o.checkAgreement()

	// Asked again, it finds nothing; what comes later is new.
	again := o.request("web_1", "anna", "")
	o.work()
	if e, err := o.service.Get(t.Context(), o.org.ID, "", again.ID); err != nil || len(e.Deleted) != 0 {
		t.Errorf("a second erasure has deleted %v, %v", e.Deleted, err)
	}
	o.Produce(t, stage.Event{ID: "z1", Profile: "anna", Received: time.Now().Add(erasure.ClockSlack + time.Second)})
	o.Store(t)
	if diff := cmp.Diff([]string{"b1", "c1", "z1"}, o.events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// retire removes the records of a topic, as its retention does.
func (o *office) retire(topic string) {
	o.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(o.Kafka.Brokers...))
	if err != nil {
		o.t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	ends, err := admin.ListEndOffsets(o.t.Context(), kafka.TopicName(o.Kafka, topic))
	if err == nil {
		_, err = admin.DeleteRecords(o.t.Context(), ends.Offsets())
	}
	if err != nil {
		o.t.Fatal(err)
	}
}

func TestErasure_EndsItsTombstonesAfterTheTopics(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	gone := []tombstone.Tombstone{{Owner: "web_9", Kind: tombstone.Website, Before: tombstone.Forever}}
	eraser := deletion.NewEraser(o.ClickHouse)
	defer eraser.Close()
	if err := eraser.Bury(t.Context(), "era_website", gone); err != nil {
		t.Fatal(err)
	}
	o.Produce(t, stage.Event{ID: "a1", Profile: "anna"}, stage.Event{ID: "b1", Profile: "ben"})
	o.Store(t)
	asked := o.request("web_1", "anna", "")
	o.work()
	done, err := o.service.Get(t.Context(), o.org.ID, "", asked.ID)
	if err != nil {
		t.Fatal(err)
	}
	life, err := kafka.Life(t.Context(), o.Kafka)
	if err != nil || life <= 0 {
		t.Fatalf("records live for %v, %v", life, err)
	}
	stones := func(kind string) uint64 {
		return o.Count(t, "(SELECT count() FROM tombstones WHERE kind "+kind+" 'website')")
	}
	o.replay()
	o.holds("b1")
	if n := stones("!="); n == 0 {
		t.Error("the tombstone has ended while the topic has her events")
	}
	o.retire(record.TopicEvents)
	o.Produce(t, stage.Event{ID: "b2", Profile: "ben"})
	o.Store(t)
	o.now = done.DoneAt.Add(life + 25*time.Hour)
	o.workUntil(func() error {
		if n := stones("!="); n > 0 {
			return fmt.Errorf("%d tombstones of visitors are there", n)
		}
		return nil
	})
	o.again(repair.ReplayOptions{
		Pipeline: repair.Pipeline{Topic: record.TopicEvents, Group: o.Sink.Group}, Offset: -1, From: 1,
	})
	o.Store(t)
	o.holds("b1", "b2")
	if n := stones("="); n != 1 {
		t.Errorf("%d tombstones of websites are there, want 1", n)
	}
	// What arrives now is compared with no tombstone of hers any more.
	o.Produce(t, stage.Event{ID: "a2", Profile: "anna", Received: asked.Before})
	o.Store(t)
	if diff := cmp.Diff([]string{"a2", "b1", "b2"}, o.events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// replayDeadLetters sends every dead letter again.
func (o *office) replayDeadLetters() {
	o.t.Helper()
	log := slog.New(slog.DiscardHandler)
	producer, err := kafka.NewProducer(o.Kafka,
		kafka.ProducerDeps{Client: "test", Deadline: 20 * time.Second, Log: log, Metrics: prometheus.NewRegistry()})
	if err != nil {
		o.t.Fatal(err)
	}
	defer producer.Close(context.WithoutCancel(o.t.Context()))
	service := deadletter.New(deadletter.Deps{
		Reader: kafka.NewLog(o.Kafka, log), Publisher: producer, Now: func() time.Time { return time.Now().Add(time.Hour) },
	})
	sent := 0
	if err := service.Replay(o.t.Context(), deadletter.Filter{Topics: []string{record.TopicEvents}},
		deadletter.Options{Force: true}, func(*deadletter.Letter, deadletter.Outcome) { sent++ }); err != nil {
		o.t.Fatal(err)
	}
	if sent == 0 {
		o.t.Fatal("there was no dead letter; the test shows nothing")
	}
}

// checkAgreement checks that topics and tables agree, and that the ledger adds up.
func (o *office) checkAgreement() {
	o.t.Helper()
	report := o.verified()
	if t := report.Total; t.Missing+t.Unexpected != 0 || t.Excluded == 0 {
		o.t.Errorf("verify finds %+v\n%+v", t, report.Examples)
	}
	const sum = "(SELECT countIf(stored + duplicates + dead_letters + skipped + erased != last - first + 1) FROM " +
		"ingest_ledger)"
	if n := o.Count(o.t, sum); n != 0 {
		o.t.Errorf("%d entries of the ledger do not add up", n)
	}
}

// verified compares the topic with the tables.
func (o *office) verified() *verify.Report {
	o.t.Helper()
	store := ledgerstore.NewStore(o.ClickHouse)
	defer store.Close()
	report, err := verify.Run(o.t.Context(), o.Offsets, store, verify.Options{
		Pipelines: []repair.Pipeline{{Topic: record.TopicEvents, Group: o.Sink.Group}}, Known: []string{record.TopicEvents},
		Since: time.Now().Add(-24 * time.Hour), Until: time.Now().Add(time.Hour), Settle: time.Second, Examples: 10,
		Window: o.Sink.Window,
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return report
}

// What a sink has in hand when it is erased is built again without it.
func TestWhatWasPlannedBeforeAnErasureIsStoredWithoutIt(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Produce(t, stage.Event{ID: "b1", Profile: "ben"})
	o.Store(t)
	o.Produce(t, stage.Event{ID: "a1", Profile: "anna"}, stage.Event{ID: "b2", Profile: "ben"})
	o.request("web_1", "anna", "")
	o.work() // with nothing stored of her yet
	o.Store(t)
	o.holds("b1", "b2")
}

func TestAVisitorIsFoundUnderTheHashOfTheDay(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	salt, err := o.db.Salt(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	hashed := string(event.AppendHashedVisitor(nil, []byte("browser-a"), salt))
	for _, topic := range append(slices.Collect(maps.Keys(told)), record.TopicEvents) {
		o.Produce(t, stage.Event{Topic: topic, ID: "a1", Visitor: hashed},
			stage.Event{Topic: topic, ID: "a2", Visitor: "browser-a"},
			stage.Event{Topic: topic, ID: "b1", Visitor: "browser-b"})
	}
	o.Store(t)
	o.storeTold()
	before := strings.Join(found(t, o.ClickHouse, "browser-a", hashed), "\n")
	for i := range schema.Tables {
		table := &schema.Tables[i]
		for _, id := range []string{"browser-a", hashed} {
			place := fmt.Sprintf(" %s.anonymous_id have %q", table.Name, id)
			if table.Has("anonymous_id") && !strings.Contains(before, place) {
				t.Fatalf("%s is not in %s before the erasure; the test shows nothing", id, table.Name)
			}
		}
	}
	holds := func() {
		t.Helper()
		o.holds("b1")
		o.toldOnly(func(string) string { return "b1" })
		if places := found(t, o.ClickHouse, hashed); len(places) > 0 {
			t.Errorf("the hash is left: %v", places)
		}
	}
	o.request("web_1", "", "browser-a")
	o.work()
	holds()
	o.replay()
	o.replayTold()
	holds()
}
