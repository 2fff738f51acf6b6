package main

import (
	"context"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"

	"github.com/millrace/millrace/tools/thirdparty"
)

// writeSBOM lists the parts of the programs in CycloneDX's JSON. What it lists is
// held against what the linker wrote into each program.
func writeSBOM(_ context.Context, r *release) (err error) {
	sums, err := r.linked()
	if err != nil {
		return err
	}
	f, err := os.Create(r.path("millrace_" + r.version + "_sbom.cdx.json"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return cdx.NewBOMEncoder(f, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(r.bom(sums), cdx.SpecVersion1_6)
}

// linked returns the checksum of every module that the built programs hold, by
// path. A module that is not among the parts, in that version, is an error.
func (r *release) linked() (map[string]string, error) {
	versions := map[string]string{}
	for _, p := range r.parts {
		versions[p.Name] = p.Version
	}
	commands, err := r.commandNames()
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for _, platform := range r.platforms {
		for _, c := range commands {
			info, err := buildinfo.ReadFile(r.path(programsDir, platform, c))
			if err != nil {
				return nil, fmt.Errorf("reading what %s for %s is made of: %w", c, platform, err)
			}
			for _, m := range info.Deps {
				if versions[m.Path] != m.Version {
					return nil, fmt.Errorf("%s for %s holds %s %s, which is not among the parts", c, platform, m.Path, m.Version)
				}
				sums[m.Path] = m.Sum
			}
		}
	}
	return sums, nil
}

// bom is the list; sums are those of linked.
func (r *release) bom(sums map[string]string) *cdx.BOM {
	self := "pkg:golang/github.com/millrace/millrace@" + r.tag()
	components := make([]cdx.Component, len(r.parts))
	refs := make([]string, len(r.parts))
	for i, p := range r.parts {
		components[i] = component(p, sums[p.Name])
		refs[i] = components[i].BOMRef
	}
	b := cdx.NewBOM()
	// The same release has the same number, whoever makes it.
	b.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceURL, []byte(self)).String()
	b.Metadata = &cdx.Metadata{
		Timestamp: r.time.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: self, Type: cdx.ComponentTypeApplication, Name: "millrace", Version: r.version, PackageURL: self,
			Licenses: licences([]string{"Apache-2.0"}),
		},
	}
	b.Components = &components
	b.Dependencies = &[]cdx.Dependency{{Ref: self, Dependencies: &refs}}
	return b
}

func component(p thirdparty.Part, sum string) cdx.Component {
	purl := p.URL
	if p.Version != "" {
		purl += "@" + p.Version
	}
	c := cdx.Component{
		BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: p.Name, Version: p.Version, PackageURL: purl,
		Licenses:   licences(p.Licences),
		Properties: &[]cdx.Property{{Name: "millrace:in", Value: strings.Join(p.In, ", ")}},
	}
	// What go.sum has under h1 is a SHA-256 of the module's files.
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:")); err == nil && len(raw) > 0 {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(raw)}}
	}
	return c
}

// licences writes identifiers; what SPDX has none for is a name.
func licences(ids []string) *cdx.Licenses {
	list := make(cdx.Licenses, len(ids))
	for i, id := range ids {
		list[i].License = &cdx.License{ID: id}
		if id == thirdparty.PublicDomain {
			list[i].License = &cdx.License{Name: id}
		}
	}
	return &list
}
