package archtest

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// settingReaders say which file does something by a setting of a website or an organization, or
// by another field of it, besides keeping it and telling it.
var settingReaders = map[reflect.Type]map[string]string{
	reflect.TypeFor[website.Settings](): {
		"AllowedOrigins":            "internal/pipeline/ingest/rules.go",
		"AllowedIPs":                "internal/pipeline/ingest/rules.go",
		"ExcludedPaths":             "internal/pipeline/enrich/enrich.go",
		"ExcludedIPs":               "internal/pipeline/ingest/screen.go",
		"MaskPatterns":              "internal/pipeline/enrich/enrich.go",
		"AnonymizeVisitorIDs":       "internal/pipeline/ingest/access.go",
		"KeepBots":                  "internal/pipeline/ingest/screen.go",
		"HonorGlobalPrivacyControl": "internal/tenant/website/website.go",
		"HonorDoNotTrack":           "internal/tenant/website/website.go",
		"DataRetentionDays":         "internal/adapter/store/retention.go",
		"TrackQueryParams":          "internal/pipeline/enrich/enrich.go",
		"SessionTimeoutMinutes":     "internal/tenant/website/snippet.go",
	},
	reflect.TypeFor[website.Website](): {
		"ClientID":         "internal/tenant/website/website.go",
		"OldClientID":      "internal/tenant/website/website.go",
		"OldClientIDUntil": "internal/tenant/website/website.go",
		"Domain":           "internal/pipeline/ingest/rules.go",
		"Public":           "internal/api/queryapi/access.go",
	},
	reflect.TypeFor[org.Organization](): {
		"Timezone": "internal/api/management/websites.go",
	},
}

// settingsTold are those that nothing of ours is done by.
var settingsTold = map[reflect.Type]map[string]string{
	reflect.TypeFor[website.Settings](): {},
	reflect.TypeFor[website.Website](): {
		"Timezone": "for whoever shows the website; a query names its own",
	},
	reflect.TypeFor[org.Organization](): {
		"Name":    "for people",
		"Slug":    "for addresses of whoever shows the organization",
		"LogoURL": "for whoever shows the organization",
	},
}

// kept are the fields that come with being kept; nobody sets them.
var kept = []string{"ID", "CreatedBy", "Version", "CreatedAt", "UpdatedAt", "DeletedAt"}

func TestEverySettingHasAReader(t *testing.T) {
	t.Parallel()
	var files []string
	for _, readers := range settingReaders {
		files = slices.AppendSeq(files, maps.Values(readers))
	}
	read, err := FieldsRead(t.Context(), root, files...)
	if err != nil {
		t.Fatal(err)
	}
	for of, readers := range settingReaders {
		for field := range of.Fields() {
			reader, told := readers[field.Name], settingsTold[of][field.Name]
			switch {
			case field.Anonymous || slices.Contains(kept, field.Name):
			case (reader == "") == (told == ""):
				t.Errorf("%s.%s has no reader: name it in settingReaders, or take the setting out", of, field.Name)
			case reader != "" && !read[reader][nameOf(of, field.Name)] && !readsStored(t, reader, field.Name):
				t.Errorf("%s does nothing by %s.%s any more", reader, of, field.Name)
			}
		}
	}
}

func TestTheTablesOfSettingsNameFields(t *testing.T) {
	t.Parallel()
	for _, table := range []map[reflect.Type]map[string]string{settingReaders, settingsTold} {
		for of, names := range table {
			for name := range names {
				if _, there := of.FieldByName(name); !there {
					t.Errorf("%s has no field %s", of, name)
				}
			}
		}
	}
}

// Two structures have a field of this name, and a file reads one of them.
func TestAFieldIsReadOfItsOwnStructure(t *testing.T) {
	t.Parallel()
	const reader = "internal/tenant/website/journal.go"
	read, err := FieldsRead(t.Context(), root, reader)
	if err != nil {
		t.Fatal(err)
	}
	for of, want := range map[reflect.Type]bool{
		reflect.TypeFor[website.Website](): true, reflect.TypeFor[website.Spec](): false,
		reflect.TypeFor[org.Organization](): false,
	} {
		if got := read[reader][nameOf(of, "Timezone")]; got != want {
			t.Errorf("%s reads the time zone of %s: %t", reader, of, got)
		}
	}
}

// nameOf returns the name that FieldsRead has for a field.
func nameOf(of reflect.Type, field string) string {
	return ours(of.PkgPath()) + "." + of.Name() + "." + field
}

// readsStored reports whether a file reads a field by the name that it is stored by.
func readsStored(t *testing.T, file, field string) bool {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(src, []byte("`json:\""+strings.ToLower(field[:1])+field[1:]+"\"`"))
}
