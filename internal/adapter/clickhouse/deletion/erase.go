package deletion

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// Eraser finds and deletes what tombstones cover, in every table that has it. It
// implements erasure.Tables. Statements hold the tombstones' hashes and never an
// id of a visitor, so none is left in the server's log of queries or in its list of
// mutations.
//
// Which tables have anything is told by their columns: owner_id, profile_id and
// anonymous_id. A table without them has nothing of a website or a visitor.
type Eraser struct{ *ledgerstore.Store }

// NewEraser returns an Eraser for the servers of cfg; it opens no connection.
func NewEraser(cfg config.ClickHouse) *Eraser { return &Eraser{ledgerstore.NewStore(cfg)} }

// The columns that an erasure goes by.
const (
	ownerColumn    = "owner_id"
	profileColumn  = "profile_id"
	visitorColumn  = "anonymous_id"
	receivedColumn = "received_at"
)

// erasable are the tables that have anything of an owner.
func erasable() (all []*schema.Table) {
	for i := range schema.Tables {
		if t := &schema.Tables[i]; t.Has(ownerColumn) && t.Name != schema.Tombstones.Name {
			all = append(all, t)
		}
	}
	return all
}

// hashed is the tombstone's id of what a column holds; see tombstone.IDOf.
func hashed(kind tombstone.Kind, column string) string {
	return "substring(lower(hex(SHA256(concat('" + string(kind) + "', char(0), CAST(owner_id, 'String'), char(0), CAST(" +
		column + ", 'String'))))), 1, 32)"
}

// reach says which rows about the subjects of tombstones are meant.
type reach uint8

const (
	// buried are those to be deleted: received in time, and all of a table without a
	// time of receipt.
	buried reach = iota
	// remaining are those that ought not to be there any more: not those of a table
	// without a time of receipt that tell of what came after the tombstone.
	remaining
	// whenever are all.
	whenever
)

// group is what tombstones of one owner and kind, up to one moment, are about.
type group struct {
	owner  string
	kind   tombstone.Kind
	before int64 // in Unix milliseconds
	ids    []string
}

// grouped returns the groups of tombstones, in the order in which they come.
func grouped(stones []tombstone.Tombstone) (all []*group) {
	type key struct {
		owner  string
		kind   tombstone.Kind
		before int64
	}
	of := map[key]*group{}
	for _, s := range stones {
		k := key{s.Owner, s.Kind, s.Before.UnixMilli()}
		g := of[k]
		if g == nil {
			g = &group{owner: s.Owner, kind: s.Kind, before: k.before}
			of[k], all = g, append(all, g)
		}
		g.ids = append(g.ids, s.ID.String())
	}
	return all
}

// column is the one in which a table has what the group is about; ok is false when it has
// nothing of it.
func (g *group) column(t *schema.Table) (name string, ok bool) {
	name = map[tombstone.Kind]string{
		tombstone.Profile: profileColumn, tombstone.Visitor: visitorColumn, tombstone.Website: ownerColumn,
	}[g.kind]
	return name, t.Has(name)
}

// condition returns the one for the rows of a table with a column of the group. Ids are what
// stands behind IN.
func (g *group) condition(t *schema.Table, column string, rows reach, ids string) string {
	owner := "owner_id = '" + clickhouse.Quote.Replace(g.owner) + "'"
	switch {
	case g.kind == tombstone.Website:
		return owner
	case rows == whenever:
	case t.Has(receivedColumn):
		owner += " AND received_at <= fromUnixTimestamp64Milli(toInt64(" + strconv.FormatInt(g.before, 10) + "), 'UTC')"
	case rows == remaining:
		owner += " AND " + column + " NOT IN (SELECT " + column + " FROM identities WHERE " + owner + ")"
	}
	return owner + " AND " + hashed(g.kind, column) + " IN (" + ids + ")"
}

// The sizes of what changes rows: a server takes a statement of 256 KiB by default, and keeps
// that of a mutation as it is.
const (
	maxConditionBytes = 192 << 10
	idsAtOnce         = 2048 // in one condition, 36 bytes each
)

// conditions returns those that together are met by the rows of a table about what tombstones
// cover; none when it can have none. Each fits into a statement.
func conditions(t *schema.Table, stones []tombstone.Tombstone, rows reach) (all []string) {
	var b strings.Builder
	end := func() {
		if b.Len() > 0 {
			all = append(all, b.String())
			b.Reset()
		}
	}
	for _, g := range grouped(stones) {
		column, ok := g.column(t)
		if !ok {
			continue
		}
		for ids := range slices.Chunk(g.ids, idsAtOnce) {
			part := "(" + g.condition(t, column, rows, "'"+strings.Join(ids, "', '")+"'") + ")"
			if b.Len()+len(" OR ")+len(part) > maxConditionBytes {
				end()
			}
			if b.Len() > 0 {
				b.WriteString(" OR ")
			}
			b.WriteString(part)
		}
	}
	end()
	return all
}

// askedIDs is the table of ids that travels beside a question, so that its text is short
// however many there are.
const askedIDs = "asked_ids"

// asked returns the question for the rows of a table about what tombstones cover, which
// begins with sql; false when it can have none.
func asked(sql string, t *schema.Table, stones []tombstone.Tombstone, rows reach) (q ch.Query, ok bool) {
	var groups proto.ColUInt32
	var ids proto.ColStr
	var parts []string
	for i, g := range grouped(stones) {
		column, ok := g.column(t)
		if !ok {
			continue
		}
		parts = append(parts, g.condition(t, column, rows, "SELECT id FROM "+askedIDs+" WHERE part = "+strconv.Itoa(i)))
		for _, id := range g.ids {
			groups.Append(uint32(i))
			ids.Append(id)
		}
	}
	return ch.Query{
		Body:          sql + " WHERE (" + strings.Join(parts, ") OR (") + ")",
		ExternalTable: askedIDs, ExternalData: []proto.InputColumn{{Name: "part", Data: &groups}, {Name: "id", Data: &ids}},
		Settings: clickhouse.Modest,
	}, len(parts) > 0
}

// tellsWho reports whether rows of a table say which user a visitor is. Those of events may
// be another's on the same device, and exposures have one of the two.
func tellsWho(t *schema.Table) bool {
	return t.Has(profileColumn) && t.Has(visitorColumn) && !t.Has("session_id") && t.Name != schema.FlagExposures.Name
}

// links returns the question for the visitor ids of a profile. Only these are grouped: an
// owner may have more others than there is memory for.
func links(ownerID string, profile tombstone.ID) ch.Query {
	var told []string
	for _, t := range erasable() {
		if tellsWho(t) {
			told = append(told,
				"SELECT anonymous_id, profile_id, owner_id FROM "+t.Name+" WHERE owner_id = {owner:String} AND anonymous_id != ''")
		}
	}
	all, mine := strings.Join(told, "\nUNION ALL\n"), hashed(tombstone.Profile, profileColumn)+" = {profile:String}"
	return ch.Query{
		Body: "SELECT anonymous_id, toUInt8(min(mine)) AS alone FROM (\n" +
			"SELECT anonymous_id, " + mine + " AS mine FROM (\n" + all + ")\n" +
			"WHERE anonymous_id IN (SELECT anonymous_id FROM (\n" + all + ")\nWHERE " + mine + ")\n) GROUP BY anonymous_id",
		Settings: slices.Clone(clickhouse.Modest),
		Parameters: []proto.Parameter{
			clickhouse.StringParameter("owner", ownerID), clickhouse.StringParameter("profile", profile.String()),
		},
	}
}

// Links implements erasure.Tables.
func (e *Eraser) Links(
	ctx context.Context, ownerID string, profile tombstone.ID,
) (own [][]byte, shared int, err error) {
	var ids proto.ColStr
	var alone proto.ColUInt8
	q := links(ownerID, profile)
	q.Result = proto.Results{{Name: "anonymous_id", Data: &ids}, {Name: "alone", Data: &alone}}
	q.OnResult = func(context.Context, proto.Block) error {
		for i := range alone {
			if alone[i] == 0 {
				shared++
				continue
			}
			own = append(own, slices.Clone(ids.RowBytes(i)))
		}
		return nil
	}
	if err := e.Read(ctx, schema.Tombstones.Name, q); err != nil {
		return nil, 0, fmt.Errorf("finding the visitor ids of a profile: %w", err)
	}
	return own, shared, nil
}

// Count implements erasure.Tables.
func (e *Eraser) Count(ctx context.Context, stones []tombstone.Tombstone) (map[string]int64, error) {
	return e.rows(ctx, stones, buried)
}

// Left implements erasure.Tables.
func (e *Eraser) Left(ctx context.Context, stones []tombstone.Tombstone) (map[string]int64, error) {
	return e.rows(ctx, stones, remaining)
}

func (e *Eraser) rows(ctx context.Context, stones []tombstone.Tombstone, which reach) (map[string]int64, error) {
	found := map[string]int64{}
	for _, t := range erasable() {
		q, ok := asked("SELECT count() AS n FROM "+t.Name, t, stones, which)
		if !ok {
			continue
		}
		var n proto.ColUInt64
		q.Result = proto.Results{{Name: "n", Data: &n}}
		if err := e.Read(ctx, t.Name, q); err != nil {
			return nil, fmt.Errorf("counting the rows of %s to erase: %w", t.Name, err)
		}
		if n.Rows() == 1 && n[0] > 0 {
			found[t.Name] = int64(n[0])
		}
	}
	return found, nil
}

// Delete implements erasure.Tables. A mutation writes the parts that hold the rows
// anew and leaves the others as they are. The old parts are gone from the disk when
// the server no longer needs them, some minutes later (old_parts_lifetime).
func (e *Eraser) Delete(ctx context.Context, stones []tombstone.Tombstone) error {
	if err := e.listDays(ctx, stones); err != nil {
		return err
	}
	for _, s := range stones {
		if s.Kind == tombstone.Website {
			if err := e.keepUsage(ctx, s.Owner); err != nil {
				return err
			}
		}
	}
	for _, t := range usageFirst() {
		for _, where := range conditions(t, stones, buried) {
			if err := e.deleteFrom(ctx, t, where); err != nil {
				return err
			}
		}
	}
	return e.refill(ctx, stones)
}

// ofVisitors selects the tombstones of profiles and visitor ids.
const ofVisitors = "kind IN ('" + string(tombstone.Profile) + "', '" + string(tombstone.Visitor) + "')"

// Buried implements erasure.Tables.
func (e *Eraser) Buried(ctx context.Context, by time.Time) (erasureIDs []string, err error) {
	var ids proto.ColStr
	if err := e.Read(ctx, schema.Tombstones.Name, ch.Query{
		Body: "SELECT erasure_id AS id FROM tombstones WHERE " + ofVisitors + " GROUP BY id\n" +
			"HAVING max(created_at) <= " + instant(by),
		Result: proto.Results{{Name: "id", Data: &ids}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range ids.Rows() {
				erasureIDs = append(erasureIDs, ids.Row(i))
			}
			return nil
		},
	}); err != nil {
		return nil, fmt.Errorf("reading the erasures of old tombstones: %w", err)
	}
	return erasureIDs, nil
}

// Lift implements erasure.Tables.
func (e *Eraser) Lift(ctx context.Context, erasureIDs []string, by time.Time) error {
	quoted := make([]string, len(erasureIDs))
	for i, id := range erasureIDs {
		quoted[i] = "'" + clickhouse.Quote.Replace(id) + "'"
	}
	return e.deleteFrom(ctx, &schema.Tombstones, ofVisitors+" AND erasure_id IN ("+strings.Join(quoted, ", ")+
		") AND created_at <= "+instant(by))
}

// instant is a time as an expression.
func instant(at time.Time) string {
	return "fromUnixTimestamp64Milli(toInt64(" + strconv.FormatInt(at.UnixMilli(), 10) + "), 'UTC')"
}

// usageFirst lists the tables to delete from, first the one that keepUsage reads: once its rows
// are gone nothing is kept again, also where the other deletions fail for longer than a token
// is remembered.
func usageFirst() []*schema.Table {
	all := erasable()
	i := slices.IndexFunc(all, func(t *schema.Table) bool { return t.Name == schema.Usage1d.Name })
	usage := all[i]
	return slices.Insert(slices.Delete(all, i, i+1), 0, usage)
}

func (e *Eraser) deleteFrom(ctx context.Context, t *schema.Table, where string) error {
	if err := e.Use(ctx, func(c *clickhouse.Client) error {
		return c.Do(ctx, ch.Query{
			Body: "ALTER TABLE " + t.Name + " DELETE WHERE " + where,
			// On every replica.
			Settings: []ch.Setting{{Key: "mutations_sync", Value: "2", Important: true}},
		})
	}); err != nil {
		return fmt.Errorf("deleting from %s: %w", t.Name, err)
	}
	return nil
}

// refill recreates, of what was told of the subjects after the tombstones, the rows
// of the tables that are made of identities: they have no time of receipt, so Delete
// takes all that there is. To insert what is there already changes nothing in them.
func (e *Eraser) refill(ctx context.Context, stones []tombstone.Tombstone) error {
	visitors := slices.DeleteFunc(slices.Clone(stones),
		func(s tombstone.Tombstone) bool { return s.Kind == tombstone.Website })
	for _, about := range conditions(&schema.Identities, visitors, whenever) {
		for i := range schema.Views {
			if v := &schema.Views[i]; v.From == schema.Identities.Name {
				if err := e.refillOf(ctx, v, about); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// refillOf is refill for one view and some of the rows that it reads.
func (e *Eraser) refillOf(ctx context.Context, v *schema.View, about string) error {
	if err := e.Use(ctx, func(c *clickhouse.Client) error {
		return c.Do(ctx, ch.Query{
			Body: "INSERT INTO " + v.To + " " +
				strings.Replace(v.Select, "FROM "+v.From, "FROM (SELECT * FROM "+v.From+" WHERE "+about+") AS told", 1),
			// The same rows may have been inserted before, and deleted since.
			Settings: append(clickhouse.InsertTokenSettings(""), clickhouse.Modest...),
		})
	}); err != nil {
		return fmt.Errorf("refilling %s with rows that arrived later: %w", v.To, err)
	}
	return nil
}

// listDays lists the days of which rows are deleted and rollups stay: from then on
// queries answer them from what is left of the rows.
func (e *Eraser) listDays(ctx context.Context, stones []tombstone.Tombstone) error {
	visitors := slices.DeleteFunc(slices.Clone(stones),
		func(s tombstone.Tombstone) bool { return s.Kind == tombstone.Website })
	days := map[ledger.Touched]bool{}
	for _, t := range erasable() {
		q, ok := asked("SELECT DISTINCT CAST(owner_id, 'String') AS owner, event_date FROM "+t.Name, t, visitors, buried)
		if !ok || !t.Has("event_date") {
			continue
		}
		var owners proto.ColStr
		var dates proto.ColDate
		q.Result = proto.Results{{Name: "owner", Data: &owners}, {Name: "event_date", Data: &dates}}
		q.OnResult = func(context.Context, proto.Block) error {
			for i := range dates {
				days[ledger.Touched{Owner: owners.Row(i), Day: int32(dates[i])}] = true
			}
			return nil
		}
		if err := e.Read(ctx, t.Name, q); err != nil {
			return fmt.Errorf("reading the days of %s that lose rows: %w", t.Name, err)
		}
	}
	listed := make([]ledger.Listed, 0, len(days))
	for d := range days {
		listed = append(listed, ledger.Listed{Touched: d, Reason: ledger.ReasonErased})
	}
	return e.List(ctx, listed)
}

// keepUsage counts what a website has sent as its organization's, without the
// website, before it is deleted: quotas and bills are about what was sent. The
// token keeps a second try from counting it again.
func (e *Eraser) keepUsage(ctx context.Context, websiteID string) error {
	if err := e.Use(ctx, func(c *clickhouse.Client) error {
		return c.Do(ctx, ch.Query{
			Body: "INSERT INTO usage_1d (organization_id, day, owner_id, events)\n" +
				"SELECT organization, date, organization, n FROM (\n" +
				"SELECT organization_id AS organization, day AS date, sum(events) AS n FROM usage_1d WHERE owner_id = " +
				"{website:String}\n" +
				"GROUP BY organization, date ORDER BY organization, date)",
			Parameters: []proto.Parameter{clickhouse.StringParameter("website", websiteID)},
			Settings:   append(clickhouse.InsertTokenSettings("erasure of "+websiteID), ch.SettingInt("max_insert_threads", 1)),
		})
	}); err != nil {
		return fmt.Errorf("storing the usage of website %s: %w", websiteID, err)
	}
	return nil
}
