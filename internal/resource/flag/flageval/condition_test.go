package flageval

import (
	"encoding/json"
	"net/netip"
	"testing"
)

func TestConditionsAreMetByWhatTheyAskFor(t *testing.T) {
	t.Parallel()
	ctx := &Context{
		UserID: "ann", Email: "ann@example.com", Country: "DE", IP: netip.MustParseAddr("::ffff:192.0.2.7"),
		Attributes: map[string]Value{},
	}
	var attributes map[string]any
	if err := json.Unmarshal([]byte(`{"plan":"Pro","age":42,"beta":true,"none":null,"roles":["admin","Editor",7],"empty":[],"since":"2026-11-20T00:00:00Z",
		"day":"2026-11-26","millis":1795694400000,"app":"v1.10.0-rc.1","ip":"2001:db8::5","straße":"GROẞ","odd":{"a":1},"nested":[["admin"]]}`), &attributes); err != nil {
		t.Fatal(err)
	}
	for k, v := range attributes {
		ctx.Attributes[k] = ValueOf(v)
	}
	for condition, want := range map[string]bool{
		`{"attribute":"plan","op":"eq","values":["Pro"]}`:                                 true,
		`{"attribute":"plan","op":"eq","values":["pro"]}`:                                 false,
		`{"attribute":"plan","op":"eq","values":["pro"],"caseInsensitive":true}`:          true,
		`{"attribute":"plan","op":"eq","values":["pro"],"negate":true}`:                   true,
		`{"attribute":"plan","op":"eq","values":[42],"negate":true}`:                      false, // of another type
		`{"attribute":"missing","op":"eq","values":["x"],"negate":true}`:                  false,
		`{"attribute":"none","op":"eq","values":["x"],"negate":true}`:                     false,
		`{"attribute":"odd","op":"eq","values":["x"],"negate":true}`:                      false,
		`{"attribute":"age","op":"in","values":["42",42]}`:                                true,
		`{"attribute":"age","op":"in","values":["42",41]}`:                                false,
		`{"attribute":"beta","op":"eq","values":[true]}`:                                  true,
		`{"attribute":"beta","op":"eq","values":[false],"negate":true}`:                   true,
		`{"attribute":"beta","op":"eq","values":[1]}`:                                     false,
		`{"attribute":"roles","op":"in","values":["admin"]}`:                              true,
		`{"attribute":"roles","op":"in","values":["admin"],"negate":true}`:                false,
		`{"attribute":"roles","op":"in","values":["viewer"],"negate":true}`:               true,
		`{"attribute":"roles","op":"numGt","values":[6]}`:                                 true,
		`{"attribute":"empty","op":"in","values":["x"],"negate":true}`:                    false,
		`{"attribute":"nested","op":"in","values":["admin"]}`:                             false,
		`{"attribute":"plan","op":"contains","values":["x","ro"]}`:                        true,
		`{"attribute":"plan","op":"contains","values":["RO"]}`:                            false,
		`{"attribute":"plan","op":"contains","values":["RO"],"caseInsensitive":true}`:     true,
		`{"attribute":"plan","op":"startsWith","values":["Pr"]}`:                          true,
		`{"attribute":"plan","op":"startsWith","values":["pR"],"caseInsensitive":true}`:   true,
		`{"attribute":"plan","op":"startsWith","values":["Prod"]}`:                        false,
		`{"attribute":"plan","op":"endsWith","values":["ro"]}`:                            true,
		`{"attribute":"plan","op":"endsWith","values":["RO"],"caseInsensitive":true}`:     true,
		`{"attribute":"plan","op":"endsWith","values":["apro"],"caseInsensitive":true}`:   false,
		`{"attribute":"straße","op":"endsWith","values":["ß"],"caseInsensitive":true}`:    true,
		`{"attribute":"age","op":"contains","values":["4"],"negate":true}`:                false,
		`{"attribute":"plan","op":"matches","values":["^P.o$"]}`:                          true,
		`{"attribute":"plan","op":"matches","values":["^p"]}`:                             false,
		`{"attribute":"plan","op":"matches","values":["^p"],"caseInsensitive":true}`:      true,
		`{"attribute":"plan","op":"exists"}`:                                              true,
		`{"attribute":"none","op":"exists"}`:                                              false,
		`{"attribute":"missing","op":"exists","negate":true}`:                             true,
		`{"attribute":"empty","op":"exists"}`:                                             true,
		`{"attribute":"odd","op":"exists"}`:                                               true,
		`{"attribute":"odd","op":"exists","negate":true}`:                                 false,
		`{"attribute":"odd","op":"numGt","values":[0],"negate":true}`:                     false,
		`{"attribute":"odd","op":"country","values":["AT"],"negate":true}`:                false,
		`{"attribute":"$ip","op":"exists"}`:                                               true,
		`{"attribute":"teamId","op":"exists"}`:                                            false,
		`{"attribute":"userId","op":"eq","values":["ann"]}`:                               true,
		`{"attribute":"email","op":"endsWith","values":["@example.com"]}`:                 true,
		`{"attribute":"age","op":"numEq","values":[42]}`:                                  true,
		`{"attribute":"age","op":"numGt","values":[42]}`:                                  false,
		`{"attribute":"age","op":"numGt","values":[42],"negate":true}`:                    true,
		`{"attribute":"age","op":"numGte","values":[42]}`:                                 true,
		`{"attribute":"age","op":"numLt","values":[42.5]}`:                                true,
		`{"attribute":"age","op":"numLte","values":[41]}`:                                 false,
		`{"attribute":"plan","op":"numGt","values":[0],"negate":true}`:                    false,
		`{"attribute":"since","op":"dateAfter","values":["-7d"]}`:                         true, // now is the 26th, noon
		`{"attribute":"since","op":"dateAfter","values":["-6d"]}`:                         false,
		`{"attribute":"since","op":"dateBefore","values":["2026-11-20"]}`:                 false,
		`{"attribute":"since","op":"dateBefore","values":["2026-11-20T00:00:00.001Z"]}`:   true,
		`{"attribute":"day","op":"dateAfter","values":["-13h"]}`:                          true,
		`{"attribute":"day","op":"dateAfter","values":["-720m"]}`:                         false,
		`{"attribute":"millis","op":"dateAfter","values":["-1w"]}`:                        true,
		`{"attribute":"plan","op":"dateAfter","values":["-1w"],"negate":true}`:            false,
		`{"attribute":"app","op":"semverGt","values":["1.9.9"]}`:                          true,
		`{"attribute":"app","op":"semverLt","values":["1.10.0"]}`:                         true,
		`{"attribute":"app","op":"semverEq","values":["1.10.0-rc.1+build.5"]}`:            true,
		`{"attribute":"app","op":"semverGte","values":["1.10.0-rc.1"]}`:                   true,
		`{"attribute":"app","op":"semverLte","values":["1.10.0-rc.0"]}`:                   false,
		`{"attribute":"plan","op":"semverGt","values":["0.0.1"],"negate":true}`:           false,
		`{"op":"ipInRange","values":["192.0.2.0/24"]}`:                                    true,
		`{"op":"ipInRange","values":["192.0.2.7"]}`:                                       true,
		`{"op":"ipInRange","values":["::ffff:192.0.2.7"]}`:                                true,
		`{"op":"ipInRange","values":["::ffff:192.0.0.0/104"]}`:                            true,
		`{"op":"ipInRange","values":["::ffff:192.0.2.8/128"]}`:                            false,
		`{"op":"ipInRange","values":["::ffff:0.0.0.0/96"]}`:                               true,
		`{"op":"ipInRange","values":["198.51.100.0/24"]}`:                                 false,
		`{"op":"ipInRange","values":["198.51.100.0/24"],"negate":true}`:                   true,
		`{"attribute":"ip","op":"ipInRange","values":["2001:db8::/32"]}`:                  true,
		`{"attribute":"plan","op":"ipInRange","values":["2001:db8::/32"],"negate":true}`:  false,
		`{"op":"country","values":["at","de"]}`:                                           true,
		`{"op":"country","values":["AT"]}`:                                                false,
		`{"op":"country","values":["AT"],"negate":true}`:                                  true,
		`{"attribute":"$country","op":"eq","values":["DE"]}`:                              true,
		`{"all":[{"attribute":"plan","op":"exists"},{"attribute":"none","op":"exists"}]}`: false,
		`{"any":[{"attribute":"plan","op":"exists"},{"attribute":"none","op":"exists"}]}`: true,
	} {
		var c Condition
		if err := json.Unmarshal([]byte(condition), &c); err != nil {
			t.Fatalf("%s: %v", condition, err)
		}
		set := compiled(t, boolean("f", Rule{Conditions: &Conditions{All: []Condition{c}}, Serve: Serve{Variant: "on"}}))
		if got := told(set, "f", "", ctx, now) == "rule on"; got != want {
			t.Errorf("%s: met %v, want %v", condition, got, want)
		}
	}
}

// A segment is missing where a website was moved away from it.
func TestNobodyIsInOrOutOfASegmentThatIsNotThere(t *testing.T) {
	t.Parallel()
	ann := &Context{UserID: "ann"}
	for condition, want := range map[string]bool{
		`{"op":"inSegment","values":["staff"]}`:                       true,
		`{"op":"inSegment","values":["gone"]}`:                        false,
		`{"op":"inSegment","values":["gone"],"negate":true}`:          false,
		`{"op":"inSegment","values":["gone","staff"]}`:                true,
		`{"op":"inSegment","values":["gone","others"],"negate":true}`: false,
		`{"op":"inSegment","values":["others"],"negate":true}`:        true,
	} {
		var c Condition
		if err := json.Unmarshal([]byte(condition), &c); err != nil {
			t.Fatalf("%s: %v", condition, err)
		}
		f := boolean("f", Rule{Conditions: &Conditions{All: []Condition{c}}, Serve: Serve{Variant: "on"}})
		set, err := Compile([]Member[Definition]{{Is: f}}, []Member[Segment]{
			{Is: &Segment{Key: "staff", UserIDs: []string{"ann"}}}, {Is: &Segment{Key: "others", UserIDs: []string{"bob"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := told(set, "f", "", ann, now) == "rule on"; got != want {
			t.Errorf("%s: met %v, want %v", condition, got, want)
		}
	}
}

func TestVersionsAreInTheOrderOfSemanticVersioning(t *testing.T) {
	t.Parallel()
	// The order of semver.org's item 11, and beyond.
	order := []string{
		"0.0.1", "0.1", "1.0.0-1", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2",
		"1.0.0-beta.11", "1.0.0-rc.1", "1", "v1.0.1", "1.2.0", "1.10.0", "2.0.0-0", "2.0.0+build.1", "999999999999999999.0.0",
	}
	for i, a := range order {
		for j, b := range order {
			v, okV := parseVersion(a)
			w, okW := parseVersion(b)
			want := 0
			if i != j {
				want = sign(i < j)
			}
			if got := v.compare(&w); !okV || !okW || got != want {
				t.Errorf("%s and %s: %d, want %d", a, b, got, want)
			}
		}
	}
	for _, bad := range []string{
		"", "v", "a", "1.", "1..2", "1.2.3.4", "1.2.3-", "1.2.3+", "1.2.3-a..b", "1.2.3-ä", "-1", "1.2.x",
		"1234567890123456789",
	} {
		if _, ok := parseVersion(bad); ok {
			t.Errorf("%q is a version", bad)
		}
	}
}
