package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTargetsAreFoundInTheSource(t *testing.T) {
	t.Parallel()
	const src = "package x\n\nfunc FuzzOne(f *testing.F) {}\n\nfunc helper() { FuzzTwo(nil) }\n\nfunc TestFuzzy(t " +
		"*testing.T) {}\nfunc FuzzThree(\n"
	var got []string
	for _, m := range targetOf.FindAllStringSubmatch(src, -1) {
		got = append(got, m[1])
	}
	if diff := cmp.Diff([]string{"FuzzOne", "FuzzThree"}, got); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}
