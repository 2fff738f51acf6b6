// Command fuzz runs every fuzz target of the repository for some seconds each, one
// after the other, and fails at the first that finds something.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
)

var targetOf = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

func main() {
	seconds := flag.Int("seconds", 30, "time for each target")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, ".", *seconds)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, seconds int) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules":
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range targetOf.FindAllStringSubmatch(string(src), -1) {
			if err := fuzz(ctx, filepath.Dir(path), m[1], seconds); err != nil {
				return fmt.Errorf("%s in %s: %w", m[1], filepath.Dir(path), err)
			}
		}
		return nil
	})
}

func fuzz(ctx context.Context, dir, target string, seconds int) error {
	fmt.Printf("%s in %s\n", target, dir)
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+target+"$", "-fuzztime",
		fmt.Sprintf("%ds", seconds), ".")
	cmd.Dir = dir // which may belong to a module of its own
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
