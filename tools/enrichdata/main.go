// Command enrichdata writes the data files of package enrich from the npm
// packages that they come from: the list of crawlers and the countries of
// addresses. Files that are there stay as they are unless it is called with
// -refresh, so that nothing needs the network without being told to.
package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// source is one npm package and the files that are made of it.
type source struct {
	pkg     string
	version string
	// files are those that are wanted out of the package.
	files []string
	// write makes the files below dir.
	write func(dir, version string, files map[string][]byte) error
	// makes are the files that write leaves, below dir.
	makes []string
}

var sources = []source{
	{
		pkg: "crawler-user-agents", version: "1.60.0", files: []string{"crawler-user-agents.json", "LICENSE"},
		write: writeCrawlers, makes: []string{crawlersFile, crawlersLicense, instancesFile},
	},
	{
		pkg: "@ip-location-db/geo-whois-asn-country-mmdb", version: "2.3.2026061719",
		files: []string{"geo-whois-asn-country.mmdb"},
		write: writeCountries, makes: []string{countriesFile},
	},
}

// maxFile bounds a file of a package, in bytes.
const maxFile = 64 << 20

func main() {
	refresh := flag.Bool("refresh", false, "write files that are there, too")
	latest := flag.Bool("latest", false, "take the latest version of each package instead of the one named here")
	dir := flag.String("dir", "internal/pipeline/enrich", "folder of package enrich")
	flag.Parse()
	if err := run(context.Background(), *dir, *refresh, *latest); err != nil {
		fmt.Fprintln(os.Stderr, "enrichdata:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string, refresh, latest bool) error {
	for _, s := range sources {
		if !refresh && s.made(dir) {
			continue
		}
		if latest {
			s.version = "latest"
		}
		if err := s.fetch(ctx, dir); err != nil {
			return fmt.Errorf("%s: %w", s.pkg, err)
		}
	}
	return nil
}

func (s source) made(dir string) bool {
	for _, name := range s.makes {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// fetch asks npm for the package and writes what is made of it.
func (s source) fetch(ctx context.Context, dir string) error {
	tmp, err := os.MkdirTemp("", "enrichdata")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--pack-destination", tmp, s.pkg+"@"+s.version)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("running npm pack: %w", err)
	}
	archive := strings.TrimSpace(string(out))
	files, err := unpack(filepath.Join(tmp, archive), s.files)
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", archive, err)
	}
	// An archive is called name-version.tgz.
	version := strings.TrimSuffix(archive[strings.LastIndexByte(archive, '-')+1:], ".tgz")
	return s.write(dir, version, files)
}

// unpack returns the wanted files of an npm archive, by their name.
func unpack(archive string, wanted []string) (map[string][]byte, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for _, name := range wanted {
			if h.Name != "package/"+name {
				continue
			}
			if files[name], err = io.ReadAll(io.LimitReader(r, maxFile)); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range wanted {
		if files[name] == nil {
			return nil, fmt.Errorf("there is no %s", name)
		}
	}
	return files, nil
}
