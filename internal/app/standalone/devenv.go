package standalone

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/millrace/millrace/internal/platform/config"
)

// devEnv is what data/dev.env holds: everything that a program or a person needs
// to send and query events. A shell can source it: no value needs quotes.
type devEnv struct {
	BaseURL        string
	IngestURL      string
	LinkURL        string // empty where short links are not served
	KafkaBrokers   string
	ClickHouseAddr string
	APIKey         string
	WebsiteID      string
	OrganizationID string
	AdminEmail     string
	AdminPassword  string
}

// devEnvLines lists the lines in order.
var devEnvLines = []struct {
	name string
	of   func(*devEnv) *string
}{
	{"BASE_URL", func(e *devEnv) *string { return &e.BaseURL }},
	{"INGEST_URL", func(e *devEnv) *string { return &e.IngestURL }},
	{"LINK_URL", func(e *devEnv) *string { return &e.LinkURL }},
	{"KAFKA_BROKERS", func(e *devEnv) *string { return &e.KafkaBrokers }},
	{"CLICKHOUSE_ADDR", func(e *devEnv) *string { return &e.ClickHouseAddr }},
	{"API_KEY", func(e *devEnv) *string { return &e.APIKey }},
	{"WEBSITE_ID", func(e *devEnv) *string { return &e.WebsiteID }},
	{"ORGANIZATION_ID", func(e *devEnv) *string { return &e.OrganizationID }},
	{"ADMIN_EMAIL", func(e *devEnv) *string { return &e.AdminEmail }},
	{"ADMIN_PASSWORD", func(e *devEnv) *string { return &e.AdminPassword }},
}

// readDevEnv reads what an earlier start has written; a missing file is empty.
func readDevEnv(path string) (devEnv, error) {
	var e devEnv
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err != nil {
		return e, fmt.Errorf("reading %s: %w", path, err)
	}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		for _, l := range devEnvLines {
			if l.name == name {
				*l.of(&e) = value
			}
		}
	}
	return e, nil
}

// write replaces the file as a whole; only its owner may read it.
func (e *devEnv) write(path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // of mode 0600
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing %s: %w", path, errors.Join(err, os.Remove(f.Name())))
		}
	}()
	var text strings.Builder
	for _, l := range devEnvLines {
		fmt.Fprintf(&text, "%s=%s\n", l.name, *l.of(e))
	}
	_, written := f.WriteString(text.String())
	if err := errors.Join(written, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// fillAddresses adds where to reach what runs.
func (e *devEnv) fillAddresses(s config.Settings) {
	e.BaseURL = config.ListenURL(s.Query.Listen)
	e.IngestURL = config.ListenURL(s.Ingest.Listen)
	if e.LinkURL = ""; s.Link.Listen != "" {
		e.LinkURL = config.ListenURL(s.Link.Listen)
	}
	e.KafkaBrokers = strings.Join(s.Kafka.Brokers, ",")
	e.ClickHouseAddr = strings.Join(s.ClickHouse.Addr, ",")
}

// DevEnv returns the lines of the dev.env of a data folder, by their names, so that
// a command beside a standalone needs no flags. It is empty where there is none.
func DevEnv(dir string) (map[string]string, error) {
	e, err := readDevEnv(filepath.Join(dir, devEnvFile))
	lines := map[string]string{}
	for _, l := range devEnvLines {
		if v := *l.of(&e); v != "" {
			lines[l.name] = v
		}
	}
	return lines, err
}
