package chserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/adapter/embedded/chlibrary"
)

// shelter is what keeps clients from ending the library.
//
// clickhouse-local, unlike the server program, ends the whole process at any
// exception that leaves the handler of a connection: a client that reset it, a
// password that is wrong, a database that does not exist. It takes 4 s to end, takes
// connections meanwhile, and answers them with 236 (ABORTED). It does not when it is
// used by a person, which it knows by a terminal as its standard input and
// --interactive.
type shelter int

const (
	unsheltered shelter = iota // the library has the mend
	terminal                   // it believes that a person uses it
	relayed                    // it never hears of such clients
)

// The first version that logs such an exception and goes on, as the server program
// does (ClickHouse/ClickHouse pull request 115715). 26.8.1 has the defect; that 26.8
// got the mend later is not known.
const mendedMajor, mendedMinor = 26, 9

// mended reports whether a version such as 26.7 needs no shelter. A library that the
// settings name has no version that is known before it runs; it is taken for the
// packaged one, because a shelter that is not needed does no harm.
func mended(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	return errA == nil && errB == nil && (a > mendedMajor || a == mendedMajor && b >= mendedMinor)
}

// input is the standard input of a child, which ends when near is closed or the
// process that holds it has ended; far is the child's side.
type input struct{ near, far *os.File }

func (in input) close() error { return errors.Join(in.near.Close(), in.far.Close()) }

func openPipe() (in input, err error) {
	if in.far, in.near, err = os.Pipe(); err != nil {
		return in, fmt.Errorf("creating a pipe: %w", err)
	}
	return in, nil
}

// takeShelter opens the input of a child and says what protects it. Where there is no
// terminal to be had, as in a container without /dev/pts, it is the relay, which
// costs a copy of all that passes.
func (s *Server) takeShelter(ctx context.Context) (input, shelter, error) {
	of := unsheltered
	if s.engine.library != "" && !mended(chlibrary.EngineVersion) {
		of = relayed
		if !s.cfg.withoutTerminal {
			in, err := openTerminal()
			if err == nil {
				return in, terminal, nil
			}
			s.cfg.Log.LogAttrs(ctx, slog.LevelDebug, "no terminal for the embedded ClickHouse, using a relay process",
				slog.Any("reason", err))
		}
	}
	in, err := openPipe()
	return in, of, err
}
