package ledgerstore

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/platform/config"
)

// Store is the ledger with what is kept and asked besides its entries. It
// implements ledger.Store, repair.Store, repair.Rollups and verify.Base.
type Store struct {
	*Ledger
}

// NewStore returns a Store for the servers of cfg; it opens no connection.
func NewStore(cfg config.ClickHouse) *Store { return &Store{NewLedger(cfg)} }

// longestRange is more offsets than any entry has: a range ends after at most
// 10,000,000 rows. It lets the primary key find entries by their last offset.
const longestRange = 100_000_000

// Entries implements ledger.Store.
func (s *Store) Entries(
	ctx context.Context, p ledger.Partition, from ledger.Cursor, limit int,
) ([]ledger.Entry, error) {
	var r entryResult
	var entries []ledger.Entry
	err := s.Read(ctx, schema.IngestLedger.Name, ch.Query{
		Body: `SELECT epoch, first, last, CAST(argMax(kind, written_at), 'String') AS kind, argMax(stored, written_at) AS stored,
       argMax(duplicates, written_at) AS duplicates, argMax(dead_letters, written_at) AS dead_letters,
       argMax(skipped, written_at) AS skipped, argMax(erased, written_at) AS erased, argMax(owners, written_at) AS owners, argMax(days, written_at) AS days
FROM ingest_ledger
WHERE topic = {topic:String} AND topic_id = {topic_id:UUID} AND partition = {partition:Int32}
  AND (epoch > {epoch:Int64} OR epoch = {epoch:Int64} AND first >= {near:Int64} AND last >= {from:Int64})
GROUP BY epoch, first, last ORDER BY epoch, first, last LIMIT {limit:UInt64}`,
		Parameters: append(partitionParameters(p.TopicID, p.Index), clickhouse.StringParameter("topic", p.Topic),
			clickhouse.IntParameter("epoch", from.Epoch), clickhouse.IntParameter("near", from.Next-longestRange),
			clickhouse.IntParameter("from", from.Next), clickhouse.IntParameter("limit", int64(limit))),
		Result: r.columns(),
		OnResult: func(context.Context, proto.Block) error {
			entries = r.append(entries, p)
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("reading the ledger of %s/%d from offset %d: %w", p.Topic, p.Index, from.Next, err)
	}
	return entries, nil
}

// entryResult are the columns of entries as they are read.
type entryResult struct {
	epoch, first, last                      proto.ColInt64
	kind                                    proto.ColStr
	stored, duplicates, deadLetter, skipped proto.ColInt64
	erased                                  proto.ColInt64
	owners                                  proto.ColArr[string]
	days                                    proto.ColArr[proto.Date]
	rawDays                                 proto.ColDate
}

func (r *entryResult) columns() proto.Results {
	r.owners = *new(proto.ColStr).Array()
	r.days = proto.ColArr[proto.Date]{Data: &clickhouse.Dates{ColDate: &r.rawDays}}
	return proto.Results{
		{Name: "epoch", Data: &r.epoch},
		{Name: "first", Data: &r.first},
		{Name: "last", Data: &r.last},
		{Name: "kind", Data: &r.kind},
		{Name: "stored", Data: &r.stored},
		{Name: "duplicates", Data: &r.duplicates},
		{Name: "dead_letters", Data: &r.deadLetter},
		{Name: "skipped", Data: &r.skipped},
		{Name: "erased", Data: &r.erased},
		{Name: "owners", Data: &r.owners},
		{Name: "days", Data: &r.days},
	}
}

func (r *entryResult) append(to []ledger.Entry, p ledger.Partition) []ledger.Entry {
	for i := range r.first {
		e := ledger.Entry{
			Topic: p.Topic, TopicID: p.TopicID, Partition: p.Index, Epoch: r.epoch[i], Kind: ledger.EntryKind(r.kind.Row(i)),
			Span: ledger.Span{First: r.first[i], Last: r.last[i]}, Stored: r.stored[i], Duplicates: r.duplicates[i],
			DeadLetters: r.deadLetter[i], Skipped: r.skipped[i], Erased: r.erased[i],
		}
		owners, days := r.owners.Row(i), r.days.Row(i)
		for j := range min(len(owners), len(days)) {
			e.Touched = append(e.Touched, ledger.Touched{Owner: owners[j], Day: int32(days[j])})
		}
		to = append(to, e)
	}
	return to
}

// markAge is how long a mark counts. It is below what the ledger keeps: the
// entries behind an older one may be gone.
const markAge = "INTERVAL 80 DAY"

// Mark implements ledger.Store.
func (s *Store) Mark(ctx context.Context, p ledger.Partition) (c ledger.Cursor, known bool, err error) {
	var epoch, mark proto.ColInt64
	err = s.Read(ctx, schema.IngestMarks.Name, ch.Query{
		Body: `SELECT epoch, mark FROM ingest_marks
WHERE topic = {topic:String} AND topic_id = {topic_id:UUID} AND partition = {partition:Int32} AND checked_at > now64(3) - ` + markAge + `
ORDER BY epoch DESC, mark DESC LIMIT 1`,
		Parameters: append(partitionParameters(p.TopicID, p.Index), clickhouse.StringParameter("topic", p.Topic)),
		Result:     proto.Results{{Name: "epoch", Data: &epoch}, {Name: "mark", Data: &mark}},
	})
	if err != nil {
		return c, false, fmt.Errorf("reading the mark of %s/%d: %w", p.Topic, p.Index, err)
	}
	if epoch.Rows() == 0 {
		return c, false, nil
	}
	return ledger.Cursor{Epoch: epoch[0], Next: mark[0]}, true, nil
}

// SetMarks implements ledger.Store.
func (s *Store) SetMarks(ctx context.Context, marks []ledger.Mark) error {
	if len(marks) == 0 {
		return nil
	}
	topics := new(proto.ColStr).LowCardinality()
	var ids proto.ColUUID
	var partitions proto.ColInt32
	var epochs, offsets proto.ColInt64
	for _, m := range marks {
		topics.Append(m.Partition.Topic)
		ids.Append(uuid.UUID(m.Partition.TopicID))
		partitions.Append(m.Partition.Index)
		epochs.Append(m.Cursor.Epoch)
		offsets.Append(m.Cursor.Next)
	}
	if err := s.Insert(ctx, schema.IngestMarks.Name, "", proto.Input{
		{Name: "topic", Data: topics},
		{Name: "topic_id", Data: ids},
		{Name: "partition", Data: partitions},
		{Name: "epoch", Data: epochs},
		{Name: "mark", Data: offsets},
	}); err != nil {
		return fmt.Errorf("storing marks: %w", err)
	}
	return nil
}

// InsertRate implements ledger.Store. Each month of a range is one insert.
func (s *Store) InsertRate(ctx context.Context) (float64, error) {
	var rate proto.ColFloat64
	err := s.Read(ctx, schema.IngestLedger.Name, ch.Query{
		Body: `SELECT sum(length(arrayDistinct(arrayMap(d -> toYYYYMM(d), days)))) / 600 AS rate
FROM ingest_ledger WHERE written_at > now64(3) - INTERVAL 10 MINUTE`,
		Result: proto.Results{{Name: "rate", Data: &rate}},
	})
	if err != nil {
		return 0, fmt.Errorf("measuring the inserts of the last minutes: %w", err)
	}
	if rate.Rows() != 1 {
		return 0, clickhouse.ErrOneRow
	}
	return rate[0], nil
}

// StoredTo implements repair.Store.
func (s *Store) StoredTo(ctx context.Context, topicID [16]byte, partition int32) (int64, error) {
	var to proto.ColInt64
	err := s.Read(ctx, schema.IngestLedger.Name, ch.Query{
		Body: "SELECT if(count() = 0, 0, max(last) + 1) AS next FROM ingest_ledger\n" +
			"WHERE topic_id = {topic_id:UUID} AND partition = {partition:Int32} AND kind = {kind:String}",
		Parameters: append(partitionParameters(topicID, partition),
			clickhouse.StringParameter("kind", string(ledger.EntryRange))),
		Result: proto.Results{{Name: "next", Data: &to}},
	})
	if err != nil {
		return 0, fmt.Errorf("reading the last stored offset of partition %d: %w", partition, err)
	}
	return clickhouse.Single(&to)
}

// TouchedSince implements repair.Touches.
func (s *Store) TouchedSince(ctx context.Context, topicID [16]byte, millis int64) (days []ledger.Touched, err error) {
	var owners proto.ColStr
	var when proto.ColDate
	err = s.Read(ctx, schema.IngestLedger.Name, ch.Query{
		Body: "SELECT owner, day FROM ingest_ledger ARRAY JOIN owners AS owner, days AS day\n" +
			"WHERE topic_id = {topic_id:UUID} AND received_to >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')\n" +
			"GROUP BY owner, day ORDER BY owner, day",
		Parameters: []proto.Parameter{
			clickhouse.StringParameter("topic_id", ledger.UUID(topicID)), clickhouse.IntParameter("since", millis),
		},
		Result: proto.Results{{Name: "owner", Data: &owners}, {Name: "day", Data: &when}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range owners.Rows() {
				days = append(days, ledger.Touched{Owner: owners.Row(i), Day: int32(when[i])})
			}
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("reading the days changed since %s: %w",
			time.UnixMilli(millis).UTC().Format(time.RFC3339), err)
	}
	return days, nil
}
