// Command rules writes deploy/prometheus/slo.yaml, the recording rules of the
// objectives, from one table: every objective over every window is one rule, and
// none may be forgotten. Called with -check it writes nothing and fails when the
// file is not as it would be written.
package main

import (
	"flag"
	"fmt"
	"os"
)

const file = "deploy/prometheus/slo.yaml"

func main() {
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "rules:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	want := render()
	if !check {
		return os.WriteFile(file, []byte(want), 0o644)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if string(got) != want {
		return fmt.Errorf("%s is out of date: run make generate", file)
	}
	return nil
}
