package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/platform/config"
)

func TestAServerThatIsNoLongerExactIsTold(t *testing.T) {
	t.Parallel()
	var response error
	log := &strings.Builder{}
	e := &exactness{
		check: func(context.Context, config.ClickHouse) error { return response },
		log:   slog.New(slog.NewTextHandler(log, nil)),
	}
	inexact := fmt.Errorf("%w: table events remembers nothing", schema.ErrInexact)
	for i, tc := range []struct {
		response error
		found    bool
		logs     string
	}{
		{nil, false, ""},
		{errors.New("away"), false, ""},
		{inexact, true, "level=ERROR"},
		{inexact, true, ""}, // once
		{errors.New("away"), true, ""},
		{nil, false, "again"},
	} {
		log.Reset()
		response = tc.response
		e.look(t.Context())
		if err := e.Ready(t.Context()); (err != nil) != tc.found || e.inexact() == 1 != tc.found {
			t.Errorf("look %d: Ready() = %v", i, err)
		}
		if out := log.String(); !strings.Contains(out, tc.logs) || tc.logs == "" && out != "" {
			t.Errorf("look %d logs %q, want %q", i, out, tc.logs)
		}
	}
}
