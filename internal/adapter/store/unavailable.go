package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/millrace/millrace/internal/platform/credential"
)

// Unavailable reports whether err says that a server cannot be asked now and may
// be later: it is away, starts or ends, has no room, or did not answer in time.
// What a server says about a statement is none of these.
func Unavailable(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return postgresAway(e.Code)
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return busy(e)
	}
	// A password or a certificate that is being replaced.
	if credential.Rejected(err) {
		return true
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	// A connection that breaks off shows in more than one way.
	for _, broken := range []error{driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF, context.DeadlineExceeded} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return pgconn.SafeToRetry(err)
}

// busy reports whether another connection holds the file.
func busy(e *sqlite.Error) bool {
	code := e.Code() & 0xff // the rest tells kinds of it apart
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
}

// postgresAway reads an SQLSTATE: by its class, or one of those that a server
// sends when it ends, starts or has waited too long.
func postgresAway(code string) bool {
	if len(code) != 5 {
		return false
	}
	switch code[:2] {
	case "08", "53": // connections, resources
		return true
	}
	switch code {
	case "57P01", "57P02", "57P03", "57P05", // ends, crashed, starts, idle too long
		"57014", "55P03", "25P03": // a statement, a lock, a transaction took too long
		return true
	}
	return false
}
