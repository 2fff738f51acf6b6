package query

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/platform/config"
)

// Versions tells the state of a subject's data. It implements analytics.Versions.
//
// Whatever arrives makes a sum of the rollups larger, which is cheap to read: a day
// of an owner is a few rows. What is erased is told by its tombstone, and by the days
// that are listed as dirty before anything is deleted until they are rebuilt; while
// there are such days the version is settling.
type Versions struct {
	*clickhouse.Pool

	turns chan struct{}
}

// versionsAtOnce is how many versions are read at the same time.
const versionsAtOnce = 8

// NewVersions returns Versions of the servers of cfg; it opens no connection.
func NewVersions(cfg config.ClickHouse) *Versions {
	return &Versions{clickhouse.NewPool(cfg), make(chan struct{}, versionsAtOnce)}
}

// part is two numbers about some rows.
type part struct{ a, b, from string }

// parts are the numbers that change with the rows of a base table, within the days
// where it has any. Merges do not change what is summed up by them, or change it for
// nothing but a run that would not have been needed.
var parts = map[string]part{
	schema.Events.Name:     {"sum(events)", "0", "events_1d WHERE " + partDays},
	schema.Vitals.Name:     {"sum(samples)", "0", "vitals_15m WHERE " + partDays},
	schema.Errors.Name:     {"sum(events)", "0", "errors_15m WHERE " + partDays},
	schema.Identities.Name: {"count()", "sum(toUnixTimestamp64Milli(received_at))", "identities WHERE " + partOwner},
	schema.Ingestion1m.Name: {
		"sum(e.events)", "sum(toUnixTimestamp64Milli(e.received_at))",
		"ingestion_1m AS e WHERE {sent} AND e.event_date BETWEEN {from:Date} AND {to:Date}",
	},
	schema.Clicks.Name: {
		"sum(clicks + bots)", "0", "clicks_1d WHERE dimension = '" + schema.AllTargets + "' AND " + partDays,
	},
	schema.FlagExposures.Name: {"count()", "sum(toUnixTimestamp64Milli(received_at))", "flag_exposures WHERE " + partDays},
	schema.Unstored1h.Name: {
		"sum(duplicates)", "sum(dead_letters) + sum(erased)",
		"unstored_1h WHERE owner_id IN ({senders}) AND toDate(hour) BETWEEN {from:Date} AND {to:Date}",
	},
}

// alwaysParts are asked for whatever is read. The number of dirty days is the first.
var alwaysParts = []part{
	{"count()", "sum(cityHash64(owner_id, event_date, found_at))", "rollup_dirty FINAL WHERE cleared = 0 AND " + partDays},
	{"count()", "sum(cityHash64(owner_id, kind, id, before))", "tombstones FINAL WHERE " + partOwner},
}

const (
	partOwner = "owner_id IN ({owners})"
	partDays  = partOwner + " AND event_date BETWEEN {from:Date} AND {to:Date}"
)

// ownership is what tells the rows of a subject, as SQL.
type ownership struct {
	owners  string // of what is stored
	senders string // of what was sent, stored or not
	sent    string // the predicate of what the edges counted, as rows called e
}

// owner is that of what has one.
var owner = ownership{"{owner:String}", "{owner:String}", "e.owner_id = {owner:String}"}

// ownerships are those of subjects. The owners of an organization are those that anything
// was ever stored of; what an edge refused it counted for the organization nevertheless.
var ownerships = map[analytics.SubjectKind]ownership{
	analytics.Website: owner,
	analytics.Organization: {
		owners:  "SELECT owner_id FROM usage_1d WHERE organization_id = {owner:String}",
		senders: "SELECT owner_id FROM ingestion_1m WHERE organization_id = {owner:String}",
		sent:    "e.organization_id = {owner:String}",
	},
	analytics.Link: owner,
}

// marks replaces those of parts.
func marks(subject analytics.Subject) *strings.Replacer {
	o := ownerships[subject.Kind]
	return strings.NewReplacer("{owners}", subject.Within(o.owners), "{senders}", subject.Within(o.senders),
		"{sent}", subject.Within(o.sent))
}

// Of implements analytics.Versions.
func (v *Versions) Of(
	ctx context.Context, subject analytics.Subject, rng analytics.Range, tables []string,
) (analytics.Version, error) {
	sql, err := versionSQL(subject, tables)
	if err != nil {
		return analytics.Version{}, err
	}
	select {
	case v.turns <- struct{}{}:
		defer func() { <-v.turns }()
	case <-ctx.Done():
		return analytics.Version{}, ctx.Err()
	}
	day := func(t time.Time) string { return t.UTC().Format(time.DateOnly) }
	q := ch.Query{
		Body: sql, Settings: []ch.Setting{{Key: "readonly", Value: "2", Important: true}},
		Parameters: []proto.Parameter{
			clickhouse.TextParameter("owner", subject.ID), clickhouse.TextParameter("from", day(rng.Start)),
			clickhouse.TextParameter("to", day(rng.End.Add(-time.Millisecond))),
		},
	}
	if left, came, ok := subject.Moves(); ok {
		q.Parameters = append(q.Parameters, clickhouse.TextParameter("left", left), clickhouse.TextParameter("came", came))
	}
	var which, a, b proto.ColUInt64
	var rows [][2]uint64
	q.Result = proto.Results{{Name: "part", Data: &which}, {Name: "a", Data: &a}, {Name: "b", Data: &b}}
	q.OnResult = func(context.Context, proto.Block) error {
		for i, p := range which {
			rows = append(rows, make([][2]uint64, max(0, int(p)+1-len(rows)))...)
			rows[p] = [2]uint64{a[i], b[i]}
		}
		return nil
	}
	if err := v.Use(ctx, func(c *clickhouse.Client) error { return c.Do(ctx, q) }); err != nil {
		return analytics.Version{}, fmt.Errorf("reading the state of %v: %w", tables, err)
	}
	return versionOf(rows), nil
}

// versionOf puts the numbers together; those of the dirty days are the first.
func versionOf(rows [][2]uint64) analytics.Version {
	h := fnv.New64a()
	for _, r := range rows {
		var b [16]byte
		binary.LittleEndian.PutUint64(b[:8], r[0])
		binary.LittleEndian.PutUint64(b[8:], r[1])
		h.Write(b[:])
	}
	return analytics.Version{Number: h.Sum64(), Settling: len(rows) > 0 && rows[0][0] > 0}
}

// versionSQL is the statement that brings the numbers for what tables hold.
func versionSQL(subject analytics.Subject, tables []string) (string, error) {
	asked := slices.Clone(alwaysParts)
	for _, b := range basesOf(tables) {
		if parts[b] == (part{}) {
			return "", fmt.Errorf("no version is defined for %s", b)
		}
		asked = append(asked, parts[b])
	}
	selects := make([]string, len(asked))
	for i, p := range asked {
		selects[i] = fmt.Sprintf("SELECT toUInt64(%d) AS part, toUInt64(%s) AS a, toUInt64(%s) AS b FROM %s",
			i, p.a, p.b, p.from)
	}
	return marks(subject).Replace(strings.Join(selects, "\nUNION ALL\n")), nil
}

// Bases implements analytics.Versions.
func (v *Versions) Bases(tables []string) []string { return basesOf(tables) }

func basesOf(tables []string) []string {
	all := make([]string, len(tables))
	for i, t := range tables {
		all[i] = baseTable(t)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// baseTable is the table that a table's rows are made of by views, or itself.
func baseTable(name string) string {
	for _, v := range schema.Views {
		if v.To == name && parts[name] == (part{}) {
			return baseTable(v.From)
		}
	}
	return name
}
