package clickhousetest

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/platform/config"
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

// Silence is the exception of a server that hangs: none, for ever.
const Silence proto.Error = -1

// Rejected returns the settings of cfg by way of a refuser.
func Rejected(t *testing.T, cfg config.ClickHouse, word string, codes ...proto.Error) (config.ClickHouse, *refuser) {
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
		if code, ok := r.next(packets[:n]); code == Silence {
			continue
		} else if ok {
			var b proto.Buffer
			proto.ServerCodeException.Encode(&b)
			(&proto.Exception{Code: code, Name: "DB::Exception", Message: "DB::Exception: made up"}).EncodeAware(&b,
				proto.Version)
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

// RespondWith gives it more exceptions to answer with.
func (r *refuser) RespondWith(codes ...proto.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, codes...)
}

// Met returns how many it has answered.
func (r *refuser) Met() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said
}
