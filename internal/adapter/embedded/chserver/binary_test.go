//go:build linux || darwin

package chserver_test

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/adapter/embedded/chlibrary"
	"github.com/millrace/millrace/internal/adapter/embedded/chserver"
)

// fakeBinary makes this test binary behave as `clickhouse server`: it reads the
// generated configuration and runs the library that it names as that says.
const fakeBinary = "MILLRACE_CHSERVER_TEST_BINARY"

// generated is what a server reads in the configuration.
type generated struct {
	ListenHost string `xml:"listen_host"`
	TCPPort    string `xml:"tcp_port"`
	HTTPPort   string `xml:"http_port"`
	Path       string `xml:"path"`
}

func runIfFakeBinary() {
	if os.Getenv(fakeBinary) == "" || len(os.Args) != 3 || os.Args[1] != "server" {
		return
	}
	var c generated
	data, err := os.ReadFile(strings.TrimPrefix(os.Args[2], "--config-file="))
	if err == nil {
		err = xml.Unmarshal(data, &c)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	r, _, err := os.Pipe() // its other end stays open until this process ends
	if err != nil {
		os.Exit(1)
	}
	os.Stdin = r
	os.Args = []string{
		os.Args[0], "__millrace-clickhouse-library", os.Getenv(fakeBinary),
		"clickhouse", "--path=" + c.Path, "--listen_host=" + c.ListenHost, "--tcp_port=" + c.TCPPort,
		"--http_port=" + c.HTTPPort, "--query",
		"SYSTEM START LISTEN TCP; SYSTEM START LISTEN HTTP; SELECT sleepEachRow(1) FROM system.numbers FORMAT Null " +
			"SETTINGS function_sleep_max_microseconds_per_block = 0, max_block_size = 1",
	}
	chserver.RunIfChild()
}

func TestABinaryIsRunWithAGeneratedConfiguration(t *testing.T) {
	t.Parallel()
	library, err := chlibrary.Find(os.Getenv(envLibrary))
	switch {
	case err != nil && testing.Short():
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "clickhouse")
	if err := os.WriteFile(script,
		fmt.Appendf(nil, "#!/bin/sh\n%s=%s exec %s \"$@\"\n", fakeBinary, library, os.Args[0]), 0o700); err != nil {
		t.Fatal(err)
	}
	cfg := config(filepath.Join(dir, "data"))
	cfg.Binary = script
	first := start(t, cfg)
	fill(t, first.Addr())
	first.Close()

	cfg.Listen = first.Addr()
	if got := count(t, start(t, cfg).Addr()); got != 3 {
		t.Errorf("after a restart the table has %d rows, want 3", got)
	}
}
