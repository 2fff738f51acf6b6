package archtest

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// settingReaders say which file does something by a setting of a website or an organization,
// besides keeping it and telling it: by the name of its field, or of what is stored.
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
	reflect.TypeFor[org.Settings](): {
		"Timezone": "internal/api/management/websites.go",
	},
}

// settingsTold are those that nothing of ours is done by.
var settingsTold = map[reflect.Type]map[string]string{
	reflect.TypeFor[org.Settings](): {
		"Name":    "for people",
		"Slug":    "for addresses of whoever shows the organization",
		"LogoURL": "for whoever shows the organization",
	},
}

func TestEverySettingHasAReader(t *testing.T) {
	t.Parallel()
	for of, readers := range settingReaders {
		for field := range of.Fields() {
			reader, told := readers[field.Name], settingsTold[of][field.Name]
			switch {
			case (reader == "") == (told == ""):
				t.Errorf("%s.%s has no reader: name it in settingReaders, or take the setting out", of, field.Name)
			case reader != "" && !mentions(t, reader, field.Name):
				t.Errorf("%s does nothing by %s.%s any more", reader, of, field.Name)
			}
		}
	}
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

// mentions reports whether a file selects a field, or reads it by its stored name.
func mentions(t *testing.T, file, field string) bool {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	stored := []byte(field)
	stored[0] |= 0x20
	patterns := []string{`\.` + field + `\b`, `json:"` + string(stored) + `[",]`}
	return slices.ContainsFunc(patterns, func(p string) bool { return regexp.MustCompile(p).Match(src) })
}
