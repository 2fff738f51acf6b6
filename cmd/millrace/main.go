// Command millrace is the operator's tool, and the whole product in one process:
// `millrace standalone`.
package main

import (
	"context"
	"os"

	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/app/standalone"
)

func main() {
	standalone.RunIfChild()
	ctx, stop := daemon.Signals(context.Background(), os.Exit)
	err := newRoot().ExecuteContext(ctx)
	code := ended(err, ctx.Err() != nil, os.Stderr)
	stop()
	os.Exit(code)
}
