package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"github.com/millrace/millrace/internal/app/standalone"
	"github.com/millrace/millrace/internal/platform/config"
)

// serveStack runs the whole product in one process on the folder of a data set, with
// a broker in memory beside it, and no limits of rate.
func serveStack(ctx context.Context, j job, say func(result) error) error {
	s := config.Default()
	s.Data.Dir, s.Limits.Enabled, s.Log.Level, s.Admin.Listen = j.Folder, false, "error", ""
	for _, addr := range []*string{
		&s.Query.Listen, &s.Ingest.Listen, &s.Embedded.Kafka.Listen, &s.Embedded.ClickHouse.Listen,
		&s.Embedded.ClickHouse.HTTP.Listen,
	} {
		if err := freeAddr(addr); err != nil {
			return err
		}
	}
	ready := &readyLine{then: func() error {
		return say(result{
			Query: config.ListenURL(s.Query.Listen), Ingest: config.ListenURL(s.Ingest.Listen),
			ClickHouse: s.Embedded.ClickHouse.Listen,
		})
	}}
	return standalone.Run(ctx, standalone.Options{Settings: s, Stdout: ready, Stderr: os.Stderr})
}

// freeAddr finds an address that nobody listens on.
func freeAddr(addr *string) error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	*addr = l.Addr().String()
	return l.Close()
}

// readyLine waits for the line that says that everything runs.
type readyLine struct {
	then func() error
	once sync.Once
}

// Write implements io.Writer.
func (r *readyLine) Write(p []byte) (n int, err error) {
	if bytes.Contains(p, []byte("millrace ready\n")) {
		r.once.Do(func() { err = r.then() })
	}
	return len(p), err
}

// stack is a running product with the data set.
type stack struct {
	*child

	key        string
	clickhouse config.ClickHouse
}

// startStack runs the product on both cores.
func startStack(ctx context.Context, folder string) (*stack, error) {
	c, err := spawn(ctx, coresBoth, job{Role: "stack", Folder: folder})
	if err != nil {
		return nil, err
	}
	env, err := standalone.DevEnv(folder)
	if err == nil && env["API_KEY"] == "" {
		err = fmt.Errorf("the dev.env of %s has no key", folder)
	}
	if err != nil {
		return nil, errors.Join(err, c.end())
	}
	s := &stack{child: c, key: env["API_KEY"], clickhouse: config.Default().ClickHouse}
	s.clickhouse.Addr = []string{c.ClickHouse}
	return s, nil
}
