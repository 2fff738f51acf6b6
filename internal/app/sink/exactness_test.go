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

// look is one at two addresses, and where it may be at both together.
func look(errs ...error) (all schema.Findings) {
	for i, err := range errs {
		all = append(all, schema.Finding{Addr: []string{"a:9000", "b:9000", ""}[i], Err: err})
	}
	return all
}

func TestAServerThatIsNoLongerExactIsTold(t *testing.T) {
	t.Parallel()
	const a, b = "a:9000", "b:9000"
	away := errors.New("away")
	inexact := func(addr string) error {
		return fmt.Errorf("%s: %w: a table remembers nothing", addr, schema.ErrInexact)
	}
	apart := fmt.Errorf("%w: several servers", schema.ErrInexact)
	var findings schema.Findings
	log := &strings.Builder{}
	e := &exactness{
		check: func(context.Context, config.ClickHouse) schema.Findings { return findings },
		log:   slog.New(slog.NewTextHandler(log, nil)), found: map[string]error{},
	}
	for i, tc := range []struct {
		findings schema.Findings
		found    []string
		logs     string
	}{
		{look(nil, nil, nil), nil, ""},
		{look(away, away), nil, ""},
		{look(nil, inexact(b)), []string{b}, "level=ERROR"},
		{look(nil, inexact(b)), []string{b}, ""}, // once
		{look(away, away), []string{b}, ""},
		{look(nil, away), []string{b}, ""}, // nothing was mended
		{look(inexact(a), away), []string{a, b}, "level=ERROR"},
		{look(nil, away), []string{b}, "level=ERROR"},
		{look(away, nil), nil, "again"},
		{look(nil, nil, apart), []string{"several"}, "level=ERROR"},
		{look(nil, away), []string{"several"}, ""},
		{look(nil, nil, nil), nil, "again"},
	} {
		log.Reset()
		findings = tc.findings
		e.look(t.Context())
		err := e.Ready(t.Context())
		if (err != nil) != (tc.found != nil) || (e.inexact() == 1) != (tc.found != nil) {
			t.Errorf("look %d: Ready() = %v", i, err)
		}
		for _, each := range tc.found {
			if err == nil || !strings.Contains(err.Error(), each) {
				t.Errorf("look %d: Ready() = %v, without %s", i, err, each)
			}
		}
		if out := log.String(); !strings.Contains(out, tc.logs) || tc.logs == "" && out != "" {
			t.Errorf("look %d logs %q, want %q", i, out, tc.logs)
		}
	}
}
