package insert

import (
	"fmt"
	"runtime/debug"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse/native"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// guard is what becomes of a panic while a block is encoded. The client encodes it in a
// goroutine of its own, where a panic would end the process, and after it each owner of the
// partition in turn. Encoding returns no error: what a broken block can do is end the
// connection, before anything of the block has been sent on it.
type guard struct {
	abort func() error // ends the connection
	err   error
}

// try runs a step of a column, unless one before it has panicked.
func (g *guard) try(column string, step func()) {
	if g.err != nil {
		return
	}
	defer func() {
		if cause := recover(); cause != nil {
			g.err = fmt.Errorf("%w: column %s: %v\n%s", sink.ErrPanic, column, cause, debug.Stack())
			_ = g.abort() // what it says is nothing to what has happened
		}
	}()
	step()
}

// guarded is a column as the client sees it.
type guarded struct {
	native.Column

	name  string
	guard *guard
}

// Infer implements proto.Inferable.
func (c *guarded) Infer(t proto.ColumnType) (err error) {
	if i, ok := c.Column.(proto.Inferable); ok {
		c.guard.try(c.name, func() { err = i.Infer(t) })
	}
	return err
}

// Prepare implements proto.Preparable.
func (c *guarded) Prepare() (err error) {
	if p, ok := c.Column.(proto.Preparable); ok {
		c.guard.try(c.name, func() { err = p.Prepare() })
	}
	return err
}

// EncodeState implements proto.StateEncoder.
func (c *guarded) EncodeState(b *proto.Buffer) {
	if s, ok := c.Column.(proto.StateEncoder); ok {
		c.guard.try(c.name, func() { s.EncodeState(b) })
	}
}

// EncodeColumn implements proto.ColInput; Prepare comes before it.
func (c *guarded) EncodeColumn(b *proto.Buffer) {
	c.guard.try(c.name, func() { c.Column.EncodeColumn(b) })
}

// WriteColumn implements proto.ColInput; Prepare comes before it.
func (c *guarded) WriteColumn(w *proto.Writer) {
	c.guard.try(c.name, func() { c.Column.WriteColumn(w) })
}
