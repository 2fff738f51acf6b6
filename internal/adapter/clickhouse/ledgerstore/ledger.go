package ledgerstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/insert"
	"github.com/millrace/millrace/internal/adapter/clickhouse/native"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/platform/config"
)

// Ledger keeps what became of every range, in the database of the rows. It
// implements sink.Ledger. Connections are made when they are needed.
//
// On a cluster every read first waits until the replica that it asks has what
// the others had: an older response could cut ranges anew.
type Ledger struct {
	*clickhouse.Pool

	quorum  int
	cluster bool
}

// NewLedger returns a Ledger for the servers of cfg; it opens no connection.
func NewLedger(cfg config.ClickHouse) *Ledger {
	return &Ledger{Pool: clickhouse.NewPool(cfg), quorum: cfg.InsertQuorum, cluster: cfg.Cluster != ""}
}

// Epoch implements sink.Ledger.
func (l *Ledger) Epoch(ctx context.Context, topic string) (int64, error) {
	var epoch proto.ColInt64
	err := l.Read(ctx, schema.IngestEpochs.Name, ch.Query{
		Body:       "SELECT greatest(max(epoch), 1) AS epoch FROM ingest_epochs WHERE topic = {topic:String}",
		Parameters: []proto.Parameter{clickhouse.StringParameter("topic", topic)},
		Result:     proto.Results{{Name: "epoch", Data: &epoch}},
	})
	if err != nil {
		return 0, fmt.Errorf("reading the epoch of %s: %w", topic, err)
	}
	return clickhouse.Single(&epoch)
}

// RaiseEpoch raises the epoch of a topic by one and returns it: the server takes
// ranges again that it has seen. The reason, one sentence, is kept beside it. Two
// raises at the same moment may be one. After an error the epoch is raised or
// not.
func (l *Ledger) RaiseEpoch(ctx context.Context, topic, reason string) (int64, error) {
	epoch, err := l.Epoch(ctx, topic)
	if err != nil {
		return 0, err
	}
	epoch++
	var reasons proto.ColStr
	reasons.Append(reason)
	if err := l.Insert(ctx, schema.IngestEpochs.Name, "", proto.Input{
		{Name: "topic", Data: label(topic)}, {Name: "epoch", Data: proto.ColInt64{epoch}}, {Name: "reason", Data: reasons},
	}); err != nil {
		return 0, fmt.Errorf("raising the epoch of %s to %d: %w", topic, epoch, err)
	}
	return epoch, nil
}

// manyEpochs is from how many on they are not looked at one by one.
const manyEpochs = 32

// Reached implements sink.Ledger. Of each epoch it reads the end alone, in the order of the
// table's key, and not what is kept for 90 days: entries of one epoch follow each other, and
// the last few of them are enough also where two overlap.
func (l *Ledger) Reached(
	ctx context.Context, topic string, topicID [16]byte, partition int32, epoch int64,
) (int64, error) {
	var reached proto.ColInt64
	err := l.Read(ctx, schema.IngestLedger.Name, ch.Query{
		Body:       reachedSQL(epoch),
		Parameters: append(partitionParameters(topicID, partition), clickhouse.StringParameter("topic", topic)),
		Result:     proto.Results{{Name: "reached", Data: &reached}},
	})
	if err != nil {
		return 0, fmt.Errorf("reading the end of the ledger of partition %d: %w", partition, err)
	}
	return clickhouse.Single(&reached)
}

func reachedSQL(epoch int64) string {
	const of = "SELECT last FROM ingest_ledger\nWHERE topic = {topic:String} AND topic_id = {topic_id:UUID} AND " +
		"partition = {partition:Int32}"
	ends := []string{of}
	if epoch < manyEpochs {
		ends = nil
		for e := range max(1, epoch) {
			ends = append(ends, fmt.Sprintf("(%s AND epoch = %d ORDER BY first DESC, last DESC LIMIT 100)", of, e+1))
		}
	}
	return "SELECT if(count() = 0, 0, max(last) + 1) AS reached FROM (\n" + strings.Join(ends, "\nUNION ALL\n") + ")"
}

// Ranges implements sink.Ledger.
func (l *Ledger) Ranges(
	ctx context.Context, topicID [16]byte, partition int32, epoch, from int64, limit int,
) ([]ledger.Span, error) {
	var first, last proto.ColInt64
	var spans []ledger.Span
	err := l.Read(ctx, schema.IngestLedger.Name, ch.Query{
		Body: "SELECT first, last FROM ingest_ledger\n" +
			"WHERE topic_id = {topic_id:UUID} AND partition = {partition:Int32} AND epoch = {epoch:Int64} AND last >= " +
			"{from:Int64}\n" +
			"GROUP BY first, last ORDER BY first, last LIMIT {limit:UInt64}",
		Parameters: append(partitionParameters(topicID, partition),
			clickhouse.IntParameter("epoch", epoch), clickhouse.IntParameter("from", from),
			clickhouse.IntParameter("limit", int64(limit))),
		Result: proto.Results{{Name: "first", Data: &first}, {Name: "last", Data: &last}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range first {
				spans = append(spans, ledger.Span{First: first[i], Last: last[i]})
			}
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("reading the ledger of partition %d from offset %d: %w", partition, from, err)
	}
	return spans, nil
}

// Write implements sink.Ledger. It is an insert as those of blocks are, and sent again as they
// are where the server knows the token and has no entry (insert.Again).
func (l *Ledger) Write(ctx context.Context, e *ledger.Entry, insertToken string) error {
	for lost := true; lost; insertToken += insert.Again {
		if err := l.Use(ctx, func(c *clickhouse.Client) error {
			known, err := insert.Do(ctx, c, l.insertion(ctx, schema.IngestLedger.Name, insertToken, entryInput(e)))
			if lost = known; err != nil || !known {
				return err
			}
			lost, err = entryLost(ctx, c, e)
			return err
		}); err != nil {
			return insert.Classify(fmt.Errorf("writing the ledger entry of %d-%d: %w", e.Span.First, e.Span.Last, err))
		}
	}
	return nil
}

// entryLost reports whether the ledger lacks an entry whose token is known.
func entryLost(ctx context.Context, c *clickhouse.Client, e *ledger.Entry) (bool, error) {
	return insert.Lost(ctx, c, schema.IngestLedger.Name, "topic = {topic:String} AND topic_id = {topic_id:UUID} AND "+
		"partition = {partition:Int32} AND epoch = {epoch:Int64} AND first = {first:Int64} AND last = {last:Int64}",
		append(partitionParameters(e.TopicID, e.Partition), clickhouse.StringParameter("topic", e.Topic),
			clickhouse.IntParameter("epoch", e.Epoch), clickhouse.IntParameter("first", e.Span.First),
			clickhouse.IntParameter("last", e.Span.Last))...)
}

// entryInput is the entry as a block of one row.
func entryInput(e *ledger.Entry) proto.Input {
	owners, days := make([]string, len(e.Touched)), make([]time.Time, len(e.Touched))
	for i, t := range e.Touched {
		owners[i], days[i] = t.Owner, time.UnixMilli(int64(t.Day)*record.MillisPerDay).UTC()
	}
	allOwners, allDays := new(proto.ColStr).Array(), new(proto.ColDate).Array()
	allOwners.Append(owners)
	allDays.Append(days)
	return append(proto.Input{
		{Name: "topic", Data: label(e.Topic)},
		{Name: "topic_id", Data: proto.ColUUID{e.TopicID}},
		{Name: "partition", Data: proto.ColInt32{e.Partition}},
		{Name: "epoch", Data: proto.ColInt64{e.Epoch}},
		{Name: "first", Data: proto.ColInt64{e.Span.First}},
		{Name: "last", Data: proto.ColInt64{e.Span.Last}},
		{Name: "kind", Data: label(string(e.Kind))},
		{Name: "stored", Data: proto.ColInt64{e.Stored}},
		{Name: "duplicates", Data: proto.ColInt64{e.Duplicates}},
		{Name: "dead_letters", Data: proto.ColInt64{e.DeadLetters}},
		{Name: "skipped", Data: proto.ColInt64{e.Skipped}},
		{Name: "erased", Data: proto.ColInt64{e.Erased}},
		{Name: "received_from", Data: instant(e.ReceivedFrom)},
		{Name: "received_to", Data: instant(e.ReceivedTo)},
		{Name: "owners", Data: allOwners},
		{Name: "days", Data: allDays},
	}, sharesInput(e.Shares)...)
}

// sharesInput are the columns of shares.
func sharesInput(shares []ledger.Share) proto.Input {
	owners, hours := make([]string, len(shares)), make([]time.Time, len(shares))
	duplicates, letters, erased := make([]uint64, len(shares)), make([]uint64, len(shares)), make([]uint64, len(shares))
	for i, s := range shares {
		owners[i], hours[i] = s.Owner, time.Unix(s.Hour*secondsPerHour, 0).UTC()
		duplicates[i], letters[i], erased[i] = uint64(s.Duplicates), uint64(s.DeadLetters), uint64(s.Erased)
	}
	return proto.Input{
		{Name: "share_owners", Data: array(new(proto.ColStr), owners)},
		{Name: "share_hours", Data: array(&proto.ColDateTime{Location: time.UTC}, hours)},
		{Name: "share_duplicates", Data: array(new(proto.ColUInt64), duplicates)},
		{Name: "share_dead_letters", Data: array(new(proto.ColUInt64), letters)},
		{Name: "share_erased", Data: array(new(proto.ColUInt64), erased)},
	}
}

const secondsPerHour = 60 * 60

// array is an Array column of one value.
func array[T any](of proto.ColumnOf[T], values []T) proto.ColInput {
	c := proto.NewArray(of)
	c.Append(values)
	return c
}

// label is a LowCardinality(String) column of one value.
func label(value string) proto.ColInput {
	c := new(proto.ColStr).LowCardinality()
	c.Append(value)
	return c
}

// instant is a DateTime64(3, 'UTC') column of one value, in Unix milliseconds.
func instant(unixMillis int64) proto.ColInput {
	c := new(proto.ColDateTime64).WithPrecision(proto.PrecisionMilli).WithLocation(time.UTC)
	c.AppendRaw(proto.DateTime64(min(max(unixMillis, native.FirstMillis), native.LastMillis)))
	return c
}

// Insert stores rows of a table under a token, as blocks of records are stored.
func (l *Ledger) Insert(ctx context.Context, table, insertToken string, in proto.Input) error {
	return l.Use(ctx, func(c *clickhouse.Client) error { return c.Do(ctx, l.insertion(ctx, table, insertToken, in)) })
}

func (l *Ledger) insertion(ctx context.Context, table, insertToken string, in proto.Input) ch.Query {
	return ch.Query{Body: in.Into(table), Input: in, Settings: insert.Settings(ctx, 1, insertToken, l.quorum)}
}

// Read runs a query of a table on a replica that has what the others had.
func (l *Ledger) Read(ctx context.Context, table string, q ch.Query) error {
	return l.Use(ctx, func(c *clickhouse.Client) error {
		if l.cluster {
			if err := clickhouse.Exec(ctx, c, "SYSTEM SYNC REPLICA "+table+" LIGHTWEIGHT"); err != nil {
				return fmt.Errorf("waiting for the replica of %s: %w", table, err)
			}
		}
		return c.Do(ctx, q)
	})
}

func partitionParameters(topicID [16]byte, partition int32) []proto.Parameter {
	return []proto.Parameter{
		clickhouse.StringParameter("topic_id", uuid.UUID(topicID).String()),
		clickhouse.IntParameter("partition", int64(partition)),
	}
}
