package management_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
)

// TestARecordOfAnotherOrganizationIsNotThere calls every operation that takes the
// id of a website, a key, a flag or a segment with one of another organization, and with one that
// nobody has: the responses are the same.
func TestARecordOfAnotherOrganizationIsNotThere(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	website := do[site](d, "stranger", "websites/create", shop).ID
	key := do[struct{ ID string }](d, "stranger", "apiKeys/create",
		`{"name":"ci","scopes":["read:data"],"access":{"type":"global"}}`).ID
	flag := do[flagData](d, "stranger", "flags/create", `{"key":"a","type":"boolean"}`).ID
	segment := do[flagData](d, "stranger", "segments/create", `{"key":"a","userIds":["u"]}`).ID
	table := management.Resources(management.Deps{})
	doc, err := rpc.Describe(rpc.Info{Title: "Test", Version: "1"}, table)
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, section := range doc.Reference(table) {
		foreign, ok := map[string]string{
			"websites": website, "apiKeys": key, "flags": flag, "segments": segment,
		}[section.Name]
		if !ok {
			continue
		}
		for _, e := range section.Entries {
			if !slices.ContainsFunc(e.Input, func(l rpc.Line) bool { return l.Name == "id" && l.Required }) {
				continue
			}
			tried++
			operation := strings.TrimPrefix(e.Path, "/rpc/")
			more := map[string]string{
				"websites/move": `,"toOrganizationId":"` + d.other.ID + `"`, "flags/duplicate": `,"key":"b"`,
				"flags/rollback":   `,"version":1`,
				"flags/addTargets": `,"variant":"on"`,
			}[operation]
			there := d.call("owner", operation, `{"id":"`+foreign+`"`+more+`}`)
			absent := d.call("owner", operation, `{"id":"`+foreign[:len(foreign)-4]+`0000"`+more+`}`)
			if there.Status != 404 || there.Code != string(apierr.NotFound) || there.Error != absent.Error ||
				there.Status != absent.Status {
				t.Errorf("%s: %d %s\nof nobody: %d %s", operation, there.Status, there.Text, absent.Status, absent.Text)
			}
		}
	}
	if tried < 20 {
		t.Errorf("tried %d operations only", tried)
	}
}
