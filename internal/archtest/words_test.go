package archtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRetiredWordsAreGone(t *testing.T) {
	t.Parallel()
	files := 0
	err := Texts(root, func(name, text string) {
		files++
		for _, violation := range CheckWords(name, text) {
			t.Error(violation)
		}
	})
	if err != nil || files < 1000 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestEachRetiredWordIsFound(t *testing.T) {
	t.Parallel()
	for said, instead := range retiredNames {
		if got := CheckWords("f.go", "x := a."+said+"(b)"); len(got) != 1 {
			t.Errorf("%s, which is %s, gives %q", said, instead, got)
		}
		if got := CheckWords("f.go", "x"+said+" "+said+"x"); len(got) != 0 {
			t.Errorf("parts of other names give %q", got)
		}
	}
	for phrase, instead := range retiredPhrases {
		if got := CheckWords("f.md", "Of "+phrase+"."); len(got) != 1 {
			t.Errorf("%q, which is %q, gives %q", phrase, instead, got)
		}
	}
	const broken = "\t// A Validation\n\t// fault, and again: a validation fault.\n"
	want := []string{"f.go says validation fault: it is Validation error"}
	if diff := cmp.Diff(want, CheckWords("f.go", broken)); diff != "" {
		t.Errorf("a phrase over two lines (-want +got):\n%s", diff)
	}
	if got := CheckWords("f.go", "// The connection was refused; it is in plain English.\n"); len(got) != 0 {
		t.Errorf("plain English gives %q", got)
	}
}
