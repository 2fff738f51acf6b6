// Package services gives tests real servers: Apache Kafka, PostgreSQL, Redis and
// Kubernetes' API server, started by tools/services.
//
// One server of a kind is shared by all tests: by those of a whole run, where the run
// has started one and says so in the environment, else by those of a test binary, with
// which it ends. Each test gets a topic prefix, or a database, of its own. A test that
// stops servers takes one for itself with Own. A server that cannot be had fails the
// test; under -short the tests that ask are left out.
package services

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit"
)

// Kind names a server of tools/services.
type Kind string

// The kinds of servers.
const (
	KindKafka    Kind = "kafka"
	KindKafkaACL Kind = "kafka-acl" // with users and an authorizer; for Own
	KindPostgres Kind = "postgres"
	KindRedis    Kind = "redis"
	// KindKubernetes is Kubernetes' API server without controllers; for Own.
	KindKubernetes Kind = "kubernetes"
)

// AddressEnv begins the names of the variables with the servers of a run: what follows
// is a line of tools/services, such as KAFKA_BROKERS=127.0.0.1:9092. ProgramEnv is the
// path of tools/services as a program.
const (
	AddressEnv = "MILLRACE_TEST_"
	ProgramEnv = "MILLRACE_TEST_SERVICES"
)

// startTimeout allows for a fresh machine, on which packages are installed and
// Kafka's jars fetched.
const startTimeout = 5 * time.Minute

// Server is one running server.
type Server struct {
	kind  Kind
	value string // what follows the "=" of the line that the tool printed

	mu    sync.Mutex
	stdin io.WriteCloser
	out   *bufio.Reader
	cmd   *exec.Cmd
	log   *testkit.Log
}

// Own starts a server for this test alone.
func Own(tb testing.TB, kind Kind) *Server {
	tb.Helper()
	return OwnAll(tb, kind)[0]
}

// OwnAll is Own for servers of several kinds, which it starts, and ends, at the same time.
func OwnAll(tb testing.TB, kinds ...Kind) []*Server {
	tb.Helper()
	for _, kind := range kinds {
		leaveOutWhenShort(tb, kind)
	}
	servers, errs := make([]*Server, len(kinds)), make([]error, len(kinds))
	together(kinds, func(i int) { servers[i], errs[i] = launch(kinds[i]) })
	tb.Cleanup(func() {
		together(kinds, func(i int) {
			if servers[i] == nil {
				return
			}
			if err := servers[i].close(); err != nil {
				tb.Errorf("ending %s: %v", kinds[i], err)
			}
		})
	})
	if err := errors.Join(errs...); err != nil {
		tb.Fatal(err)
	}
	return servers
}

// together does something for each server.
func together(kinds []Kind, do func(i int)) {
	var wg sync.WaitGroup
	for i := range kinds {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

// Stop asks the server to end and returns when it has.
func (s *Server) Stop(tb testing.TB) { tb.Helper(); s.command(tb, "stop") }

// Kill ends the server with SIGKILL.
func (s *Server) Kill(tb testing.TB) { tb.Helper(); s.command(tb, "kill") }

// Start starts a server that was stopped or killed, on its old port and files,
// and returns when it serves.
func (s *Server) Start(tb testing.TB) { tb.Helper(); s.command(tb, "start") }

func (s *Server) command(tb testing.TB, verb string) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := fmt.Fprintf(s.stdin, "%s %s\n", verb, s.kind); err != nil {
		tb.Fatalf("telling tools/services to %s %s: %v", verb, s.kind, err)
	}
	response, err := s.out.ReadString('\n')
	if err != nil || strings.TrimSpace(response) != "ok" {
		tb.Fatalf("tools/services was told to %s %s and said %q, %v\n%s", verb, s.kind, response, err, s.log)
	}
}

// close ends the server. The tool serves until its input ends.
func (s *Server) close() error {
	return errors.Join(s.stdin.Close(), s.cmd.Wait())
}

// launch runs tools/services for one server and waits until it serves. The pipe
// to its standard input lives as long as this process, so the server does too.
func launch(kind Kind) (*Server, error) {
	root, err := testkit.ModuleRoot()
	if err != nil {
		return nil, err
	}
	s := &Server{kind: kind, log: &testkit.Log{}}
	command := []string{"go", "run", "./tools/services"}
	if built := os.Getenv(ProgramEnv); built != "" { //nolint:forbidigo // whoever runs the tests has built it
		command = []string{built}
	}
	s.cmd = exec.CommandContext(context.Background(), command[0], append(command[1:], string(kind))...)
	s.cmd.Dir = root
	s.cmd.Stderr = s.log
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("running tools/services: %w", err)
	}
	// The tool ends with its input, also while it installs something.
	giveUp := time.AfterFunc(startTimeout, func() { s.stdin.Close() })
	defer giveUp.Stop()
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("starting %s: %w", kind, errors.Join(s.close(), errors.New(s.log.String())))
		}
		line = strings.TrimSpace(line)
		if line == "ready" {
			return s, nil
		}
		if _, value, ok := strings.Cut(line, "="); ok {
			s.value = value
		}
	}
}

func leaveOutWhenShort(tb testing.TB, kind Kind) {
	tb.Helper()
	if testing.Short() {
		tb.Skipf("left out under -short: needs a real %s", kind)
	}
}

// Address is where the server is, as tools/services says it.
func (s *Server) Address() string { return s.value }
