package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// copied is the chart's folder of copies.
const copied = "files"

// sources are the folders that are copied, as Helm's templates find them.
var sources = []struct {
	from, ext, to string
	// has is what a file must contain to be meant for the chart; the tests of
	// rules and Prometheus' own settings lie beside them.
	has string
}{
	{"deploy/prometheus", ".yaml", "rules", "\ngroups:"},
	{"deploy/grafana", ".json", "dashboards", `"panels"`},
}

// copies adds the files of the sources.
func copies(root string, files map[string][]byte) error {
	for _, s := range sources {
		paths, err := filepath.Glob(filepath.Join(root, s.from, "*"+s.ext))
		if err != nil {
			return err
		}
		for _, path := range paths {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name := filepath.Base(path)
			if strings.HasSuffix(name, "_test"+s.ext) || !bytes.Contains(append([]byte("\n"), content...), []byte(s.has)) {
				continue
			}
			files[copied+"/"+s.to+"/"+name] = content
		}
	}
	return nil
}
