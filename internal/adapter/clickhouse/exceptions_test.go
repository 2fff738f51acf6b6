package clickhouse

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/testkit"
)

// refuser stands before a server and answers what has a word in it itself, with the
// exceptions that are left to it; then the server does.
type refuser struct {
	net.Listener
	server string
	word   []byte

	mu   sync.Mutex
	left []proto.Error
	said int
}

// silence is the exception of a server that hangs: none, for ever.
const silence proto.Error = -1

// rejected returns the settings of cfg by way of a refuser.
func rejected(t *testing.T, cfg config.ClickHouse, word string, codes ...proto.Error) (config.ClickHouse, *refuser) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &refuser{Listener: l, server: cfg.Addr[0], word: []byte(word), left: codes}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { r.serve(client) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	cfg.Addr = []string{l.Addr().String()}
	return cfg, r
}

func (r *refuser) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", r.server)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		defer client.Close()
		_, _ = io.Copy(client, server)
	}()
	packets := make([]byte, 1<<20) // a statement comes in one piece
	for {
		n, err := client.Read(packets)
		if err != nil {
			return
		}
		if code, ok := r.next(packets[:n]); code == silence {
			continue
		} else if ok {
			var b proto.Buffer
			proto.ServerCodeException.Encode(&b)
			(&proto.Exception{Code: code, Name: "DB::Exception", Message: "DB::Exception: made up"}).EncodeAware(&b, proto.Version)
			_, _ = client.Write(b.Buf)
			return
		}
		if _, err := server.Write(packets[:n]); err != nil {
			return
		}
	}
}

func (r *refuser) next(packet []byte) (proto.Error, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.left) == 0 || !bytes.Contains(packet, r.word) {
		return 0, false
	}
	code := r.left[0]
	r.left = r.left[1:]
	r.said++
	return code, true
}

// response gives it more exceptions.
func (r *refuser) response(codes ...proto.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, codes...)
}

// met returns how many it has answered.
func (r *refuser) met() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said
}

// What a server that is going down answers is no statement about a profile: a sink
// that starts then waits, and goes on when the server is back.
func TestASinkWaitsOutAServerThatIsGoingDown(t *testing.T) {
	t.Parallel()
	going := []proto.Error{proto.ErrAborted, proto.ErrAborted, proto.ErrTooManySimultaneousQueries, proto.ErrMemoryLimitExceeded, proto.ErrNetworkError, proto.ErrTimeoutExceeded}
	migrated := migrated(t) // which the checks only read
	for _, word := range []string{"getSetting(", "system.settings", "schema_migrations", "system.columns", "system.databases"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			cfg, r := rejected(t, migrated, word, going...)
			log := testkit.NewLog(t, "log")
			if err := lifecycle.AwaitServers(t.Context(), log.Logger(), new(lifecycle.Readiness), Awaited(cfg, CheckExactness)); err != nil {
				t.Errorf("the wait ends with %v", err)
			}
			if r.said != len(going) {
				t.Errorf("%d of %d exceptions were met; the test shows nothing", r.said, len(going))
			}
			if !log.Contains("waiting for a server") {
				t.Error("nothing tells of the wait")
			}
		})
	}
}

func TestASettingThatTheProfileForbidsEndsASink(t *testing.T) {
	t.Parallel()
	migrated := migrated(t)
	for _, code := range []proto.Error{proto.ErrReadonly, proto.ErrSettingConstraintViolation, proto.ErrUnknownSetting} {
		t.Run(strconv.Itoa(int(code)), func(t *testing.T) {
			t.Parallel()
			cfg, _ := rejected(t, migrated, "getSetting(", code)
			err := lifecycle.AwaitServers(t.Context(), testkit.NewLog(t, "log").Logger(), new(lifecycle.Readiness), Awaited(cfg, CheckExactness))
			if !errors.Is(err, ErrInexact) || !strings.Contains(err.Error(), "user default may not set insert_deduplication_token to \"a token\"") {
				t.Errorf("the wait ends with %v, want ErrInexact with the user and the setting", err)
			}
		})
	}
}

// An exception says that the server is there, but for one: that it is going down.
func TestOnlyAServerThatIsGoingDownIsSilentWithAnException(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{io.EOF, true},
		{&ch.Exception{Code: proto.ErrAborted}, true},
		{&ch.Exception{Code: proto.ErrUnknownTable}, false},
		{&ch.Exception{Code: proto.ErrTooManySimultaneousQueries}, false},
		{errColumns, false},
	} {
		if got := silent(tc.err); got != tc.want {
			t.Errorf("silent(%v) = %v, want %v", tc.err, got, tc.want)
		}
	}
}
