// Command tracker builds the browser tracker: web/tracker/dist from web/tracker/src,
// with the packages of npm that its lock file names. Called with -check it writes
// nothing and fails when a committed file is not what would be built. With -keep it
// puts the built files among those that are served for ever, with -kept it fails
// unless they are there: what a release must not forget.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millrace/millrace/web/tracker"
)

// home is where the tracker lives, from the root of the repository.
const home = "web/tracker"

func main() {
	check := flag.Bool("check", false, "compare instead of writing")
	keep := flag.Bool("keep", false, "keep the built files for ever, as part of a release")
	kept := flag.Bool("kept", false, "fail unless the built files are kept")
	flag.Parse()
	var err error
	switch {
	case *keep:
		err = keepFiles(home, tracker.Current())
	case *kept:
		err = checkKept(home, tracker.Current())
	default:
		err = build(".", *check)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tracker:", err)
		os.Exit(1)
	}
}

// build builds the files of the repository at root, and writes or compares them.
func build(root string, check bool) error {
	w, err := openWorkshop(root)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.run("node", "build.mjs", "dist"); err != nil {
		return err
	}
	var errs []error
	for _, name := range []string{tracker.ScriptName, tracker.ExtraName} {
		built, err := os.ReadFile(filepath.Join(w.dir, "dist", name))
		if err != nil {
			return err
		}
		path := filepath.Join(root, home, "dist", name)
		if !check {
			errs = append(errs, os.WriteFile(path, built, 0o644))
			continue
		}
		committed, err := os.ReadFile(path)
		if err == nil && !bytes.Equal(committed, built) {
			err = fmt.Errorf("%s is out of date: run make generate", path)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// keepFiles puts files among the kept ones.
func keepFiles(home string, files []*tracker.File) error {
	for _, f := range files {
		if err := os.WriteFile(keptPath(home, f), f.Content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// checkKept returns an error unless each file is among the kept ones.
func checkKept(home string, files []*tracker.File) error {
	for _, f := range files {
		if _, err := os.Stat(keptPath(home, f)); err != nil {
			return fmt.Errorf("%s is not kept for pages that will name it: run make keep-tracker and commit (%w)", f.Hashed, err)
		}
	}
	return nil
}

func keptPath(home string, f *tracker.File) string { return filepath.Join(home, "kept", f.Hashed) }
