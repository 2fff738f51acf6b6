package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// connections is how many a load has. Few carry the largest bodies: the server
// bounds what it takes at once.
const (
	connections      = 64
	largeConnections = 4
	largeBatch       = 1000
)

// spin is saturate with a load that never sleeps.
func spin(ctx context.Context, server *child, load job) (result, error) {
	before, err := server.cpuSeconds()
	if err != nil {
		return result{}, err
	}
	r, err := loop(ctx, coreAround, load)
	if err != nil {
		return result{}, err
	}
	after, err := server.cpuSeconds()
	r.CPUSeconds = after - before
	return r, err
}

// The load generator's script: every request is the same.
const wrkScript = `wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["X-Api-Key"] = %q
local f = assert(io.open(%q, "rb"))
wrk.body = f:read("*a")
f:close()
`

var (
	requestsPerSecond = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	badAnswers        = regexp.MustCompile(`Non-2xx or 3xx responses: \d+|Socket errors: .*`)
)

// saturate sends requests of so many events each to a server for some time, from
// the other core, with wrk: a closed loop over 64 connections, which is right for
// a server's peak and for nothing else. It returns events and processor time of
// the server per second.
func saturate(ctx context.Context, server *child, batch int, d time.Duration) (result, error) {
	dir, err := os.MkdirTemp("", "millrace-bench-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	body, script := filepath.Join(dir, "body.json"), filepath.Join(dir, "post.lua")
	err = errors.Join(
		os.WriteFile(body, trackBody(batch, time.Now()), 0o600),
		os.WriteFile(script, fmt.Appendf(nil, wrkScript, benchKey, body), 0o600),
	)
	if err != nil {
		return result{}, err
	}
	before, err := server.cpuSeconds()
	if err != nil {
		return result{}, err
	}
	if err := installWrk(ctx); err != nil {
		return result{}, err
	}
	lines := connections
	if batch >= largeBatch {
		lines = largeConnections
	}
	out, err := exec.CommandContext(ctx, "taskset", "-c", coreAround, "wrk",
		"-t1", "-c", strconv.Itoa(lines), "-d", fmt.Sprintf("%ds", int(d.Seconds())), "-s", script,
		"http://"+server.Addr+"/track?website_id="+benchWebsite).CombinedOutput()
	if err != nil {
		return result{}, fmt.Errorf("running wrk: %w: %s", err, out)
	}
	after, err := server.cpuSeconds()
	if err != nil {
		return result{}, err
	}
	if bad := badAnswers.Find(out); bad != nil {
		return result{}, fmt.Errorf("the server refused requests: %s", bad)
	}
	m := requestsPerSecond.FindSubmatch(out)
	if m == nil {
		return result{}, fmt.Errorf("wrk said %s", out)
	}
	rate, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		return result{}, err
	}
	seconds := d.Seconds()
	return result{Events: rate * float64(batch) * seconds, Seconds: seconds, CPUSeconds: after - before}, nil
}

// installWrk has tools/services install the load generator where it is missing.
func installWrk(ctx context.Context) error {
	if _, err := exec.LookPath("wrk"); err == nil {
		return nil
	}
	if out, err := exec.CommandContext(ctx, "go", "run", "./tools/services", "-prepare", "wrk").CombinedOutput(); err != nil {
		return fmt.Errorf("installing wrk: %w: %s", err, out)
	}
	return nil
}
