package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// manifestFile is in the folder.
const manifestFile = "dataset.json"

// Manifest is what a folder holds.
type Manifest struct {
	// Rows are the rows of events, when all is filled.
	Rows int    `json:"rows"`
	Seed uint64 `json:"seed"`
	// Until is the day behind the last one, in UTC.
	Until time.Time `json:"until"`
	// Organization has all of the websites, of which the first is the largest.
	Organization string   `json:"organization"`
	Websites     []string `json:"websites"`
	// Done are the blocks that have been inserted, by their first day.
	Done map[string]bool `json:"done"`
	// Complete says that nothing is missing, and that parts were merged.
	Complete bool `json:"complete"`

	dir string
}

// Largest is the website that has a tenth of the rows in the last thirty days.
func (m *Manifest) Largest() string { return m.Websites[0] }

// Open reads the manifest of a folder; nil when there is none.
func Open(dir string) (*Manifest, error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	m := &Manifest{dir: dir}
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what %s holds: %w", dir, err)
	}
	return m, nil
}

// save replaces the manifest as a whole.
func (m *Manifest) save() error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	file := filepath.Join(m.dir, manifestFile)
	if err := os.WriteFile(file+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
