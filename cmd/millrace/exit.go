package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// interruptedCode is what a command ends with that was interrupted: what a
// shell says of one that Ctrl-C has ended.
const interruptedCode = 130

// ended says what went wrong, and returns what the process ends with. A command that goes on
// until it is stopped returns no error then. Every other one has left something undone, which
// a script, or a job that was moved to another node, must not take for done.
func ended(err error, stopped bool, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	text, code := said(err), 1
	if stopped && errors.Is(err, context.Canceled) {
		text, code = "interrupted: "+text, interruptedCode
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintln(stderr, "millrace:", line)
		}
	}
	if e, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err); ok {
		code = e.ExitCode()
	}
	return code
}

// said is what an error tells whoever typed the command: an API error's message, which
// says what to do, without its code.
func said(err error) string {
	f, ok := errors.AsType[*apierr.Error](err)
	if !ok || f.Message == "" {
		return err.Error()
	}
	return strings.ReplaceAll(err.Error(), f.Error(), f.Message)
}
