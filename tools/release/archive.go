package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/millrace/millrace/tools/thirdparty"
)

// entry is one file of an archive: a file of this machine, or a text.
type entry struct {
	name string // in the archive
	from string
	text string
	mode int64
}

// licencesFile is the texts of the licences of what others have made.
const licencesFile = "THIRD_PARTY_LICENSES"

// papers are what of the repository goes into every archive.
var papers = []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "SECURITY.md"}

// makeArchives makes millrace_1.2.3_linux_amd64.tar.gz and its like.
func makeArchives(_ context.Context, r *release) error {
	commands, err := r.commandNames()
	if err != nil {
		return err
	}
	for _, platform := range r.platforms {
		folder := fmt.Sprintf("millrace_%s_%s", r.version, strings.ReplaceAll(platform, "/", "_"))
		entries := []entry{{name: folder + "/" + licencesFile, text: thirdparty.Texts(r.parts), mode: 0o644}}
		for _, p := range papers {
			entries = append(entries, entry{name: folder + "/" + p, from: filepath.Join(r.root, p), mode: 0o644})
		}
		for _, c := range commands {
			entries = append(entries, entry{name: folder + "/" + c, from: r.path(programsDir, platform, c), mode: 0o755})
		}
		if err := writeArchive(r.path(folder+".tar.gz"), r.time, entries); err != nil {
			return err
		}
	}
	return nil
}

// writeArchive writes a tar.gz that depends on nothing but its arguments: no
// owner, no time and no mode of this machine.
func writeArchive(file string, at time.Time, entries []entry) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	zw, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(writeTar(zw, at, entries), zw.Close())
}

// writeTar is writeArchive without the compression.
func writeTar(w io.Writer, at time.Time, entries []entry) error {
	tw := tar.NewWriter(w)
	for _, e := range entries {
		if err := addEntry(tw, at, e); err != nil {
			return fmt.Errorf("archiving %s: %w", e.name, err)
		}
	}
	return tw.Close()
}

func addEntry(tw *tar.Writer, at time.Time, e entry) error {
	content, size := io.Reader(strings.NewReader(e.text)), int64(len(e.text))
	if e.from != "" {
		f, err := os.Open(e.from)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		content, size = f, info.Size()
	}
	err := tw.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: e.name, Size: size, Mode: e.mode, ModTime: at, Format: tar.FormatUSTAR,
	})
	if err != nil {
		return err
	}
	_, err = io.Copy(tw, content)
	return err
}
