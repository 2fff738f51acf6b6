// Command clickhouse fetches the library of the embedded ClickHouse into the user's
// cache folder, unless it is there already. `make run` and `make test` call it
// through `make clickhouse`.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/millrace/millrace/internal/adapter/embedded/chlibrary"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "clickhouse:", err)
		os.Exit(1) //nolint:gocritic // the signal handler ends with the process
	}
}

func run(ctx context.Context) error {
	if _, err := chlibrary.Find(""); err == nil {
		return nil
	}
	dir, err := chlibrary.Folder()
	if err != nil {
		return err
	}
	_, err = chlibrary.Install(ctx, dir, func(line string) { fmt.Fprintln(os.Stderr, line) })
	return err
}
