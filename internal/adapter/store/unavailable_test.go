package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/apikey"
)

func TestUnavailableTellsServersThatAreAwayFromWhatTheySay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("anything"), false},
		{apikey.ErrNotFound, false},
		{sql.ErrNoRows, false},
		{context.Canceled, false}, // the caller left
		{context.DeadlineExceeded, true},
		{&net.OpError{Op: "dial", Err: errors.New("connection refused")}, true},
		{io.ErrUnexpectedEOF, true},
		{&pgconn.PgError{Code: "57P01"}, true},
		{&pgconn.PgError{Code: "57014"}, true},
		{&pgconn.PgError{Code: "53300"}, true},
		{&pgconn.PgError{Code: "08006"}, true},
		{&pgconn.PgError{Code: "23505"}, false},
		{&pgconn.PgError{Code: "42P01"}, false},
		{&pgconn.PgError{Code: "5"}, false},
	} {
		if got := store.Unavailable(tc.err); got != tc.want {
			t.Errorf("Unavailable(%v) = %t, want %t", tc.err, got, tc.want)
		}
		if tc.err == nil {
			continue
		}
		if got := store.Unavailable(fmt.Errorf("listing websites: %w", tc.err)); got != tc.want {
			t.Errorf("Unavailable(%v), wrapped = %t, want %t", tc.err, got, tc.want)
		}
	}
}
