package sdk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/apitest"
	"github.com/millrace/millrace/tests/fault/faultproxy"
	"github.com/millrace/millrace/tests/harness"
)

const (
	// patience is how long an event may take until it is stored.
	patience = 90 * time.Second
	// ending is how long the client's program may take to end.
	ending = 10 * time.Second
)

func TestMain(m *testing.M) { harness.Main(m) }

func TestTheGoClientKeepsTheContract(t *testing.T) {
	s := harness.New(t, harness.InProcess, harness.Options{})
	program := build(t)
	files, err := fs.Glob(os.DirFS("."), "*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := newPlayer(t, s, program)
			for i, section := range a.Files {
				p.play(t, a.Files[i:], section)
			}
		})
	}
}

// build builds the program with the client, which is in a module of its own and can
// be imported by nothing here.
func build(t *testing.T) string {
	t.Helper()
	root, err := testkit.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "conformance")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-C", filepath.Join(root, "sdk", "go"), "-o", program,
		"./internal/conformance")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the client: %v\n%s", err, out)
	}
	return program
}

// player plays one file.
type player struct {
	system *harness.System
	proxy  *faultproxy.Proxy
	vars   apitest.Vars
	in     io.Writer
	out    *bufio.Reader
	log    *testkit.Log
}

func newPlayer(t *testing.T, s *harness.System, program string) *player {
	t.Helper()
	p := &player{
		system: s,
		proxy:  faultproxy.Start(t, strings.TrimPrefix(s.IngestURL, "http://")),
		vars:   s.Vars(),
		log:    testkit.NewLog(t, "client"),
	}
	maps.Copy(p.vars, apitest.Vars{
		"PROXIED": "http://" + p.proxy.Addr(), "UNIQUE": fmt.Sprint(filepath.Base(t.Name()), time.Now().UnixNano()),
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program)
	cmd.Stderr = p.log
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	t.Cleanup(func() {
		in.Close()
		stop := time.AfterFunc(ending, cancel)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the client's program: %v\n%s", err, p.log)
		}
		stop.Stop()
		cancel()
	})
	return p
}

// play plays a section; rest begins with it.
func (p *player) play(t *testing.T, rest []txtar.File, section txtar.File) {
	t.Helper()
	text, err := apitest.Render(string(section.Data), p.vars)
	if err != nil {
		t.Fatalf("%s: %v", section.Name, err)
	}
	switch call, _, _ := strings.Cut(section.Name, ":"); call {
	case "result": // of the call before
	case "network":
		p.setNetwork(t, strings.TrimSpace(text))
	case "stored":
		p.awaitStored(t, text)
	case "not stored":
		p.notStored(t, text)
	case "row":
		p.hasRow(t, text)
	default:
		want := `{"success":true}`
		if len(rest) > 1 && rest[1].Name == "result" {
			if want, err = apitest.Render(string(rest[1].Data), p.vars); err != nil {
				t.Fatalf("the result of %s: %v", section.Name, err)
			}
		}
		got, err := p.call(call, text)
		if err == nil {
			err = apitest.MatchJSON([]byte(want), got)
		}
		if err != nil {
			t.Fatalf("%s: %v\n got %.600s\n%s", section.Name, err, got, p.log)
		}
	}
}

// call has the client do something and returns what came of it.
func (p *player) call(call, value string) ([]byte, error) {
	if value = strings.TrimSpace(value); value == "" {
		value = "null"
	}
	line, err := json.Marshal(map[string]any{"call": call, "value": json.RawMessage(value)})
	if err != nil {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	return p.out.ReadBytes('\n')
}

func (p *player) setNetwork(t *testing.T, rule string) {
	t.Helper()
	for _, r := range []faultproxy.Rule{
		{Kind: faultproxy.Pass},
		{Kind: faultproxy.Refuse},
		{Kind: faultproxy.BlackHole},
		{Kind: faultproxy.DropResponse, Match: "POST /track", Times: 1, Ends: '}'},
	} {
		if r.Kind.String() == rule {
			p.proxy.Set(r)
			return
		}
	}
	t.Fatalf("there is no network called %q", rule)
}

// counts returns how often each id is stored, of all websites of the fixture.
func (p *player) counts(ctx context.Context) (map[string]int, error) {
	ids, err := p.system.StoredIDsOf(ctx, p.system.WebsiteID, p.system.SecondWebsiteID, p.system.OrganizationID)
	n := map[string]int{}
	for _, id := range ids {
		n[id]++
	}
	return n, err
}

func (p *player) awaitStored(t *testing.T, text string) {
	t.Helper()
	ids := list(t, text)
	testkit.Eventually(t, patience, func() error {
		n, err := p.counts(t.Context())
		for _, id := range ids {
			if n[id] != 1 {
				err = errors.Join(err, fmt.Errorf("%s is stored %d times", id, n[id]))
			}
		}
		return err
	})
}

func (p *player) notStored(t *testing.T, text string) {
	t.Helper()
	n, err := p.counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range list(t, text) {
		if n[id] != 0 {
			t.Errorf("%s is stored", id)
		}
	}
}

// hasRow compares the columns that are named with those of a stored event.
func (p *player) hasRow(t *testing.T, text string) {
	t.Helper()
	var want map[string]string
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	for column, value := range want {
		got := clickhousetest.Column(t, p.system.ClickHouse, column, "events FINAL WHERE event_id = '"+want["event_id"]+"'")
		if len(got) != 1 || got[0] != value {
			t.Errorf("%s of %s is %q, want %q", column, want["event_id"], got, value)
		}
	}
}

func list(t *testing.T, text string) []string {
	t.Helper()
	var ids []string
	if err := json.Unmarshal([]byte(text), &ids); err != nil {
		t.Fatal(err)
	}
	return ids
}
