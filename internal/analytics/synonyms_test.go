package analytics

import (
	"slices"
	"strings"
	"testing"
)

func TestSynonyms_NameWhatTheCatalogueHas(t *testing.T) {
	t.Parallel()
	keys, _, _ := BodyKeys()
	for _, tc := range []struct {
		kind  string
		known synonyms
		names []string
	}{
		{"query type", typeSynonyms, typeNames()},
		{"filter field", fieldSynonyms, fieldNames()},
		{"key", keySynonyms, keys},
	} {
		for synonym, name := range tc.known {
			if !slices.Contains(tc.names, name) {
				t.Errorf("%s %s: the suggestion %s does not exist", tc.kind, synonym, name)
			}
			if slices.Contains(tc.names, synonym) {
				t.Errorf("%s %s is a name itself", tc.kind, synonym)
			}
			if synonym != strings.ToLower(synonym) {
				t.Errorf("%s %s is not lower case", tc.kind, synonym)
			}
		}
	}
}

func TestDidYouMean_SuggestsSynonymBeforeSpelling(t *testing.T) {
	t.Parallel()
	for synonym, name := range typeSynonyms {
		if got, want := suggestType(strings.ToUpper(synonym)), "Did you mean '"+name+"'?"; got != want {
			t.Errorf("query type %s: %q, want %q", synonym, got, want)
		}
	}
	for synonym, name := range fieldSynonyms {
		if got, want := suggestField(synonym), "Did you mean '"+name+"'?"; got != want {
			t.Errorf("filter field %s: %q, want %q", synonym, got, want)
		}
	}
	for synonym, name := range keySynonyms {
		_, _, err := Decode([]byte(`{"` + synonym + `":"x"}`))
		if want := "Did you mean '" + name + "'?"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("key %s: %v, want %q", synonym, err, want)
		}
	}
	if got := didYouMean("from", []string{"fro"}, keySynonyms); got != "Did you mean 'fro'?" {
		t.Errorf("a synonym of a name that is not a candidate: %q", got)
	}
}
