package schema

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/platform/config"
)

// Finding is what a look at one address brought, or with an empty Addr one at all of them
// together.
type Finding struct {
	Addr string
	// Err is nil where everything is in force. One that wraps ErrInexact names the table or
	// setting, what it is and what to do. Any other says that it could not be found out.
	Err error
}

// Findings are those of one look, of each address, and last of all together where that could
// be found out.
type Findings []Finding

// CheckExactness reports whether everything on the servers that exactly once
// relies on is in force, at every address that answers. It stands beside Check at
// the start of a sink, which looks again now and then: an address that was away may
// answer since. An error that wraps ErrInexact names the table or setting, what it is and
// what to do. Any other says that it could not be found out, such as from servers that
// are about to end: ask again.
func CheckExactness(ctx context.Context, cfg config.ClickHouse) error {
	return Exactness(ctx, cfg).Err()
}

// Exactness looks at every address by itself, and at all of them together where none is
// inexact.
func Exactness(ctx context.Context, cfg config.ClickHouse) (all Findings) {
	for i, addr := range cfg.Addr {
		all = append(all, Finding{addr, named(cfg, addr, exactAt(ctx, cfg, addr, len(cfg.Addr)-i))})
	}
	silent := all.silent()
	if len(silent) == len(all) || all.inexact() != nil {
		return all
	}
	err := CheckServers(ctx, cfg)
	if err == nil && len(silent) > 0 {
		return all // of those that are away nobody knows where they lead
	}
	return append(all, Finding{Err: err})
}

// named says of which address an error is, where there are several.
func named(cfg config.ClickHouse, addr string, err error) error {
	switch {
	case err == nil, errors.Is(err, ErrInexact) && len(cfg.Addr) == 1:
		return err
	case errors.Is(err, ErrInexact):
		return fmt.Errorf("%s: %w", addr, err)
	}
	return fmt.Errorf("querying ClickHouse at %s: %w", addr, err)
}

// Err is nil where everything is in force at those that answer; else what is not, or why
// nothing could be found out.
func (all Findings) Err() error {
	if len(all) == 0 {
		return clickhouse.ErrNoAddress
	}
	if err := all.inexact(); err != nil {
		return err
	}
	silent := all.silent()
	switch last := all[len(all)-1]; {
	case last.Addr == "":
		return last.Err
	case len(silent) < len(all):
		return nil
	}
	return errors.Join(silent...)
}

// inexact returns the first error that wraps ErrInexact.
func (all Findings) inexact() error {
	for _, f := range all {
		if errors.Is(f.Err, ErrInexact) {
			return f.Err
		}
	}
	return nil
}

// silent returns why addresses could not be looked at.
func (all Findings) silent() (errs []error) {
	for _, f := range all {
		if f.Err != nil && !errors.Is(f.Err, ErrInexact) {
			errs = append(errs, f.Err)
		}
	}
	return errs
}
