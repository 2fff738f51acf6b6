// Command deps writes the deps.txt of each command: the modules of others that
// it links. Called with -check it writes nothing and fails when one differs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millrace/millrace/internal/archtest"
)

func main() {
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(context.Background(), ".", *check); err != nil {
		fmt.Fprintln(os.Stderr, "deps:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, check bool) error {
	commands, err := archtest.Commands(root)
	errs := []error{err}
	for _, c := range commands {
		if check {
			errs = append(errs, archtest.CheckDeps(ctx, root, c))
		} else {
			errs = append(errs, write(ctx, root, c))
		}
	}
	return errors.Join(errs...)
}

func write(ctx context.Context, root, command string) error {
	list, err := archtest.Modules(ctx, root, command)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, command, archtest.DepsFile), []byte(list), 0o644)
}
