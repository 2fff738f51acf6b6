package tracker

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"testing/fstest"
)

func TestTheScriptIsWithinItsBudget(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(Script().Content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if packed.Len() > MaxScriptBytes {
		t.Errorf("the script has %d bytes in gzip, more than %d", packed.Len(), MaxScriptBytes)
	}
}

func TestTheScriptNamesTheFileItWasBuiltWith(t *testing.T) {
	t.Parallel()
	script, extra := Current()[0], Current()[1]
	for _, want := range []string{extra.Hashed, extra.Integrity} {
		if !strings.Contains(string(script.Content), want) {
			t.Errorf("the script does not name %s", want)
		}
	}
}

func TestAKeptFileIsWhatItsNameSays(t *testing.T) {
	t.Parallel()
	old := newFile(ScriptName, []byte("old"))
	folder := fstest.MapFS{
		"dist/tracker.js": {Data: []byte("new")}, "dist/tracker-extra.js": {Data: []byte("vitals")},
		"kept/README.md": {}, "kept/" + old.Hashed: {Data: old.Content},
	}
	s, err := read(folder)
	if err != nil || len(s.kept) != 1 || s.kept[0].Hashed != old.Hashed || s.kept[0].Name != ScriptName ||
		s.kept[0].Integrity != old.Integrity {
		t.Errorf("kept %+v, error %v", s.kept, err)
	}
	folder["kept/"+old.Hashed].Data = []byte("changed")
	if _, err := read(folder); err == nil {
		t.Error("a changed file is served under its old name")
	}
	delete(folder, "dist/tracker-extra.js")
	if _, err := read(folder); err == nil {
		t.Error("a missing file is not noticed")
	}
}

func TestAHashIsSixteenHexadecimalDigits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"0123456789abcdef": true, "0123456789abcde": false, "0123456789abcdef0": false, "0123456789ABCDEF": false, "": false,
	} {
		if IsHash(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}
