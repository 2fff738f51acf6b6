package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/embedded/chserver"
	"github.com/millrace/millrace/internal/testkit/programs"
	"github.com/millrace/millrace/internal/testkit/runfolder"
	"github.com/millrace/millrace/internal/testkit/services"
)

// longest is how long the servers of a run live if they are not ended.
const longest = "12h"

// shared is what the tests of all stages use: programs, servers, and a folder for their files.
type shared struct {
	scratch      *runfolder.Folder
	plain, raced string // folders of programs; raced is empty unless somebody needs it
	servers      []string
	tool         string // tools/services

	stdin io.WriteCloser
	cmd   *exec.Cmd
}

// openShared builds the programs and starts the servers. The caller closes it.
func openShared(ctx context.Context, root string, raced bool) (*shared, error) {
	s := &shared{}
	var err error
	if s.scratch, err = openScratch(); err != nil {
		return nil, err
	}
	err = s.build(ctx, root, raced)
	if err == nil {
		err = s.start(ctx, root)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *shared) build(ctx context.Context, root string, raced bool) (err error) {
	if s.plain, err = programs.Build(ctx, root, s.scratch.Path, false); err != nil {
		return err
	}
	if raced {
		if s.raced, err = programs.Build(ctx, root, s.scratch.Path, true); err != nil {
			return err
		}
	}
	// Beside the programs under test, and not one of them.
	s.tool = filepath.Join(s.plain, "tools", "services")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", s.tool, "./tools/services")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building tools/services: %w\n%s", err, out)
	}
	return nil
}

// start starts the servers and returns when all of them serve.
func (s *shared) start(ctx context.Context, root string) (err error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.tool, "-max", longest)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	cmd.Env = append(cmd.Environ(), "TMPDIR="+s.scratch.Path)
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("running tools/services: %w", err)
	}
	s.cmd = cmd
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "ready" {
			return nil
		}
		s.servers = append(s.servers, services.AddressEnv+lines.Text())
	}
	return errors.New("tools/services ended before its servers were ready")
}

// env returns the variables that lead tests to all of it.
func (s *shared) env(raced bool) []string {
	folder := s.plain
	if raced && s.raced != "" {
		folder = s.raced
	}
	return append([]string{
		"TMPDIR=" + s.scratch.Path, programs.FolderEnv + "=" + folder, services.ProgramEnv + "=" + s.tool,
	}, s.servers...)
}

// withClickHouse runs the packages of one stage beside a server that they share. A server that
// died is an error, because no test fails by itself then.
func (s *shared) withClickHouse(ctx context.Context, run func(env string) error) error {
	server, err := chserver.Start(ctx, chserver.Config{
		Listen: "127.0.0.1:0", HTTPListen: "127.0.0.1:0", Dir: filepath.Join(s.scratch.Path, "clickhouse"),
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	err = run(clickhousetest.Environment + "=" + server.Addr() + " " + server.HTTPAddr())
	return errors.Join(err, server.Close(), server.Died())
}

// Close ends the servers and removes the folder. A nil shared has nothing to close.
func (s *shared) Close() error {
	if s == nil {
		return nil
	}
	var err error
	if s.cmd != nil {
		err = errors.Join(s.stdin.Close(), s.cmd.Wait())
	}
	return errors.Join(err, s.scratch.Remove())
}
