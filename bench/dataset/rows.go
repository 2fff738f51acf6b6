package dataset

import (
	"github.com/millrace/millrace/internal/adapter/clickhouse/insert"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/pipeline/traffic"
)

// topics are those that are filled.
var topics = [...]string{record.TopicEvents, record.TopicVitals, record.TopicErrors}

// blocks are those of one chunk, one a topic, and what fills them.
type blocks struct {
	plan  *plan
	world *traffic.World
	of    [len(topics)]sink.Block
	topic [len(topics)][]byte
	row   sink.Row
}

func newBlocks(p *plan, w *traffic.World, inserter *insert.Inserter) *blocks {
	b := &blocks{plan: p, world: w}
	for i, topic := range topics {
		b.of[i], b.topic[i] = inserter.NewBlock(topic), []byte(topic)
	}
	return b
}

// fill makes the rows of a chunk.
func (b *blocks) fill(c chunk) {
	for _, block := range b.of {
		block.Reset()
	}
	source := b.world.Source(uint64(c.from))
	for d := c.from; d < c.to; d++ {
		for website := range websites {
			for rows := b.plan.of(website, d); rows > 0; {
				rows -= b.visit(source.Visit(website, source.Began(b.plan.day(d))), c, rows)
			}
		}
	}
}

// visit appends the events of a visit, of which at most so many rows of events, and
// returns how many it were. Measurements and errors are thinned out to their share.
func (b *blocks) visit(events []traffic.Event, c chunk, most int) (rows int) {
	end := b.plan.day(c.to).UnixMilli()
	for i := range events {
		e := &events[i]
		// What goes on behind the last day of the chunk may be another month.
		e.TimeMillis = min(e.TimeMillis, end-1)
		switch e.Topic {
		case record.TopicEvents:
			if rows < most {
				b.add(0, e, c)
				rows++
			}
		case record.TopicVitals:
			if b.of[1].Rows() < b.of[0].Rows()/perVital {
				b.add(1, e, c)
			}
		case record.TopicErrors:
			if b.of[2].Rows() < b.of[0].Rows()/perError {
				b.add(2, e, c)
			}
		}
	}
	return rows
}

// partitions are those that the rows seem to come from.
const partitions = 4

func (b *blocks) add(topic int, e *traffic.Event, c chunk) {
	hash := record.HashOf(e.Owner, e.ID)
	b.row = sink.Row{
		Event: &e.Event, Hash: hash, Topic: b.topic[topic], Partition: int32(hash[15] % partitions),
		Offset: int64(c.first + b.of[topic].Rows()),
	}
	b.of[topic].Append(&b.row)
}
