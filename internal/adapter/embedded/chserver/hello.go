//go:build (linux || darwin) && !nolibrary

package chserver

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go/proto"
)

const (
	// helloWait is how long a client may take to say who it is.
	helloWait = time.Minute
	// maxHelloField bounds one name in a Hello, in bytes.
	maxHelloField = 4 << 10
)

var errNoHello = errors.New("not a Hello packet of the native protocol")

// hello is who a client says it is, and for which database it comes.
type hello struct {
	database, user, password string
}

// readHello reads the first packet of a native connection: its code, the name and
// three versions of the client, the database, the user and the password, each
// string with its length before it.
func readHello(r *bufio.Reader) (h hello, err error) {
	if code, err := binary.ReadUvarint(r); err != nil || code != uint64(proto.ClientCodeHello) {
		return h, errNoHello
	}
	if _, err = readText(r); err != nil { // its name
		return h, err
	}
	for range 3 { // its versions
		if _, err = binary.ReadUvarint(r); err != nil {
			return h, err
		}
	}
	for _, field := range []*string{&h.database, &h.user, &h.password} {
		if *field, err = readText(r); err != nil {
			return h, err
		}
	}
	return h, nil
}

// readText reads one string.
func readText(r *bufio.Reader) (string, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return "", err
	}
	if n > maxHelloField {
		return "", fmt.Errorf("%w: its name has %d bytes; at most %d are allowed", errNoHello, n, maxHelloField)
	}
	text := make([]byte, n)
	_, err = io.ReadFull(r, text)
	return string(text), err
}

// greeter is what the native relay asks before it lets a client in.
//
// A client that the library turns away, for its password, its database or a first
// packet that makes no sense, ends the whole process as a reset does. The HTTP
// side answers the same question with an ordinary error.
type greeter struct {
	url  string
	http *http.Client
}

// newGreeter asks at the inner address of the HTTP side.
func newGreeter(addr string) *greeter {
	return &greeter{url: "http://" + addr + "/", http: &http.Client{Timeout: helloWait}}
}

// admit reads the Hello of a client and returns every byte that it took for it. On
// an error the client has been told why, if there is something to tell.
func (g *greeter) admit(client net.Conn) ([]byte, error) {
	if err := client.SetReadDeadline(time.Now().Add(helloWait)); err != nil {
		return nil, err
	}
	var said bytes.Buffer
	h, err := readHello(bufio.NewReader(io.TeeReader(client, &said)))
	if err != nil {
		return nil, err
	}
	rejection, err := g.ask(h)
	if err != nil {
		return nil, err
	}
	if rejection != nil {
		var b proto.Buffer
		proto.ServerCodeException.Encode(&b)
		rejection.EncodeAware(&b, 0)
		_, _ = client.Write(b.Buf) // it may be gone by now
		return nil, fmt.Errorf("refused: %s", rejection.Message)
	}
	return said.Bytes(), client.SetReadDeadline(time.Time{})
}

// busy are the errors that are about the moment, not about the client.
var busy = []proto.Error{proto.ErrTooManySimultaneousQueries, proto.ErrMemoryLimitExceeded, proto.ErrTimeoutExceeded}

// explained takes a message of the HTTP side apart: code, text, name of the code and
// version. The native protocol says the text alone.
var explained = regexp.MustCompile(`(?s)^Code: \d+\. (.*?)\.?(?: \([A-Z_]+\))?(?: \(version .*\))?\s*$`)

// ask returns what the library has against such a client, nil for nothing.
func (g *greeter) ask(h hello) (*proto.Exception, error) {
	query := url.Values{"query": {"SELECT 1"}}
	if h.database != "" {
		query.Set("database", h.database)
	}
	//nolint:gosec,noctx // our own child on loopback; the client has a timeout
	req, err := http.NewRequest(http.MethodGet, g.url+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-ClickHouse-User", h.user)
	req.Header.Set("X-ClickHouse-Key", h.password)
	res, err := g.http.Do(req) //nolint:gosec // as above
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode == http.StatusOK {
		return nil, err
	}
	code, err := strconv.ParseInt(res.Header.Get("X-ClickHouse-Exception-Code"), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("ClickHouse returned %s", res.Status)
	}
	if slices.Contains(busy, proto.Error(code)) {
		return nil, nil //nolint:nilnil // nil means let in
	}
	message := strings.TrimSpace(string(text))
	if m := explained.FindStringSubmatch(message); m != nil {
		message = strings.TrimSpace(m[1])
	}
	return &proto.Exception{Code: proto.Error(code), Name: "DB::Exception", Message: message}, nil
}
