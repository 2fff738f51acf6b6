package chserver

import (
	"errors"
	"fmt"
	"os"
)

// errSaid is the error of a server that has written itself why it ended.
var errSaid = errors.New("the server exited")

// RunIfChild serves and ends the process when this program was started as the
// child of Start; else it returns at once. Call it first in main and TestMain.
func RunIfChild() {
	if len(os.Args) < 3 {
		return
	}
	var err error
	switch {
	case os.Args[1] == modeLibrary && len(os.Args) > 3:
		err = serveLibrary(os.Args[2], os.Args[3:])
	case os.Args[1] == modeRelayed && len(os.Args) > 5:
		err = relayLibrary(os.Args[2], os.Args[3], os.Args[4], os.Args[5:])
	case os.Args[1] == modeBinary:
		err = serveBinary(os.Args[2:])
	default:
		return
	}
	if errors.Is(err, errSaid) {
		os.Exit(1)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
