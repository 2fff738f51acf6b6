// Command release makes what is published of a version, in one folder: an archive
// of the programs for each platform, the images as files, the packaged chart, a
// list of all parts (SBOM), and the checksums of all of these.
//
// The same sources make the same bytes: times are those of SOURCE_DATE_EPOCH, else
// of the last commit, and paths of this machine stay out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/tools/thirdparty"
)

// release is what the steps need to know.
type release struct {
	root      string
	out       string
	version   string // without the v
	revision  string // the commit; empty outside a repository
	time      time.Time
	platforms []string
	images    []string
	glibcBase string
	// buildFlags keep paths of this machine out of the programs; with or without make, they
	// are the same.
	buildFlags []string
	parts      []thirdparty.Part
}

// step makes something below out.
type step struct {
	name string
	make func(ctx context.Context, r *release) error
}

var steps = []step{
	{"programs", buildPrograms},
	{"archives", makeArchives},
	{"chart", packageChart},
	{"list of parts", writeSBOM},
	{"images", makeImages},
	{"checksums", writeChecksums},
}

func main() {
	r := &release{root: ".", buildFlags: []string{"-trimpath", "-gcflags=all=-dwarf=false"}}
	flag.StringVar(&r.version, "version", "", "version to release, such as v1.2.3 (required)")
	flag.StringVar(&r.out, "out", "dist", "folder to write, which is emptied first")
	flag.StringVar(&r.glibcBase, "glibc-base", "",
		"base of the standalone image; empty means that of deploy/docker/Dockerfile")
	platforms := flag.String("platforms", strings.Join(thirdparty.Platforms, ","),
		"platforms of the archives; those of linux get images")
	images := flag.String("images", "daemons,standalone",
		"images to build, by their target in deploy/docker/Dockerfile; empty for none")
	flag.Parse()
	r.platforms, r.images = split(*platforms), split(*images)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, r); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1) //nolint:gocritic // the signal handler ends with the process
	}
}

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// semantic is a version as tags, charts and images take it.
var semantic = regexp.MustCompile(`^v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$`)

func run(ctx context.Context, r *release) error {
	m := semantic.FindStringSubmatch(r.version)
	if m == nil {
		return fmt.Errorf("VERSION=%q is no version such as v1.2.3", r.version)
	}
	r.version = m[1]
	if err := r.identify(ctx); err != nil {
		return err
	}
	var err error
	if r.parts, err = thirdparty.Parts(ctx, r.root); err != nil {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	for _, s := range steps {
		fmt.Fprintln(os.Stderr, "… "+s.name)
		if err := s.make(ctx, r); err != nil {
			return fmt.Errorf("making the %s: %w", s.name, err)
		}
	}
	return nil
}

// identify finds the commit and the time that everything is dated with.
func (r *release) identify(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "git", "log", "-1", "--format=%H %ct")
	cmd.Dir = r.root
	out, err := cmd.Output()
	var seconds string
	if err == nil {
		r.revision, seconds, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	}
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds = epoch
	}
	if seconds == "" {
		return errors.New(
			"this is no git repository: set SOURCE_DATE_EPOCH to the seconds since 1970 that the files are dated with")
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %q is no number of seconds", seconds)
	}
	r.time = time.Unix(n, 0).UTC()
	return nil
}

// tag is the version as tags have it.
func (r *release) tag() string { return "v" + r.version }

// path returns a path below the folder of the release.
func (r *release) path(names ...string) string {
	return filepath.Join(append([]string{r.out}, names...)...)
}
