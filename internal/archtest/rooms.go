package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// forbidden says why one package of ours may not import another; "" if it may.
func forbidden(from, to string) string {
	for _, s := range separated {
		if within(from, s.one) && within(to, s.other) || within(from, s.other) && within(to, s.one) {
			return s.why
		}
	}
	importer, imported := roomOf(from), roomOf(to)
	switch {
	case importer == nowhere || imported == nowhere: // which checkShape tells
		return ""
	case imported > importer:
		return fmt.Sprintf("a room imports rooms above it, and %s is below %s", rooms[imported], rooms[importer])
	case imported == importer && !layered(rooms[importer], from, to):
		return fmt.Sprintf("in %s, a folder imports those of the lines above it in layers", rooms[importer])
	}
	return ""
}

// layered reports whether the layers of a room let one of its packages import another.
func layered(room, from, to string) bool {
	lines, apart := layers[room]
	importer, imported := folderIn(room, from), folderIn(room, to)
	return !apart || importer == imported || lineOf(lines, imported) < lineOf(lines, importer)
}

// folderIn returns the folder of a room that holds path, by its name in the room.
func folderIn(room, path string) string {
	folder, _, _ := strings.Cut(strings.TrimPrefix(path, room+"/"), "/")
	return folder
}

// lineOf returns the number of the line with folder; one after the last if none has it.
func lineOf(lines [][]string, folder string) int {
	for i, line := range lines {
		if slices.Contains(line, folder) {
			return i
		}
	}
	return len(lines)
}

// nowhere is the place of what no room of the table holds.
const nowhere = -1

// roomOf returns the place in rooms of the one that holds path.
func roomOf(path string) int {
	return slices.IndexFunc(rooms, func(room string) bool { return within(path, room) })
}
