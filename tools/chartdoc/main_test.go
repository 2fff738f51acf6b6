package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheChartIsUpToDate(t *testing.T) {
	t.Parallel()
	if err := run(filepath.Join("..", ".."), true); err != nil {
		t.Error(err)
	}
}

func TestAValueThatSaysTooLittleIsRejected(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: 1":                                  "a: has no comment",
		"# A.\na:\n  b: 1":                      "a.b: has no comment",
		"# A.\na: []":                           "a: is a list",
		"# A.\na: {}":                           "a: is an empty mapping",
		"# A.\na:":                              `a: "" has no type`,
		"# A.\n# @schema {\"minimum\": }\na: 1": "a: reading its @schema line",
	} {
		values, err := parse([]byte(text))
		if err == nil {
			_, err = propertiesOf(values)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestASchemaIsTheTypeOfTheDefaultAndWhatItsLineSays(t *testing.T) {
	t.Parallel()
	values, err := parse([]byte("# A.\n# @schema {\"minimum\": 3}\na: 5\n# B.\nb:\n  # C.\n  c: {name: \"\", key: x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	properties, err := propertiesOf(values)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(properties)
	const want = `{"a":{"description":"A.","minimum":3,"type":"integer"},` +
		`"b":{"additionalProperties":false,"description":"B.","properties":{` +
		`"c":{"additionalProperties":false,"description":"C.","properties":{"key":{"type":"string"},"name":{"type":"string"}},"type":"object"}},"type":"object"}}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestReferencesAreThoseOfTheTableOfSettings(t *testing.T) {
	t.Parallel()
	values, err := parse([]byte("# S.\nsecrets:\n  # K.\n  kafka:\n    # T.\n    typo: {name: \"\", key: x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	err = checkReferences(values)
	for _, want := range []string{"secrets.kafka.typo is no setting of that kind", "values.yaml lacks secrets.store.url"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}

func TestACopyOfNothingIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := write(dir, map[string][]byte{"files/rules/a.yaml": []byte("groups:\n")}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "files", "rules", "b.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := compare(dir, map[string][]byte{"files/rules/a.yaml": []byte("groups: [1]\n")})
	for _, want := range []string{"a.yaml is out of date", "b.yaml is a copy of nothing"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}
