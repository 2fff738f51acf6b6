package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// checkpointVersion is the revision that this build writes and reads.
const checkpointVersion = 1

// checkpoint says how far an import has come.
type checkpoint struct {
	Version int    `json:"v"`
	File    string `json:"file"`   // the content, by its hash
	Target  string `json:"target"` // whose the events are
	// DefaultTime is when events without a timestamp took place, in Unix
	// milliseconds.
	DefaultTime int64 `json:"defaultTime"`
	// Lines are settled: acknowledged or rejected.
	Lines          int64 `json:"lines"`
	Accepted       int64 `json:"accepted"`
	Rejected       int64 `json:"refused"`
	RejectionBytes int64 `json:"refusalBytes"` // of the file of rejections
	Done           bool  `json:"done"`
}

// loadCheckpoint returns the checkpoint at path, or next when there is none. One
// that belongs to something else is an error.
func loadCheckpoint(path string, next checkpoint) (checkpoint, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return next, nil
	}
	if err != nil {
		return next, fmt.Errorf("reading the checkpoint: %w", err)
	}
	var c checkpoint
	if err := json.Unmarshal(text, &c); err != nil || c.Version != checkpointVersion {
		return next, fmt.Errorf("the checkpoint %s is damaged or of another version; delete it to start over", path)
	}
	switch {
	case c.File != next.File:
		return next, fmt.Errorf("the file differs from the one that %s was written for. Import new lines as a file of "+
			"their own. Deleting the checkpoint imports the whole file, and stores lines without an eventId again", path)
	case c.Target != next.Target:
		return next, fmt.Errorf("%s was written for another organization or website: delete it to import the file for this "+
			"one as well", path)
	}
	return c, nil
}

// save replaces the checkpoint at path, whole or not at all.
func (c *checkpoint) save(path string) error {
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("writing the checkpoint: %w", err)
	}
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.WriteFile(temp, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the checkpoint: %w", err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("replacing the checkpoint: %w", err)
	}
	return nil
}
