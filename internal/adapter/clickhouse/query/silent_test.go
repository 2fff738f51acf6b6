package query

import (
	"io"
	"testing"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

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
