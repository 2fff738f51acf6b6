package thirdparty

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit"
)

func TestEveryPartHasALicenceThatSuits(t *testing.T) {
	t.Parallel()
	parts, err := Parts(t.Context(), testkit.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if len(p.Texts) == 0 || len(p.In) == 0 || p.Version == "" && strings.HasPrefix(p.URL, "pkg:golang/") {
			t.Errorf("%s %q is in %q, with %d texts", p.Name, p.Version, p.In, len(p.Texts))
		}
	}
	for _, want := range []string{
		"Go standard library", "github.com/gofiber/fiber/v2", "web-vitals", "crawler-user-agents",
	} {
		if !slices.ContainsFunc(parts, func(p Part) bool { return p.Name == want }) {
			t.Errorf("%s is not among them", want)
		}
	}
	texts := Texts(parts)
	for _, p := range parts {
		if !strings.Contains(texts, "\n"+p.Name+" "+p.Version+"\n") {
			t.Errorf("the texts leave out %s", p.Name)
		}
	}
}

// agplNotice is how a program says that it is under a licence that does not suit.
const agplNotice = `This program is free software: you can redistribute it and/or modify it under the terms of the GNU Affero General
Public License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version.`

func TestALicenceThatDoesNotSuitIsRejected(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"another licence": {agplNotice, "example.com/x is under AGPL-3.0-or-later, which is not among the licences"},
		"own words":       {"You may use this on Sundays, if the weather permits it.", "LICENSE is 0 % known licences"},
		"none":            {"", "example.com/x has no licence"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tt.text != "" {
				if err := os.WriteFile(filepath.Join(dir, "LICENSE"), []byte(tt.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p := Part{Name: "example.com/x"}
			err := p.readFolder(dir)
			if err == nil {
				err = allowed(p)
			}
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("the error is %v, want %q", err, tt.want)
			}
		})
	}
}
