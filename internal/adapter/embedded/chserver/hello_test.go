//go:build (linux || darwin) && !nolibrary

package chserver

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ClickHouse/ch-go/proto"
)

func TestAHelloIsReadUpToItsBounds(t *testing.T) {
	t.Parallel()
	read := func(h proto.ClientHello) (hello, error) {
		var b proto.Buffer
		h.Encode(&b)
		return readHello(bufio.NewReader(bytes.NewReader(b.Buf)))
	}
	longest := strings.Repeat("x", maxHelloField)
	got, err := read(
		proto.ClientHello{Name: "client", Major: 26, ProtocolVersion: 54460, Database: longest, User: "u", Password: longest})
	if want := (hello{database: longest, user: "u", password: longest}); err != nil || got != want {
		t.Errorf("at the limit: %v, database of %d bytes, user %q, password of %d bytes",
			err, len(got.database), got.user, len(got.password))
	}
	for name, h := range map[string]proto.ClientHello{
		"name": {Name: longest + "x"}, "database": {Database: longest + "x"}, "user": {User: longest + "x"},
		"password": {Password: longest + "x"},
	} {
		if _, err := read(h); !errors.Is(err, errNoHello) {
			t.Errorf("a %s beyond the limit: %v, want %v", name, err, errNoHello)
		}
	}
}
