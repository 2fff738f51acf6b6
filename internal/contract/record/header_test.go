package record

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheTableOfHeadersIsWhatIsRead(t *testing.T) {
	t.Parallel()
	var keys []string
	var required []Header
	for _, h := range HeaderTable {
		keys = append(keys, h.Key)
		if h.Help == "" || h.Example == "" {
			t.Errorf("%s has no help or no example", h.Key)
		}
		if !regexp.MustCompile(h.Pattern).MatchString(h.Example) {
			t.Errorf("%s: the example %q does not match %s", h.Key, h.Example, h.Pattern)
		}
		var read Headers
		if err := read.Set(h.Key, []byte(h.Example)); err != nil || read.seen == 0 {
			t.Errorf("%s: Set() = %v, seen %b", h.Key, err, read.seen)
		}
		if h.Always {
			required = append(required, Header{h.Key, []byte(h.Example)})
		}
	}
	if diff := cmp.Diff(headerKeys[:], keys); diff != "" {
		t.Errorf("keys (-read +table):\n%s", diff)
	}
	if err := readHeaders(required); err != nil {
		t.Errorf("the headers that are always there do not suffice: %v", err)
	}
	for i := range required {
		if err := readHeaders(slices.Delete(slices.Clone(required), i, i+1)); err == nil {
			t.Errorf("%s is always there, and yet not required", required[i].Key)
		}
	}
}

// readHeaders reports why a list of headers is not enough.
func readHeaders(list []Header) error {
	var h Headers
	for _, each := range list {
		if err := h.Set(each.Key, each.Value); err != nil {
			return err
		}
	}
	return h.Check()
}
