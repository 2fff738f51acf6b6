package bulk

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/millrace/millrace/internal/contract/fault"
)

// Refusal says why a line is refused. It is what the file of refusals holds, one
// JSON object for each; it repeats nothing of the line.
type Refusal struct {
	Line    int64  `json:"line"`
	Field   string `json:"field,omitempty"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// with returns the refusal of a line.
func (r *Refusal) with(line int64) Refusal {
	out := *r
	out.Line = line
	return out
}

// refusalsOf returns what is wrong with an event.
func refusalsOf(line int64, why *fault.Error) []Refusal {
	if len(why.Details) == 0 {
		return []Refusal{{Line: line, Field: "websiteId", Rule: string(why.Code), Message: accessMessages[why.Code]}}
	}
	list := make([]Refusal, len(why.Details))
	for i, d := range why.Details {
		list[i] = Refusal{Line: line, Field: d.Field, Rule: d.Rule, Message: d.Message}
	}
	return list
}

// accessMessages are for the codes that come without details.
var accessMessages = map[fault.Code]string{
	fault.WebsiteNotFound: "the key's organization has no such website",
	fault.AccessDenied:    "the key is limited to another website",
}

// refusals is where refusals are written.
type refusals struct {
	path string // "" for out alone
	out  io.Writer
	file *os.File
	buf  *bufio.Writer
	size int64
}

// openRefusals goes on behind the first size bytes of the file at path, which is
// made when there is something to write. A file from another import is removed.
func openRefusals(path string, out io.Writer, size int64) (*refusals, error) {
	r := &refusals{path: path, out: out, size: size}
	if out != nil {
		r.buf = bufio.NewWriter(out)
		return r, nil
	}
	if size == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("removing the refusals of an earlier import: %w", err)
		}
		return r, nil
	}
	err := r.open()
	return r, err
}

func (r *refusals) open() error {
	file, err := os.OpenFile(r.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("opening the file of refusals: %w", err)
	}
	// What was written after the checkpoint comes again.
	if err := file.Truncate(r.size); err != nil {
		return errors.Join(fmt.Errorf("cutting the file of refusals: %w", err), file.Close())
	}
	if _, err := file.Seek(r.size, io.SeekStart); err != nil {
		return errors.Join(fmt.Errorf("going on in the file of refusals: %w", err), file.Close())
	}
	r.file, r.buf = file, bufio.NewWriter(file)
	return nil
}

func (r *refusals) write(list []Refusal) error {
	if r.buf == nil {
		if err := r.open(); err != nil {
			return err
		}
	}
	for i := range list {
		row, err := json.Marshal(&list[i])
		if err != nil {
			return fmt.Errorf("writing a refusal: %w", err)
		}
		n, err := r.buf.Write(append(row, '\n'))
		if r.size += int64(n); err != nil {
			return fmt.Errorf("writing a refusal: %w", err)
		}
	}
	return nil
}

// flush hands everything over, so that the size may stand in a checkpoint.
func (r *refusals) flush() error {
	if r.buf == nil {
		return nil
	}
	if err := r.buf.Flush(); err != nil {
		return fmt.Errorf("writing refusals: %w", err)
	}
	return nil
}

func (r *refusals) close() error {
	err := r.flush()
	if r.file != nil {
		err = errors.Join(err, r.file.Close())
	}
	return err
}
