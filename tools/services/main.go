// Command services starts the real servers that tests run against: Apache Kafka
// in KRaft mode, PostgreSQL and Redis, each on a free loopback port, with its
// files in a temporary folder.
//
//	go run ./tools/services            all of them
//	go run ./tools/services postgres   only those named
//	go run ./tools/services kafka-acl  a Kafka with users and an authorizer, only when named
//	go run ./tools/services kubernetes Kubernetes' API server over etcd, only when named
//
// It prints one NAME=value line a server and then "ready". It promises that
// nothing outlives it or whoever started it: it serves for as long as its
// standard input stays open, a kill -9 of it takes the servers along, and after
// -max it ends by itself. What is missing on the machine it installs through
// apt when it runs as root; otherwise it says in one sentence what to install.
// It never touches a server that it did not start.
//
// Standard input takes commands, one a line, each answered with "ok" or
// "error: …": "stop NAME" asks a server to end, "kill NAME" ends it with SIGKILL,
// "start NAME" starts it again on the same port and files.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/testkit/runfolder"
)

func main() {
	// The death signal of the children is tied to the thread that starts them.
	runtime.LockOSThread()
	longest := flag.Duration("max", 2*time.Hour, "longest time to serve")
	prepare := flag.Bool("prepare", false,
		"install and fetch what is needed, start nothing; without names, all that tests need")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *longest)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	err := run(ctx, flag.Args(), *prepare, os.Stdin, os.Stdout)
	stop()
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "services:", err)
		os.Exit(1)
	}
}

// run starts the named servers, all when names is empty, and serves until the
// input ends or ctx does.
func run(ctx context.Context, names []string, prepareOnly bool, in io.Reader, out io.Writer) (err error) {
	recipes, err := choose(names, prepareOnly)
	if err != nil {
		return err
	}
	var lines <-chan string
	if !prepareOnly {
		// Also what hangs while it is prepared or started ends with the input.
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		lines = read(in, cancel)
	}
	if err := prepareAll(ctx, recipes); err != nil {
		return err
	}
	if prepareOnly {
		return nil
	}
	folder, err := runfolder.New(os.TempDir(), "millrace-services-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()

	servers := map[string]*server{}
	defer func() {
		for _, s := range servers {
			err = errors.Join(err, s.stop())
		}
	}()
	for _, r := range recipes {
		s, line, err := r.build(ctx, folder.Path)
		if err != nil {
			return fmt.Errorf("setting up %s: %w", r.name, err)
		}
		servers[r.name] = s
		if err := s.start(ctx); err != nil {
			return err
		}
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out, "ready")
	return serve(ctx, servers, lines, out)
}

// prepareAll prepares all of them at once: some wait for the network while others
// compile.
func prepareAll(ctx context.Context, recipes []recipe) error {
	all, ctx := errgroup.WithContext(ctx)
	for _, r := range recipes {
		all.Go(func() error {
			if err := r.prepare(ctx); err != nil {
				return fmt.Errorf("preparing %s: %w", r.name, err)
			}
			return nil
		})
	}
	return all.Wait()
}

// read passes the lines of the input on, and says when it ends.
func read(in io.Reader, ended func()) <-chan string {
	lines := make(chan string)
	go func() {
		defer ended()
		for sc := bufio.NewScanner(in); sc.Scan(); {
			lines <- sc.Text()
		}
	}()
	return lines
}

// serve obeys commands until ctx ends.
func serve(ctx context.Context, servers map[string]*server, lines <-chan string, out io.Writer) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case line := <-lines:
			if err := obey(ctx, servers, strings.Fields(line)); err != nil {
				fmt.Fprintln(out, "error:", err)
			} else {
				fmt.Fprintln(out, "ok")
			}
		}
	}
}

func obey(ctx context.Context, servers map[string]*server, words []string) error {
	if len(words) != 2 || servers[words[1]] == nil {
		return errors.New("say start, stop or kill and the name of a server that was started")
	}
	s := servers[words[1]]
	switch words[0] {
	case "start":
		return s.start(ctx)
	case "stop":
		return s.stop()
	case "kill":
		return s.kill()
	default:
		return fmt.Errorf("unknown command %q", words[0])
	}
}

func choose(names []string, prepareOnly bool) ([]recipe, error) {
	if len(names) == 0 && prepareOnly {
		return slices.Concat(catalog, onRequest, programs), nil
	}
	if len(names) == 0 {
		return catalog, nil
	}
	known := slices.Concat(catalog, onRequest)
	if prepareOnly {
		known = append(known, programs...)
	}
	var chosen []recipe
	for _, n := range names {
		i := slices.IndexFunc(known, func(r recipe) bool { return r.name == n })
		if i < 0 {
			return nil, fmt.Errorf("unknown server %q; there are kafka, kafka-acl, kubernetes, postgres and redis", n)
		}
		chosen = append(chosen, known[i])
	}
	return chosen, nil
}
