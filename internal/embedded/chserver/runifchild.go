package chserver

import (
	"fmt"
	"os"
)

// RunIfChild serves and ends the process when this program was started as the
// child of Start; else it returns at once. Call it first in main and TestMain.
func RunIfChild() {
	if len(os.Args) < 3 {
		return
	}
	var err error
	switch os.Args[1] {
	case modeLibrary:
		err = serveLibrary(os.Args[2], os.Args[3:])
	case modeBinary:
		err = serveBinary(os.Args[2:])
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
