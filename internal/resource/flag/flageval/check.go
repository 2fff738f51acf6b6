package flageval

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a definition.
const (
	MaxVariants     = 50
	MaxPayloadBytes = 16 << 10 // of a value, and of a payload
	MaxRules        = 100      // in an environment
	MaxConditions   = 50       // of a rule, those within others too
	MaxDepth        = 3        // of conditions within each other
	MaxValues       = 1000     // of a condition
	MaxValueLen     = 256      // code points of each
	MaxTargets      = 10_000   // people, in an environment
	MaxIDLen        = 256      // code points of what names somebody
	MaxPrereqs      = 10
	MaxEnvironments = 20
	MaxNameLen      = 255 // code points of a name of a rule
)

// Problem is what is wrong with a part of a definition.
type Problem struct {
	Path    string // such as rules[2].serve.rollout.percentage
	Rule    string // a short name of what is asked for, such as too_many
	Message string
}

// key matches the keys of flags, variants, segments and environments.
var key = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

// keyForm describes in an error what key matches.
const keyForm = "1 to 128 letters, digits, dots, dashes or underscores, starting with a letter, digit or underscore"

// ValidKey reports whether a flag, variant, segment or environment may be called so.
func ValidKey(text string) bool { return key.MatchString(text) }

// checker collects problems.
type checker struct {
	problems []Problem
	variants map[string]bool
	patterns map[string]bool // the expressions that were looked at
	// patternsSize is how many instructions they are compiled to.
	patternsSize int
}

func (c *checker) add(path, rule, message string, args ...any) {
	c.problems = append(c.problems, Problem{path, rule, fmt.Sprintf(message, args...)})
}

// atMost notes a list that is too long, and reports whether it is not.
func (c *checker) atMost(path string, n, most int) bool {
	if n > most {
		c.add(path, "too_many", "has %d entries; at most %d are allowed", n, most)
	}
	return n <= most
}

// text notes a text that is empty or too long.
func (c *checker) text(path, text string, most int) {
	switch n := utf8.RuneCountInString(text); {
	case n == 0:
		c.add(path, "required", "must not be empty")
	case n > most:
		c.add(path, "too_long", "has %d characters; at most %d are allowed", n, most)
	}
}

// Check returns all that is wrong with a definition by itself; whether the flags and
// segments that it names exist is for others to see.
func (d *Definition) Check() []Problem {
	c := &checker{variants: make(map[string]bool)}
	if !ValidKey(d.Key) {
		c.add("key", "invalid_key", "must be "+keyForm)
	}
	c.checkVariants(d.Variants)
	c.plan("", d)
	c.prerequisites(d)
	if c.atMost("environments", len(d.Environments), MaxEnvironments) {
		for _, environment := range slices.Sorted(maps.Keys(d.Environments)) {
			path, o := "environments."+environment, d.Environments[environment]
			if !ValidKey(environment) {
				c.add(path, "invalid_key", "must have a name of "+keyForm)
			}
			c.plan(path+".", d.in(&o))
		}
	}
	return c.problems
}

func (c *checker) checkVariants(all []Variant) {
	if len(all) == 0 {
		c.add("variants", "required", "must have at least one entry")
	}
	if !c.atMost("variants", len(all), MaxVariants) {
		return
	}
	for i, v := range all {
		path := fmt.Sprintf("variants[%d]", i)
		switch {
		case !ValidKey(v.Key):
			c.add(path+".key", "invalid_key", "must be "+keyForm)
		case c.variants[v.Key]:
			c.add(path+".key", "duplicate", "must be unique; another variant has the key %s", v.Key)
		}
		c.variants[v.Key] = true
		if len(v.Value) > MaxPayloadBytes {
			c.add(path+".value", "too_long", "has %d bytes; at most %d are allowed", len(v.Value), MaxPayloadBytes)
		}
		if len(v.Payload) > MaxPayloadBytes {
			c.add(path+".payload", "too_long", "has %d bytes; at most %d are allowed", len(v.Payload), MaxPayloadBytes)
		}
	}
}

// variant notes a name that no variant has.
func (c *checker) variant(path, name string) {
	switch {
	case name == "":
		c.add(path, "required", "must be the key of a variant")
	case !c.variants[name]:
		c.add(path, "unknown_variant", "must be the key of a variant; no variant has the key %q", name)
	}
}

func (c *checker) prerequisites(d *Definition) {
	if !c.atMost("prerequisites", len(d.Prerequisites), MaxPrereqs) {
		return
	}
	seen := make(map[string]bool)
	for i, p := range d.Prerequisites {
		path := fmt.Sprintf("prerequisites[%d]", i)
		switch {
		case !ValidKey(p.FlagKey):
			c.add(path+".flagKey", "invalid_key", "must be the key of a flag")
		case p.FlagKey == d.Key:
			c.add(path+".flagKey", "cycle", "must not be the flag itself")
		case seen[p.FlagKey]:
			c.add(path+".flagKey", "duplicate", "must be unique; %s appears twice", p.FlagKey)
		}
		seen[p.FlagKey] = true
		if len(p.Variants) == 0 {
			c.add(path+".variants", "required", "must have at least one entry")
		}
		c.atMost(path+".variants", len(p.Variants), MaxVariants)
	}
}

// plan looks at what an environment may change; path is "" for the base.
func (c *checker) plan(path string, d *Definition) {
	c.variant(path+"defaultVariant", d.DefaultVariant)
	c.variant(path+"offVariant", d.OffVariant)
	c.schedule(path+"schedule", d.Schedule)
	c.targets(path+"targets", d.Targets)
	if !c.atMost(path+"rules", len(d.Rules), MaxRules) {
		return
	}
	for i := range d.Rules {
		c.rule(fmt.Sprintf("%srules[%d]", path, i), &d.Rules[i])
	}
}

func (c *checker) schedule(path string, s Schedule) {
	if !s.StartsAt.IsZero() && !s.EndsAt.IsZero() && !s.EndsAt.After(s.StartsAt) {
		c.add(path+".endsAt", "order", "must be later than startsAt")
	}
}

func (c *checker) targets(path string, all []Target) {
	people := 0
	for i, t := range all {
		at := fmt.Sprintf("%s[%d]", path, i)
		c.variant(at+".variant", t.Variant)
		c.people(at+".", t.UserIDs, t.Emails)
		people += len(t.UserIDs) + len(t.Emails)
	}
	if people > MaxTargets {
		c.add(path, "too_many", "has %d users in all; at most %d are allowed", people, MaxTargets)
	}
}

func (c *checker) people(path string, users, emails []string) {
	for i, id := range users {
		c.text(fmt.Sprintf("%suserIds[%d]", path, i), id, MaxIDLen)
	}
	for i, email := range emails {
		c.text(fmt.Sprintf("%semails[%d]", path, i), email, MaxIDLen)
	}
}

func (c *checker) rule(path string, r *Rule) {
	if n := utf8.RuneCountInString(r.Name); n > MaxNameLen {
		c.add(path+".name", "too_long", "has %d characters; at most %d are allowed", n, MaxNameLen)
	}
	c.schedule(path+".schedule", r.Schedule)
	if r.Conditions != nil {
		c.group(path+".conditions", r.Conditions)
	}
	c.serve(path+".serve", &r.Serve)
	if r.Progressive != nil {
		c.progressive(path+".progressive", r)
	}
}

func (c *checker) progressive(path string, r *Rule) {
	p := r.Progressive
	if r.Serve.Rollout == nil {
		c.add(path, "needs_rollout", "requires serve.rollout")
	}
	c.percentage(path+".from", p.From)
	c.percentage(path+".to", p.To)
	if p.StartsAt.IsZero() {
		c.add(path+".startsAt", "required", "must be a time")
	}
	if !p.EndsAt.After(p.StartsAt) {
		c.add(path+".endsAt", "order", "must be later than startsAt")
	}
}

func (c *checker) serve(path string, s *Serve) {
	ways := 0
	for _, way := range []bool{s.Variant != "", s.Rollout != nil, s.Split != nil} {
		if way {
			ways++
		}
	}
	switch {
	case ways != 1:
		c.add(path, "one_of", "must have exactly one of variant, rollout and split")
	case s.Rollout != nil:
		c.rollout(path+".rollout", s.Rollout)
	case s.Split != nil:
		c.split(path, s)
	default:
		c.variant(path+".variant", s.Variant)
	}
	if s.Split == nil && (s.BucketBy != "" || s.Seed != "") {
		c.add(path, "needs_split", "must not have bucketBy or seed without split; set them in rollout instead")
	}
}

func (c *checker) rollout(path string, r *Rollout) {
	c.variant(path+".variant", r.Variant)
	c.percentage(path+".percentage", r.Percentage)
	c.drawing(path, r.BucketBy, r.Seed)
	if r.OnMiss != "" && r.OnMiss != MissContinue && r.OnMiss != MissStop {
		c.add(path+".onMiss", "one_of", "must be %s or %s", MissContinue, MissStop)
	}
}

func (c *checker) split(path string, s *Serve) {
	sum := 0.0
	for i, part := range *s.Split {
		at := fmt.Sprintf("%s.split[%d]", path, i)
		c.variant(at+".variant", part.Variant)
		c.percentage(at+".weight", part.Weight)
		sum += inBuckets(part.Weight)
	}
	if c.atMost(path+".split", len(*s.Split), MaxVariants); sum != buckets {
		c.add(path+".split", "sum", "must have weights that add up to 100; they add up to %v", sum*100/buckets)
	}
	c.drawing(path, s.BucketBy, s.Seed)
}

// drawing looks at what somebody is drawn by.
func (c *checker) drawing(path, by, seed string) {
	switch by {
	case "", attrUserID, attrAnonymousID, attrOrganization, attrTeam:
	default:
		if name, is := strings.CutPrefix(by, bucketAttr); !is || name == "" || utf8.RuneCountInString(name) > MaxIDLen {
			c.add(path+".bucketBy", "one_of",
				"must be userId, anonymousId, organizationId, teamId or attr:<attribute>")
		}
	}
	if n := utf8.RuneCountInString(seed); n > MaxIDLen {
		c.add(path+".seed", "too_long", "has %d characters; at most %d are allowed", n, MaxIDLen)
	}
}

// percentage notes what is none in steps of 0.001.
func (c *checker) percentage(path string, p float64) {
	n := p * buckets / 100
	if !(p >= 0 && p <= 100) || math.Abs(n-math.Round(n)) > 1e-6 {
		c.add(path, "percentage", "must be a number from 0 to 100 in steps of 0.001")
	}
}

// Check returns all that is wrong with a segment. It may ask for no other one.
func (s *Segment) Check() []Problem {
	c := &checker{}
	if !ValidKey(s.Key) {
		c.add("key", "invalid_key", "must be "+keyForm)
	}
	c.people("", s.UserIDs, s.Emails)
	if n := len(s.UserIDs) + len(s.Emails); n > MaxTargets {
		c.add("userIds", "too_many", "and emails have %d entries together; at most %d are allowed", n, MaxTargets)
	}
	if s.Conditions != nil {
		c.group("conditions", s.Conditions)
		if s.Conditions.asks(segments) {
			c.add("conditions", "nested_segment", "must not use the operator segment")
		}
	}
	if len(s.UserIDs)+len(s.Emails) == 0 && (s.Conditions == nil || s.Conditions.count() == 0) {
		c.add("conditions", "required", "must not be empty if userIds and emails are empty")
	}
	return c.problems
}
