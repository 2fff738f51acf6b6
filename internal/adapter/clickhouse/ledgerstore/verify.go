package ledgerstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/verify"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// rowColumns are what verify.Row shows.
const rowColumns = "CAST(owner_id, 'String') AS owner, event_date, CAST(name, 'String') AS event_name, event_key,\n" +
	"       CAST(_topic, 'String') AS topic_name, _partition, _offset, received_at"

// rowResult are those columns as they are read.
type rowResult struct {
	owner, name, topic proto.ColStr
	day                proto.ColDate
	key                proto.ColUInt64
	partition          proto.ColUInt16
	offset             proto.ColInt64
	received           *proto.ColDateTime64
}

func (r *rowResult) columns() proto.Results {
	r.received = new(proto.ColDateTime64).WithPrecision(proto.PrecisionMilli).WithLocation(time.UTC)
	return proto.Results{
		{Name: "owner", Data: &r.owner},
		{Name: "event_date", Data: &r.day},
		{Name: "event_name", Data: &r.name},
		{Name: "event_key", Data: &r.key},
		{Name: "topic_name", Data: &r.topic},
		{Name: "_partition", Data: &r.partition},
		{Name: "_offset", Data: &r.offset},
		{Name: "received_at", Data: r.received},
	}
}

func (r *rowResult) each(do func(*verify.Row)) {
	for i := range r.offset {
		do(&verify.Row{
			Owner: r.owner.Row(i), Day: int32(r.day[i]), Name: r.name.Row(i), EventKey: r.key[i],
			Topic: r.topic.Row(i), Partition: int32(r.partition[i]), Offset: r.offset[i], Received: int64(r.received.Data[i]),
		})
	}
}

// rows gives the rows that a query brings to do.
func (s *Store) rows(ctx context.Context, q ch.Query, do func(*verify.Row)) error {
	var r rowResult
	q.Result = r.columns()
	q.OnResult = func(context.Context, proto.Block) error {
		r.each(do)
		return nil
	}
	return s.compare(ctx, q)
}

// Table implements verify.Base.
func (s *Store) Table(topic string) string { return schema.TableOf(topic) }

// Rows implements verify.Base.
func (s *Store) Rows(ctx context.Context, r verify.Range, days []int32, do func(*verify.Row)) error {
	var dates proto.ColDate
	for _, d := range days {
		dates = append(dates, proto.Date(d))
	}
	if err := s.rows(ctx, ch.Query{
		Body: "SELECT " + rowColumns + "\nFROM " + schema.TableOf(r.Topic) + ` FINAL
WHERE event_date IN asked_days AND _topic = {topic:String} AND _partition = {partition:UInt16} AND _offset >= {from:Int64} AND _offset < {to:Int64}`,
		Parameters: []proto.Parameter{
			clickhouse.StringParameter("topic", r.Topic), clickhouse.IntParameter("partition", int64(r.Partition)),
			clickhouse.IntParameter("from", r.From), clickhouse.IntParameter("to", r.To),
		},
		ExternalTable: "asked_days", ExternalData: []proto.InputColumn{{Name: "day", Data: &dates}},
	}, do); err != nil {
		return fmt.Errorf("reading the rows of %s/%d from %d to %d: %w", r.Topic, r.Partition, r.From, r.To, err)
	}
	return nil
}

// Known implements verify.Base. A version of a row that a newer one replaces has
// the same key, so FINAL is not needed.
func (s *Store) Known(ctx context.Context, table string, keys []verify.Key) ([]verify.Key, error) {
	known := make([]verify.Key, 0, len(keys))
	rest := keys
	for _, key := range []string{
		"(owner_id, event_date, event_key) IN (SELECT owner, day, event FROM asked_keys)",
		"(owner_id, event_key) IN (SELECT owner, event FROM asked_keys)",
	} {
		if len(rest) == 0 {
			break
		}
		found, err := s.known(ctx, table, rest, key)
		if err != nil {
			return nil, fmt.Errorf("reading %d events: %w", len(rest), err)
		}
		var next []verify.Key
		for _, k := range rest {
			if found[verify.Key{Owner: k.Owner, EventKey: k.EventKey}] {
				known = append(known, k)
			} else {
				next = append(next, k)
			}
		}
		rest = next
	}
	return known, nil
}

func (s *Store) known(ctx context.Context, table string, keys []verify.Key, where string) (map[verify.Key]bool, error) {
	var owners, owner proto.ColStr
	var days proto.ColDate
	var events, event proto.ColUInt64
	for _, k := range keys {
		owners.Append(k.Owner)
		days = append(days, proto.Date(k.Day))
		events = append(events, k.EventKey)
	}
	found := map[verify.Key]bool{}
	err := s.compare(ctx, ch.Query{
		Body:          "SELECT DISTINCT CAST(owner_id, 'String') AS owner, event_key FROM " + table + " WHERE " + where,
		ExternalTable: "asked_keys",
		ExternalData: []proto.InputColumn{
			{Name: "owner", Data: &owners}, {Name: "day", Data: &days}, {Name: "event", Data: &events},
		},
		Result: proto.Results{{Name: "owner", Data: &owner}, {Name: "event_key", Data: &event}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range event {
				found[verify.Key{Owner: owner.Row(i), EventKey: event[i]}] = true
			}
			return nil
		},
	})
	return found, err
}

// earliest is when a time of receipt begins to make sense.
const earliest = "toDateTime64('2000-01-01 00:00:00', 3, 'UTC')"

// Strays implements verify.Base. It reads the small columns of the whole table
// once, without FINAL.
func (s *Store) Strays(ctx context.Context, q *verify.StrayQuery, do func(*verify.Row)) error {
	var topics proto.ColStr
	var partitions proto.ColUInt16
	var from, to proto.ColInt64
	for _, r := range q.Ranges {
		topics.Append(r.Topic)
		partitions = append(partitions, uint16(r.Partition))
		from, to = append(from, r.From), append(to, r.To)
	}
	const inside = "of_topic != '' AND _offset >= of_from AND _offset < of_to"
	const inTime = " >= fromUnixTimestamp64Milli({since:Int64}) AND %[1]s < fromUnixTimestamp64Milli({until:Int64})"
	received, happened := fmt.Sprintf("received_at"+inTime, "received_at"), fmt.Sprintf("event_time"+inTime, "event_time")
	days := make([]string, len(q.Common))
	for i, d := range q.Common {
		days[i] = ledger.Date(d)
	}
	if err := s.rows(ctx, ch.Query{
		Body: "SELECT " + rowColumns + `
FROM ` + q.Table + ` AS t LEFT JOIN scanned ON t._topic = scanned.of_topic AND t._partition = scanned.of_partition
WHERE multiIf(
    ` + inside + `, NOT has({common:Array(Date)}, event_date),
    has({topics:Array(String)}, _topic), ` + received + ` OR received_at < ` + earliest + `,
    has({known:Array(String)}, _topic), 0,
    ` + received + ` OR ` + happened + ` OR received_at < ` + earliest + `)`,
		Parameters: []proto.Parameter{
			arrayParameter("common", days), arrayParameter("topics", q.Topics), arrayParameter("known", q.Known),
			clickhouse.IntParameter("since", q.Since), clickhouse.IntParameter("until", q.Until),
		},
		ExternalTable: "scanned",
		ExternalData: []proto.InputColumn{
			{Name: "of_topic", Data: &topics},
			{Name: "of_partition", Data: &partitions},
			{Name: "of_from", Data: &from},
			{Name: "of_to", Data: &to},
		},
	}, do); err != nil {
		return fmt.Errorf("finding rows without a record: %w", err)
	}
	return nil
}

// arrayParameter is an array of texts.
func arrayParameter(name string, values []string) proto.Parameter {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = "'" + clickhouse.Quote.Replace(v) + "'"
	}
	return clickhouse.StringParameter(name, "["+strings.Join(quoted, ",")+"]")
}

// Visible implements verify.Base.
func (s *Store) Visible(ctx context.Context, table string, rows []verify.Row) ([]bool, error) {
	visible := make([]bool, len(rows))
	if len(rows) == 0 {
		return visible, nil
	}
	var owners, names proto.ColStr
	var days proto.ColDate
	var keys proto.ColUInt64
	at := map[verify.Row][]int{}
	for i, r := range rows {
		owners.Append(r.Owner)
		days = append(days, proto.Date(r.Day))
		names.Append(r.Name)
		keys = append(keys, r.EventKey)
		at[r] = append(at[r], i)
	}
	if err := s.rows(ctx, ch.Query{
		Body: "SELECT " + rowColumns + "\nFROM " + table +
			" FINAL WHERE (owner_id, event_date, name, event_key) IN asked_rows",
		ExternalTable: "asked_rows",
		ExternalData: []proto.InputColumn{
			{Name: "owner", Data: &owners},
			{Name: "day", Data: &days},
			{Name: "event_name", Data: &names},
			{Name: "event", Data: &keys},
		},
	}, func(r *verify.Row) {
		if which := at[*r]; len(which) > 0 {
			visible[which[0]] = true // of copies, FINAL shows one
		}
	}); err != nil {
		return nil, fmt.Errorf("reading %d rows with FINAL: %w", len(rows), err)
	}
	return visible, nil
}

// Exclusions implements verify.Base.
func (s *Store) Exclusions(ctx context.Context) ([]verify.Exclusion, error) {
	var owners proto.ColStr
	var from, to proto.ColDate
	var all []verify.Exclusion
	err := s.Read(ctx, schema.Exclusions.Name, ch.Query{
		Body:   "SELECT DISTINCT CAST(owner_id, 'String') AS owner, from_date, to_date FROM exclusions",
		Result: proto.Results{{Name: "owner", Data: &owners}, {Name: "from_date", Data: &from}, {Name: "to_date", Data: &to}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range from {
				all = append(all, verify.Exclusion{Owner: owners.Row(i), From: int32(from[i]), To: int32(to[i])})
			}
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("reading the exclusions: %w", err)
	}
	return all, nil
}

// Erased implements verify.Base.
func (s *Store) Erased(ctx context.Context) (*tombstone.Set, error) {
	all, err := s.tombstones(ctx)
	return tombstone.NewSet(all), err
}

// DifferingOn implements verify.Base.
func (s *Store) DifferingOn(ctx context.Context, day int32) ([]ledger.Touched, error) {
	return s.differing(ctx, ch.Query{}, fmt.Sprintf("event_date = toDate(%d)", day))
}
