// Command voice checks the language of the documents, and of the product's texts that it reads from
// tools/texts, by the rules of .vale.ini. A file may have as many findings of a rule as
// .vale/baseline.txt allows, and none without an entry. With -lower it lowers the baseline to what
// it found. It writes a new baseline if the file is missing.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
)

const baselineFile = ".vale/baseline.txt"

func main() {
	vale := flag.String("vale", "vale", "path of Vale")
	lower := flag.Bool("lower", false, "lower the baseline instead of comparing with it")
	flag.Parse()
	if err := run(context.Background(), *vale, *lower, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "voice:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, vale string, lower bool, texts io.Reader, out io.Writer) error {
	docs, err := documents(".")
	if err != nil {
		return err
	}
	found, err := check(ctx, vale, ".", docs, texts)
	if err != nil {
		return err
	}
	allowed, err := readBaseline(baselineFile)
	fresh := errors.Is(err, os.ErrNotExist)
	switch {
	case err != nil && !fresh:
		return err
	case fresh || lower:
		return writeBaseline(baselineFile, lowered(allowed, found, fresh))
	}
	if n := report(out, found, allowed); n > 0 {
		return fmt.Errorf("%d texts break a rule of the language (CONTRIBUTING.md)", n)
	}
	return nil
}

// report prints the findings of each file and rule that exceed the baseline, and returns the excess.
// It lists all findings of the file and rule, as it does not know which of them are new.
func report(out io.Writer, found []finding, allowed baseline) (excess int) {
	slices.SortFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.rule, b.rule), cmp.Compare(a.line, b.line))
	})
	counts := count(found)
	var last key
	for _, f := range found {
		over := counts[f.key] - allowed[f.key]
		if over <= 0 {
			continue
		}
		if f.key != last {
			fmt.Fprintf(out, "%s: %d findings of %s; at most %d are allowed\n", f.path, counts[f.key], f.rule, allowed[f.key])
			excess += over
			last = f.key
		}
		fmt.Fprintf(out, "  %s:%d: %s\n", f.path, f.line, f.message)
	}
	return excess
}
