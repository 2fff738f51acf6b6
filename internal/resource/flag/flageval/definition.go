package flageval

import (
	"encoding/json"
	"time"
)

// Definition says what a flag serves to whom.
type Definition struct {
	Key    string `json:"key"`
	Active bool   `json:"active"`
	// Schedule bounds the time in which the flag serves anything but OffVariant.
	Schedule       Schedule       `json:"schedule,omitzero"`
	Variants       []Variant      `json:"variants"`
	DefaultVariant string         `json:"defaultVariant"` // served where nothing else is
	OffVariant     string         `json:"offVariant"`     // served while the flag is off
	Prerequisites  []Prerequisite `json:"prerequisites,omitempty"`
	Targets        []Target       `json:"targets,omitempty"`
	Rules          []Rule         `json:"rules,omitempty"`
	// Environments are what is otherwise in an environment, by its name.
	Environments map[string]Override `json:"environments,omitempty"`
}

// Variant is one of the values of a flag.
type Variant struct {
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Payload json.RawMessage `json:"payload,omitempty"` // whatever goes with it; none for nil
	// Description is for those who manage the flag.
	Description string `json:"description,omitempty"`
}

// Override replaces what it names of a definition in one environment; nil keeps it.
type Override struct {
	Active         *bool     `json:"active,omitempty"`
	Schedule       *Schedule `json:"schedule,omitempty"`
	DefaultVariant *string   `json:"defaultVariant,omitempty"`
	OffVariant     *string   `json:"offVariant,omitempty"`
	Targets        *[]Target `json:"targets,omitempty"`
	Rules          *[]Rule   `json:"rules,omitempty"`
}

// Schedule is a time; the zero value is all of it.
type Schedule struct {
	StartsAt time.Time `json:"startsAt,omitzero"` // the first instant; zero: from the beginning
	EndsAt   time.Time `json:"endsAt,omitzero"`   // the first instant after it; zero: never
}

// Prerequisite is a flag that has to serve one of Variants.
type Prerequisite struct {
	FlagKey  string   `json:"flagKey"`
	Variants []string `json:"variants"`
}

// Target gives a variant to those whom it names.
type Target struct {
	Variant string   `json:"variant"`
	UserIDs []string `json:"userIds,omitempty"`
	Emails  []string `json:"emails,omitempty"` // whatever their case
}

// Rule serves something to those who meet its conditions.
type Rule struct {
	ID      string `json:"id,omitempty"`
	Name    string `json:"name,omitempty"`
	Enabled *bool  `json:"enabled,omitempty"` // nil: it is
	// Schedule bounds the time in which the rule is looked at.
	Schedule Schedule `json:"schedule,omitzero"`
	// Conditions are met by everybody where there are none.
	Conditions *Conditions `json:"conditions,omitempty"`
	Serve      Serve       `json:"serve"`
	// Progressive says the percentage of a rollout by time.
	Progressive *Progressive `json:"progressive,omitempty"`
}

// Serve is what a rule serves: exactly one of Variant, Rollout and Split.
type Serve struct {
	Variant string   `json:"variant,omitempty"`
	Rollout *Rollout `json:"rollout,omitempty"`
	Split   *[]Share `json:"split,omitempty"`
	// BucketBy and Seed are those of Split; see Rollout.
	BucketBy string `json:"bucketBy,omitempty"`
	Seed     string `json:"seed,omitempty"`
}

// Rollout serves a variant to a percentage of those who are there, always the same ones
// first.
type Rollout struct {
	Variant    string  `json:"variant"`
	Percentage float64 `json:"percentage"` // 0 to 100 in steps of 0.001
	// BucketBy is what somebody is drawn by: userId, which falls back to email,
	// anonymousId, organizationId, teamId, or attr:NAME, an attribute that is a text: by
	// others nobody is drawn. Empty means userId.
	BucketBy string `json:"bucketBy,omitempty"`
	Seed     string `json:"seed,omitempty"`   // empty means the flag's key
	OnMiss   string `json:"onMiss,omitempty"` // MissContinue, which empty means, or MissStop
}

// What becomes of those whom a rollout misses.
const (
	MissContinue = "continue" // the next rule is looked at
	MissStop     = "stop"     // they get the default variant
)

// Share is a variant's part of a split.
type Share struct {
	Variant string  `json:"variant"`
	Weight  float64 `json:"weight"` // percent, in steps of 0.001; all together are 100
}

// Progressive is a percentage that grows or falls evenly from one time to another.
type Progressive struct {
	From     float64   `json:"from"`
	To       float64   `json:"to"`
	StartsAt time.Time `json:"startsAt"`
	EndsAt   time.Time `json:"endsAt"`
}

// Conditions are met when all of All or, where that is empty, one of Any is.
type Conditions struct {
	All []Condition `json:"all,omitempty"`
	Any []Condition `json:"any,omitempty"`
}

// Condition is a question about one attribute of a context, or Conditions within others.
type Condition struct {
	Conditions

	Attribute       string   `json:"attribute,omitempty"`
	Op              string   `json:"op,omitempty"`
	Values          Operands `json:"values,omitempty"`
	Negate          bool     `json:"negate,omitempty"`
	CaseInsensitive bool     `json:"caseInsensitive,omitempty"`
}

// nested reports whether the condition stands for others.
func (c *Condition) nested() bool { return len(c.All)+len(c.Any) > 0 }

// Segment is a group of people that several flags can ask for.
type Segment struct {
	Key        string      `json:"key"`
	UserIDs    []string    `json:"userIds,omitempty"`
	Emails     []string    `json:"emails,omitempty"` // whatever their case
	Conditions *Conditions `json:"conditions,omitempty"`
}
