package doctor

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/testkit"
)

// rightsOfTheGuide are the topics that the guide lets a role read or write.
func rightsOfTheGuide(t *testing.T, role Role) map[kafka.Operation][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "guides", "connections.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)\n\\* `" + string(role) + "`: (.*?)\n(?:\\* |\n)").FindSubmatch(text)
	if m == nil {
		t.Fatalf("the guide says nothing of %s", role)
	}
	all := map[kafka.Operation][]string{}
	for part := range strings.SplitSeq(string(m[1]), ";") {
		part = strings.Join(strings.Fields(part), " ")
		what, on, _ := strings.Cut(part, " on ")
		op := kafka.Operation(strings.ToUpper(what))
		if strings.HasPrefix(on, "the groups") {
			continue
		}
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(on, -1) {
			if name[1] == kafka.DeadLetterSuffix {
				for i := range kafka.Topics {
					if strings.HasSuffix(kafka.Topics[i].Name, kafka.DeadLetterSuffix) {
						all[op] = append(all[op], kafka.Topics[i].Name)
					}
				}
				continue
			}
			all[op] = append(all[op], name[1])
		}
	}
	return all
}

func TestTheGuideGivesTheRightsThatDaemonsNeed(t *testing.T) {
	t.Parallel()
	for _, role := range Roles {
		want := map[kafka.Operation][]string{}
		for i := range kafka.Topics {
			name := kafka.Topics[i].Name
			for _, op := range needs(&Options{Roles: []Role{role}}, name) {
				want[op] = append(want[op], name)
			}
		}
		got := rightsOfTheGuide(t, role)
		for _, names := range got {
			slices.Sort(names)
		}
		for _, names := range want {
			slices.Sort(names)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rights of %s (-want +guide):\n%s", role, diff)
		}
	}
}
