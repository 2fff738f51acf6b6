package chserver

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"

	"github.com/millrace/millrace/internal/adapter/embedded/chlibrary"
)

// engine is what a server is run from: a binary or the library, never both.
type engine struct {
	binary  string
	library string
}

// String names the engine for a person.
func (e engine) String() string {
	if e.binary != "" {
		return e.binary
	}
	return "version " + chlibrary.EngineVersion
}

// findEngine resolves what the settings and this machine offer.
func findEngine(cfg Config) (engine, error) {
	if cfg.Binary != "" {
		path, err := exec.LookPath(cfg.Binary)
		if err != nil {
			return engine{}, fmt.Errorf("%s: %w", settingBinary, err)
		}
		return engine{binary: path}, nil
	}
	if cfg.Library == "" {
		if path, err := exec.LookPath("clickhouse"); err == nil {
			return engine{binary: path}, nil
		}
	}
	if errNoLibrary != nil {
		return engine{}, errNoLibrary
	}
	path, err := chlibrary.Find(cfg.Library)
	if errors.Is(err, chlibrary.ErrMissing) {
		return engine{}, fmt.Errorf("%w; run make clickhouse, or put a clickhouse binary on PATH", err)
	}
	if err != nil {
		return engine{}, err
	}
	return engine{library: path}, nil
}

// Available reports whether Start would find a server to run: nil, or an error
// with chlibrary.ErrMissing in its chain when fetching the library would help.
func Available(cfg Config) error {
	_, err := findEngine(cfg)
	return err
}

//go:embed config.xml.tmpl
var configText string

var configTemplate = template.Must(template.New("config.xml").Parse(configText))

// place is what the generated configuration depends on.
type place struct {
	Dir, Host, Port, HTTPPort string
	// Server is true for a binary, which needs what clickhouse-local takes from
	// its arguments.
	Server bool
	Users  map[string][]string
}

// args writes the configuration and returns the child's arguments.
func (e engine) args(dir, addr, http string, users map[string][]string, of shelter) ([]string, error) {
	p := place{Dir: dir, Server: e.binary != "", Users: users}
	var err error
	if p.Host, p.Port, err = net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("reading the address of ClickHouse: %w", err)
	}
	if _, p.HTTPPort, err = net.SplitHostPort(http); err != nil {
		return nil, fmt.Errorf("reading the HTTP address of ClickHouse: %w", err)
	}
	var text bytes.Buffer
	if err := configTemplate.Execute(&text, p); err != nil {
		return nil, fmt.Errorf("rendering the configuration of ClickHouse: %w", err)
	}
	file := filepath.Join(dir, "config.xml")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		return nil, fmt.Errorf("writing the configuration of ClickHouse: %w", err)
	}
	if p.Server {
		return []string{modeBinary, e.binary, "server", "--config-file=" + file}, nil
	}
	local := []string{
		"clickhouse", "--config-file=" + file, "--log-level=warning",
		"--path=" + filepath.Join(dir, "store"),
		"--structure", "x String", "--input-format", "LineAsString",
		"--query", "SYSTEM START LISTEN TCP; SYSTEM START LISTEN HTTP; SELECT x FROM table FORMAT Null",
	}
	if of == relayed {
		return append([]string{modeRelayed, e.library, addr, http}, local...), nil
	}
	local = append(local, listenAt(p.Host, p.Port, p.HTTPPort)...)
	if of == terminal {
		// Interactive, and otherwise as quiet as it is without a terminal. The history is
		// a file of ours: the engine makes whatever it is given readable by its owner only,
		// and so would take /dev/null away from everybody else.
		local = append(local, "--interactive", "--progress=off", "--progress-table=off",
			"--disable_suggestion", "--highlight=0", "--history_file="+filepath.Join(dir, "history"))
	}
	return append([]string{modeLibrary, e.library}, local...), nil
}

// listenAt are the library's arguments for where it listens.
func listenAt(host, port, httpPort string) []string {
	return []string{"--listen_host=" + host, "--tcp_port=" + port, "--http_port=" + httpPort}
}
