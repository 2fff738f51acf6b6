//go:build !nolibrary

package chserver

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openTerminal makes a pseudo-terminal whose far side is a child's standard input.
// Closing the near side, or the end of the process that holds it, hangs up: the
// child's read then ends, as that of a pipe does.
//
// Nothing reads the near side. Whoever does has to mind that closing an os.File
// waits for a read that is under way, which a terminal never ends by itself.
//
// What is typed already is for a server that could not listen: it goes on to its
// prompt as if a person were there, and would stay. One that listens reads the line
// as a row of its last statement, which keeps none.
func openTerminal() (in input, err error) {
	near, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return in, fmt.Errorf("opening a pseudo-terminal: %w", err)
	}
	in.near = os.NewFile(uintptr(near), "/dev/ptmx")
	defer func() {
		if err != nil {
			err = errors.Join(err, in.near.Close())
		}
	}()
	if err := unix.IoctlSetPointerInt(near, unix.TIOCSPTLCK, 0); err != nil {
		return in, fmt.Errorf("unlocking a pseudo-terminal: %w", err)
	}
	number, err := unix.IoctlGetUint32(near, unix.TIOCGPTN)
	if err != nil {
		return in, fmt.Errorf("reading the number of a pseudo-terminal: %w", err)
	}
	path := fmt.Sprintf("/dev/pts/%d", number)
	far, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return in, fmt.Errorf("opening %s: %w", path, err)
	}
	in.far = os.NewFile(uintptr(far), path)
	if _, err := in.near.WriteString("exit\n"); err != nil {
		return in, errors.Join(fmt.Errorf("writing to a pseudo-terminal: %w", err), in.far.Close())
	}
	return in, nil
}
