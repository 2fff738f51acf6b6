package importer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Rejection says why a line is rejected. It is what the file of rejections holds, one
// JSON object for each; it repeats nothing of the line.
type Rejection struct {
	Line    int64  `json:"line"`
	Field   string `json:"field,omitempty"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// with returns the rejection of a line.
func (r *Rejection) with(line int64) Rejection {
	out := *r
	out.Line = line
	return out
}

// rejectionsOf returns what is wrong with an event.
func rejectionsOf(line int64, why *apierr.Error) []Rejection {
	if len(why.Details) == 0 {
		return []Rejection{{Line: line, Field: "websiteId", Rule: string(why.Code), Message: accessMessages[why.Code]}}
	}
	list := make([]Rejection, len(why.Details))
	for i, d := range why.Details {
		list[i] = Rejection{Line: line, Field: d.Field, Rule: d.Rule, Message: d.Message}
	}
	return list
}

// accessMessages are for the codes that come without details.
var accessMessages = map[apierr.Code]string{
	apierr.WebsiteNotFound: "the key's organization has no such website",
	apierr.AccessDenied:    "the key is limited to another website",
}

// rejections is where rejections are written.
type rejections struct {
	path string // "" for out alone
	out  io.Writer
	file *os.File
	buf  *bufio.Writer
	size int64
}

// openRejections goes on behind the first size bytes of the file at path, which is
// made when there is something to write. A file from another import is removed.
func openRejections(path string, out io.Writer, size int64) (*rejections, error) {
	r := &rejections{path: path, out: out, size: size}
	if out != nil {
		r.buf = bufio.NewWriter(out)
		return r, nil
	}
	if size == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("removing the rejections of an earlier import: %w", err)
		}
		return r, nil
	}
	err := r.open()
	return r, err
}

func (r *rejections) open() error {
	file, err := os.OpenFile(r.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("opening the file of rejections: %w", err)
	}
	// What was written after the checkpoint comes again.
	if err := file.Truncate(r.size); err != nil {
		return errors.Join(fmt.Errorf("truncating the file of rejections: %w", err), file.Close())
	}
	if _, err := file.Seek(r.size, io.SeekStart); err != nil {
		return errors.Join(fmt.Errorf("continuing the file of rejections: %w", err), file.Close())
	}
	r.file, r.buf = file, bufio.NewWriter(file)
	return nil
}

func (r *rejections) write(list []Rejection) error {
	if r.buf == nil {
		if err := r.open(); err != nil {
			return err
		}
	}
	for i := range list {
		row, err := json.Marshal(&list[i])
		if err != nil {
			return fmt.Errorf("writing a rejection: %w", err)
		}
		n, err := r.buf.Write(append(row, '\n'))
		if r.size += int64(n); err != nil {
			return fmt.Errorf("writing a rejection: %w", err)
		}
	}
	return nil
}

// flush hands everything over, so that the size may stand in a checkpoint.
func (r *rejections) flush() error {
	if r.buf == nil {
		return nil
	}
	if err := r.buf.Flush(); err != nil {
		return fmt.Errorf("writing rejections: %w", err)
	}
	return nil
}

func (r *rejections) close() error {
	err := r.flush()
	if r.file != nil {
		err = errors.Join(err, r.file.Close())
	}
	return err
}
