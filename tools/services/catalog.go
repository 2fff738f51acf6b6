package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/millrace/millrace/internal/testkit"
)

// recipe says how one kind of server is prepared and built.
type recipe struct {
	name string
	// prepare installs what the machine lacks.
	prepare func(ctx context.Context) error
	// build makes the server's files in a folder of its own below dir. The line
	// is what tells callers where it will listen.
	build func(ctx context.Context, dir string) (s *server, line string, err error)
}

var catalog = []recipe{
	{name: "kafka", prepare: prepareKafka, build: buildKafka},
	{name: "postgres", prepare: preparePostgres, build: buildPostgres},
	{name: "redis", prepare: prepareRedis, build: buildRedis},
}

// onRequest are servers that are started only when they are named.
var onRequest = []recipe{
	{name: "kafka-acl", prepare: prepareKafka, build: buildKafkaACL},
	{name: "kafka-tls", prepare: prepareKafka, build: buildKafkaTLS},
	{name: "postgres-tls", prepare: preparePostgres, build: buildPostgresTLS},
	{name: "redis-tls", prepare: prepareRedis, build: buildRedisTLS},
	{name: "kubernetes", prepare: prepareKubernetes, build: buildKubernetes},
}

// programs are what else -prepare installs, when it is named.
var programs = []recipe{
	{
		name:    "buildah",
		prepare: func(ctx context.Context) error { return install(ctx, tool{binary: "buildah", pkg: "buildah"}) },
	},
	{name: "jq", prepare: func(ctx context.Context) error { return install(ctx, tool{binary: "jq", pkg: "jq"}) }},
	{
		name:    "sqlite3",
		prepare: func(ctx context.Context) error { return install(ctx, tool{binary: "sqlite3", pkg: "sqlite3"}) },
	},
	{name: "chromium", prepare: func(ctx context.Context) error {
		return install(ctx, tool{binary: "chromium", pkg: "chromium"})
	}},
}

func prepareRedis(ctx context.Context) error {
	return install(ctx, tool{binary: "redis-server", pkg: "redis-server"})
}

func buildRedis(_ context.Context, dir string) (*server, string, error) {
	s, port, err := newRedis(dir, "redis")
	if err != nil {
		return nil, "", err
	}
	s.args = append(s.args, "--port", strconv.Itoa(port))
	return s, fmt.Sprintf("REDIS_URL=redis://127.0.0.1:%d", port), nil
}

// newRedis makes a server that is still to be told its port.
func newRedis(dir, name string) (*server, int, error) {
	port, err := testkit.ReservePort()
	if err != nil {
		return nil, 0, err
	}
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, 0, err
	}
	return &server{
		name:  name,
		ready: "Ready to accept connections",
		halt:  syscall.SIGTERM,
		log:   filepath.Join(dir, "redis.log"),
		path:  "redis-server",
		args:  []string{"--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no", "--databases", "16384"},
	}, port, nil
}

func preparePostgres(ctx context.Context) error {
	if _, err := postgresBinary("initdb"); err == nil {
		return nil
	}
	if err := install(ctx, tool{binary: "psql", pkg: "postgresql", always: true}); err != nil {
		return err
	}
	_, err := postgresBinary("initdb")
	return err
}

// postgresBinary finds a server program where Debian keeps it, out of PATH, or
// else in PATH.
func postgresBinary(name string) (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err == nil && len(found) > 0 {
		return found[len(found)-1], nil
	}
	return exec.LookPath(name)
}

func buildPostgres(ctx context.Context, dir string) (*server, string, error) {
	s, port, err := newPostgres(ctx, dir, "postgres", "-A", "trust")
	return s, fmt.Sprintf("POSTGRES_URL=postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port), err
}

// newPostgres makes a server with what initdb is told besides.
func newPostgres(ctx context.Context, dir, name string, init ...string) (*server, int, error) {
	port, err := testkit.ReservePort()
	if err != nil {
		return nil, 0, err
	}
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, 0, err
	}
	// PostgreSQL refuses to run as root.
	var as *syscall.Credential
	if os.Geteuid() == 0 {
		if as, err = credential("postgres"); err != nil {
			return nil, 0, err
		}
		if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
			return nil, 0, err
		}
	}
	initdb, err := postgresBinary("initdb")
	if err != nil {
		return nil, 0, err
	}
	postgres, err := postgresBinary("postgres")
	if err != nil {
		return nil, 0, err
	}
	data := filepath.Join(dir, "data")
	cmd := exec.CommandContext(ctx, initdb,
		append(init, "-D", data, "-U", "postgres", "-E", "UTF8", "--no-locale", "--no-sync")...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, 0, fmt.Errorf("running initdb: %w: %s", err, out)
	}
	return &server{
		name:  name,
		ready: "database system is ready to accept connections",
		halt:  syscall.SIGINT, // "fast": ends sessions, keeps data
		log:   filepath.Join(filepath.Dir(dir), name+".log"),
		path:  postgres,
		as:    as,
		args: []string{
			"-D", data, "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-k", dir,
			"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=500",
		},
	}, port, nil
}

// credential looks up a system user to run a server as.
func credential(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("looking up user %s: %w", name, err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("reading the uid of %s: %w", name, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("reading the gid of %s: %w", name, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
