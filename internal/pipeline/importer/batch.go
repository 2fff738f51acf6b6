package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// The sizes of what is read, checked and published at a time.
const (
	batchLines = 1000
	batchBytes = 1 << 20
	// passedLines bounds how many lines are skipped at a time, so that a stop does
	// not wait for all of them.
	passedLines = 100 * batchLines
	// readAhead is how many batches are read before they are needed.
	readAhead = 2
)

// batch is a run of lines.
type batch struct {
	space   []byte
	items   []item
	events  [][]byte // of the items that were not rejected, aliasing space
	lines   int64    // of the file, settled once this batch is
	read    int64    // bytes of the file
	err     error    // that ended the reading behind these lines
	ordinal []int    // of each event, the item
}

// item is one line with something on it.
type item struct {
	line     int64
	from     int // in the batch's space
	to       int
	rejected []Rejection
}

// reader reads batches ahead of their use.
type reader struct {
	src   *source
	lines *lines
	table *table // of a CSV file
	full  chan *batch
	free  chan *batch
	row   []byte
}

// startReader reads the file from the line after skip on, until ctx ends.
func startReader(ctx context.Context, src *source, format Format, skip int64) (*reader, error) {
	in, err := src.content()
	if err != nil {
		return nil, err
	}
	r := &reader{src: src, lines: newLines(in, format == CSV), full: make(chan *batch, readAhead), free: make(
		chan *batch, readAhead+2)}
	if format == CSV {
		header, _, rejected, err := r.lines.next(nil)
		switch {
		case errors.Is(err, io.EOF):
			return nil, errors.New("reading the header: the file is empty")
		case err != nil:
			return nil, fmt.Errorf("reading the header: %w", err)
		case rejected != nil:
			return nil, errors.New("reading the header: " + rejected.Message)
		}
		if r.table, err = newTable(header); err != nil {
			return nil, err
		}
	}
	for range cap(r.free) {
		r.free <- &batch{}
	}
	go r.run(ctx, skip)
	return r, nil
}

// run fills batches until the file or ctx ends; the last one has an error.
func (r *reader) run(ctx context.Context, skip int64) {
	defer close(r.full)
	for {
		var b *batch
		select {
		case b = <-r.free:
		case <-ctx.Done():
			return
		}
		r.fill(b, skip)
		select {
		case r.full <- b:
		case <-ctx.Done():
			return
		}
		if b.err != nil {
			return
		}
	}
}

// fill reads the next batch.
func (r *reader) fill(b *batch, skip int64) {
	b.space, b.items, b.err = b.space[:0], b.items[:0], nil
	for n := 0; n < passedLines && len(b.items) < batchLines && len(b.space) < batchBytes; n++ {
		if b.err = r.one(b, skip); b.err != nil {
			break
		}
	}
	b.lines, b.read = r.lines.read, r.src.read.Load()
	b.events, b.ordinal = b.events[:0], b.ordinal[:0]
	for i := range b.items {
		if it := &b.items[i]; it.rejected == nil {
			b.events, b.ordinal = append(b.events, b.space[it.from:it.to]), append(b.ordinal, i)
		}
	}
}

// one reads the next line into the batch, unless there is nothing on it or it is
// to be skipped.
func (r *reader) one(b *batch, skip int64) error {
	it, rejected := item{from: len(b.space)}, (*Rejection)(nil)
	var err error
	if r.table == nil {
		b.space, it.line, rejected, err = r.lines.next(b.space)
	} else {
		r.row, it.line, rejected, err = r.lines.next(r.row[:0])
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		return fmt.Errorf("reading after line %d: %w", r.lines.read, err)
	}
	if it.line <= skip {
		b.space = b.space[:it.from]
		return nil
	}
	text := b.space[it.from:]
	if r.table != nil {
		text = r.row
	}
	if rejected == nil && len(bytes.TrimSpace(text)) == 0 {
		b.space = b.space[:it.from]
		return nil
	}
	if rejected == nil && r.table != nil {
		b.space, rejected = r.table.appendEvent(b.space, r.row)
	}
	if it.to = len(b.space); rejected != nil {
		it.rejected = []Rejection{rejected.with(it.line)}
	}
	b.items = append(b.items, it)
	return nil
}
