package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const root = "../.."

func TestTheModuleKeepsTheRules(t *testing.T) {
	t.Parallel()
	packages, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 20 {
		t.Fatalf("only %d packages were found", len(packages))
	}
	for _, violation := range Check(packages) {
		t.Error(violation)
	}
}

func TestTheTableNamesOnlyRoomsThatExist(t *testing.T) {
	t.Parallel()
	exists := func(room string) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(root, room)); err != nil {
			t.Errorf("room %s: %v", room, err)
		}
	}
	for _, room := range slices.Concat(rooms, testRooms, fileRooms, []string{never}) {
		exists(room)
	}
	for room, lines := range layers {
		if !slices.Contains(rooms, room) {
			t.Errorf("layers has %s, which is no room", room)
		}
		for _, folder := range slices.Concat(lines...) {
			exists(room + "/" + folder)
		}
	}
	for _, s := range separated {
		exists(s.one)
		exists(s.other)
	}
	for _, l := range technologies {
		for _, room := range l.rooms {
			exists(room)
		}
	}
	for _, s := range scarce {
		for _, room := range append(s.from, s.room) {
			exists(room)
		}
	}
}
