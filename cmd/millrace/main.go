// Command millrace is the operator's tool, and the whole product in one process:
// `millrace standalone`.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/app/standalone"
	"github.com/millrace/millrace/internal/contract/apierr"
)

func main() {
	standalone.RunIfChild()
	ctx, stop := daemon.Signals(context.Background(), os.Exit)
	err := newRoot().ExecuteContext(ctx)
	stopped := ctx.Err() != nil && errors.Is(err, context.Canceled)
	stop()
	if err == nil || stopped {
		return
	}
	for line := range strings.Lines(said(err)) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintln(os.Stderr, "millrace:", line)
		}
	}
	code := 1
	if e, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err); ok {
		code = e.ExitCode()
	}
	os.Exit(code)
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
