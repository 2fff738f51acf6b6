package thirdparty

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millrace/millrace/internal/adapter/embedded/chlibrary"
)

// other is a part that is no module: a file that programs embed, or a library
// beside them.
type other struct {
	name     string
	licences []string
	// text is a file of the repository with the licence's text, and notice what
	// goes before it; both may be empty where the licence asks for neither.
	text, notice string
	in           []string
	url          string
	// lock is the package-lock.json that names the version of an npm package.
	lock string
	// version stands where there is no lock.
	version string
}

// others lists them. NOTICE tells of the data.
var others = []other{
	{
		name: "web-vitals", licences: []string{"Apache-2.0"}, text: "LICENSE", notice: "Copyright 2020 Google LLC",
		in: []string{"ingest-edge", "millrace"}, url: "pkg:npm/web-vitals", lock: "web/tracker/package-lock.json",
	},
	{
		name: "crawler-user-agents", licences: []string{"MIT"}, text: "internal/pipeline/enrich/data/crawlers.LICENSE",
		in: []string{"ingest-edge", "millrace"}, url: "pkg:npm/crawler-user-agents",
	},
	{
		name: "@ip-location-db/geo-whois-asn-country-mmdb", licences: []string{"CC-BY-4.0", "CC0-1.0"},
		notice: "Countries of networks: see NOTICE.",
		in:     []string{"ingest-edge", "millrace"}, url: "pkg:npm/%40ip-location-db/geo-whois-asn-country-mmdb",
	},
	{
		name: "libchdb", licences: []string{"Apache-2.0"}, text: "LICENSE",
		notice: "Copyright 2016-2026 ClickHouse, Inc. and the authors of chdb",
		in:     []string{"image millrace-standalone"}, url: "pkg:npm/%40chdb/lib-linux-x64-gnu", version: chlibrary.Version,
	},
}

// embedded returns the parts that are no modules.
func embedded(root string) ([]Part, error) {
	parts := make([]Part, 0, len(others))
	for _, o := range others {
		p := Part{Name: o.name, Version: o.version, Licences: o.licences, In: o.in, URL: o.url}
		if o.notice != "" {
			p.Texts = append(p.Texts, o.notice)
		}
		if o.text != "" {
			text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(o.text)))
			if err != nil {
				return nil, fmt.Errorf("reading the licence of %s: %w", o.name, err)
			}
			p.Texts = append(p.Texts, string(text))
		}
		if o.lock != "" {
			version, err := locked(filepath.Join(root, filepath.FromSlash(o.lock)), o.name)
			if err != nil {
				return nil, err
			}
			p.Version = version
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// locked returns the version of an npm package that a lock file names.
func locked(lock, name string) (string, error) {
	data, err := os.ReadFile(lock)
	if err != nil {
		return "", err
	}
	var file struct {
		Packages map[string]struct {
			Version string `json:"version"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return "", fmt.Errorf("reading %s: %w", lock, err)
	}
	version := file.Packages["node_modules/"+name].Version
	if version == "" {
		return "", fmt.Errorf("%s does not name %s any more; is it still a part of the tracker?", lock, name)
	}
	return version, nil
}
