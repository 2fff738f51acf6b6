package archtest

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	// picture is the one block of code under the heading "Rooms".
	picture = regexp.MustCompile("(?s)\n## Rooms\n.*?```\n(.*?)```")
	// roomLine begins a room of the picture; the packages in it are indented below.
	roomLine = regexp.MustCompile(`(?m)^([a-z]+) .*\n((?: +.*\n)*)`)
	word     = regexp.MustCompile(`[a-z]+`)
)

// CheckRooms compares the picture of the rooms of internal in a document with the table
// and with the packages that are there: every room in its order, every package in its
// room and nothing else, and folders in the lines that layers has.
func CheckRooms(name, document string, packages []Package) []string {
	var drawn []string
	texts := map[string]string{}
	for _, block := range picture.FindAllStringSubmatch(document, 1) {
		for _, m := range roomLine.FindAllStringSubmatch(block[1], -1) {
			drawn = append(drawn, "internal/"+m[1])
			texts["internal/"+m[1]] = m[2]
		}
	}
	inside := slices.DeleteFunc(slices.Clone(rooms), func(room string) bool { return !within(room, "internal") })
	if !slices.Equal(drawn, inside) {
		return []string{fmt.Sprintf("%s draws the rooms %q, and the table has %q", name, drawn, inside)}
	}
	var out []string
	there := map[string]bool{}
	for _, p := range packages {
		room := roomOf(p.Path)
		if room == nowhere || texts[rooms[room]] == "" || isTest(p.Path) {
			continue
		}
		for folder := range strings.SplitSeq(strings.TrimPrefix(p.Path, rooms[room]+"/"), "/") {
			there[rooms[room]+" "+folder] = true
		}
		if !slices.Contains(word.FindAllString(texts[rooms[room]], -1), path.Base(p.Path)) {
			out = append(out, fmt.Sprintf("%s does not draw %s in its room", name, p.Path))
		}
	}
	for _, room := range inside {
		for _, folder := range word.FindAllString(texts[room], -1) {
			if !there[room+" "+folder] {
				out = append(out, fmt.Sprintf("%s draws %s in %s, which is not there", name, folder, room))
			}
		}
	}
	for _, room := range inside {
		for _, line := range layers[room] {
			if !strings.Contains(texts[room], strings.Join(line, " ")) {
				out = append(out, fmt.Sprintf("%s does not draw %q of %s as one line", name, line, room))
			}
		}
	}
	return out
}
