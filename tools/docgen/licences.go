package main

import (
	"context"
	"strings"

	"github.com/millrace/millrace/tools/thirdparty"
)

// licencesPage lists what of others is shipped. Versions are left to the SBOM of
// each release: a page that changed with each of them would be read by nobody.
func licencesPage(root string) (string, error) {
	parts, err := thirdparty.Parts(context.Background(), root)
	if err != nil {
		return "", err
	}
	d := newDocument("Licences", "what the commands link, which tools/thirdparty reads,")
	d.paragraph("What of others is in the programs, on any platform that releases are made for, and\n" +
		"under which licences, as SPDX names them; where there are several, all hold. A\n" +
		"release has their texts in `THIRD_PARTY_LICENSES` and their versions in its SBOM.\n" +
		"A licence that is not among those of `tools/thirdparty` fails `make ci`.")
	rows := make([][]string, len(parts))
	for i, p := range parts {
		rows[i] = []string{p.Name, strings.Join(p.Licences, ", "), strings.Join(p.In, ", ")}
	}
	d.table([]string{"Part", "Licences", "In"}, rows)
	return d.String(), nil
}
