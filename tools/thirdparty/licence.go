package thirdparty

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// PublicDomain is what nobody has rights to; SPDX has no identifier for it.
const PublicDomain = "PublicDomain"

// suited are the licences under which a part of a program under Apache-2.0 may
// be: they ask for their text, and MPL-2.0 for the source of its own files, which
// are used unchanged.
var suited = []string{
	"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC-BY-4.0", "CC0-1.0", "ISC", "MIT", "MIT-0", "MPL-2.0",
	PublicDomain, "Unlicense", "Zlib",
}

// fileNames are what licences and what else must be passed on are called.
var (
	licenceName = regexp.MustCompile(`(?i)^(un)?licen[cs]e|^copying|^copyright`)
	noticeName  = regexp.MustCompile(`(?i)^notice|^patents`)
	source      = regexp.MustCompile(`\.(go|s|c|h)$`)
)

// leastCoverage is how much of a file, in percent of its words, must be known
// texts for the file to be no more than them.
const leastCoverage = 75

// readFolder adds the licences and notices that lie in a folder.
func (p *Part) readFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		isLicence := licenceName.MatchString(e.Name())
		if e.IsDir() || source.MatchString(e.Name()) || !isLicence && !noticeName.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		if isLicence {
			if err := p.addLicences(e.Name(), text); err != nil {
				return err
			}
		}
		p.Texts = append(p.Texts, strings.TrimSpace(string(text)))
	}
	return nil
}

// addLicences tells the licences by their text.
func (p *Part) addLicences(name string, text []byte) error {
	ids, known := judgement(text)
	if !known {
		found := licensecheck.Scan(text)
		if found.Percent < leastCoverage {
			return fmt.Errorf(
				"%s is %.0f %% known licences, and has something else besides: read it, and write what it is into judged.go", name,
				found.Percent)
		}
		for _, m := range found.Match {
			ids = append(ids, m.ID)
		}
	}
	p.Licences = append(p.Licences, ids...)
	slices.Sort(p.Licences)
	p.Licences = slices.Compact(p.Licences)
	return nil
}

// allowed returns an error unless all licences of a part suit ours.
func allowed(p Part) error {
	if len(p.Licences) == 0 {
		return fmt.Errorf("%s has no licence", p.Name)
	}
	for _, id := range p.Licences {
		if !slices.Contains(suited, id) {
			return fmt.Errorf("%s is under %s, which is not among the licences of tools/thirdparty: %s",
				p.Name, id, strings.Join(suited, ", "))
		}
	}
	return nil
}
