package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const page = "ARCHITECTURE.md"

func TestTheFolderOfRoomsNamesThemInOrder(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "internal", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	inside := strings.ReplaceAll(strings.TrimSuffix(strings.Join(rooms, " → "), " → cmd"), "internal/", "")
	if !strings.Contains(string(text), "\n"+inside+"\n") {
		t.Errorf("internal/README.md has no line %q", inside)
	}
}

func TestThePictureShowsTheRooms(t *testing.T) {
	t.Parallel()
	packages, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range CheckRooms(page, string(text), packages) {
		t.Error(violation)
	}
	for name, change := range map[string]struct{ old, is, want string }{
		"no picture":              {"\n## Rooms\n", "\n## Halls\n", "ARCHITECTURE.md draws the rooms []"},
		"two rooms change places": {"\ntenant ", "\nprivate ", `ARCHITECTURE.md draws the rooms ["internal/contract"`},
		"a package is not there": {
			" importer ", " ", "ARCHITECTURE.md does not draw internal/pipeline/importer in its room",
		},
		"a package is gone": {
			" importer ", " importer exporter ", "ARCHITECTURE.md draws exporter in internal/pipeline, which is not there",
		},
		"a package is in another room": {
			" admission ", " admission audit ", "ARCHITECTURE.md draws audit in internal/platform, which is not there",
		},
		"a line is not that of layers": {
			"flagapi management", "flagapi  management", `ARCHITECTURE.md does not draw ["flagapi"`,
		},
	} {
		got := CheckRooms(page, strings.Replace(string(text), change.old, change.is, 1), packages)
		if len(got) != 1 || !strings.HasPrefix(got[0], change.want) {
			t.Errorf("%s: %q, want one that begins with %q", name, got, change.want)
		}
	}
}
