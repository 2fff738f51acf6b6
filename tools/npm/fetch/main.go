// Command fetch installs into the user's cache what generators and tests need of npm,
// unless it is there.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tools/npm"
)

// pins are the folders of lock files, by the names that the packages have in the cache.
var pins = map[string]string{
	"tracker":      "web/tracker",
	"topicgen":     "tools/topicgen/npm",
	"openfeature":  "tests/system/browser/openfeature",
	"flagmanagers": "tests/system/browser/flagmanagers",
	"mcpclient":    "internal/testkit/mcpclient",
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		os.Exit(1) //nolint:gocritic // the signal handler ends with the process
	}
}

func run(ctx context.Context) error {
	root, err := testkit.ModuleRoot()
	if err != nil {
		return err
	}
	for name, folder := range pins {
		if _, err := npm.Install(ctx, name, os.DirFS(filepath.Join(root, folder))); err != nil {
			return err
		}
	}
	return nil
}
