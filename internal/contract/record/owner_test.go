package record_test

import (
	"testing"

	"github.com/millrace/millrace/internal/contract/record"
)

func TestOwnerReadsAValueUpToItsOwner(t *testing.T) {
	t.Parallel()
	var d record.Decoder
	for value, want := range map[string]string{
		`{"v":1,"id":"a","organization":"org_1","owner":"web_1","type":"custom"}`: "web_1",
		`{"nested":{"owner":"web_2"},"list":["owner"],"owner":"org_1"}`:           "org_1",
		`{"id":"\"owner\":\"web_2\"","owner":"web_1","properties":{broken`:        "web_1",
		`{"owner":"web\u005f1"}`: "web_1",
		`{"owner":7}`:            "",
		`{"owner":`:              "",
		`{"owner":"web_1`:        "",
		`{"id":"a"}`:             "",
		`{}`:                     "",
		`["owner"]`:              "",
		`owner`:                  "",
		``:                       "",
	} {
		if got := string(d.Owner([]byte(value))); got != want {
			t.Errorf("Owner(%s) = %q, want %q", value, got, want)
		}
	}
}
