package management

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// Of what stands in a definition and holds no time, the JSON of package flageval is that
// of the wire.
type (
	flagVariants   = shaped[[]flageval.Variant, []flagVariant]
	conditionsBody = shaped[flageval.Conditions, flagConditions]
	serveBody      = shaped[flageval.Serve, flagServe]
)

type flagVariant struct {
	Key         string          `json:"key" minLength:"1" maxLength:"128" doc:"Key of the variant, with the same form as the key of a flag."`
	Value       json.RawMessage `json:"value" doc:"Value that is served, of the flag's type; at most 16 KiB."`
	Payload     json.RawMessage `json:"payload,omitempty" doc:"Any JSON that accompanies the value; at most 16 KiB."`
	Description string          `json:"description,omitempty" maxLength:"2000"`
}

type flagConditions struct {
	All []flagCondition `json:"all,omitempty" maxItems:"50" doc:"All of these conditions must be met."`
	Any []flagCondition `json:"any,omitempty" maxItems:"50" doc:"At least one of these conditions must be met."`
}

type flagCondition struct {
	All             []flagCondition `json:"all,omitempty" maxItems:"50" doc:"Nested conditions that must all be met; at most three levels deep. No other field may be set beside it."`
	Any             []flagCondition `json:"any,omitempty" maxItems:"50" doc:"Nested conditions of which one must be met. No other field may be set beside it."`
	Attribute       string          `json:"attribute,omitempty" maxLength:"256" doc:"Attribute of the context: userId, email, anonymousId, organizationId, teamId, $country, $ip, or a custom attribute."`
	Op              operatorName    `json:"op,omitempty" doc:"Comparison operator."`
	Values          []any           `json:"values,omitempty" maxItems:"1000" doc:"Values to compare with, as the operator takes them: strings of at most 256 characters, numbers and booleans."`
	Negate          bool            `json:"negate,omitempty" doc:"Inverts the condition. Except for exists, the condition is never met if the attribute is missing or has another type."`
	CaseInsensitive bool            `json:"caseInsensitive,omitempty"`
}

// operatorName is an operator of a condition.
type operatorName string

// Schema lists the operators.
func (operatorName) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, op := range flageval.Operators() {
		s.Enum = append(s.Enum, op[0])
	}
	return s
}

type flagServe struct {
	Variant  string       `json:"variant,omitempty" maxLength:"128" doc:"Key of the variant to serve."`
	Rollout  *flagRollout `json:"rollout,omitempty" doc:"Serves a variant to a percentage of users."`
	Split    []flagShare  `json:"split,omitempty" maxItems:"50" doc:"Divides users among variants; the weights add up to 100."`
	BucketBy string       `json:"bucketBy,omitempty" maxLength:"256" doc:"Attribute whose value selects the variant: userId, anonymousId, organizationId, teamId or attr:NAME. userId falls back to the e-mail address. Default: userId."`
	Seed     string       `json:"seed,omitempty" maxLength:"256" doc:"Seed of the draw; the flag's key if absent."`
}

type flagRollout struct {
	Variant    string  `json:"variant" maxLength:"128"`
	Percentage float64 `json:"percentage" minimum:"0" maximum:"100" doc:"Percentage, in steps of 0.001."`
	BucketBy   string  `json:"bucketBy,omitempty" maxLength:"256" doc:"As for split."`
	Seed       string  `json:"seed,omitempty" maxLength:"256" doc:"As for split."`
	OnMiss     string  `json:"onMiss,omitempty" enum:"continue,stop" doc:"What happens to users outside the percentage: continue with the next rule, or stop with the default variant; continue if absent."`
}

type flagShare struct {
	Variant string  `json:"variant" maxLength:"128"`
	Weight  float64 `json:"weight" minimum:"0" maximum:"100" doc:"Percentage, in steps of 0.001."`
}

type prerequisiteFields struct {
	FlagKey  string   `json:"flagKey" minLength:"1" maxLength:"128"`
	Variants []string `json:"variants" minItems:"1" maxItems:"50" maxLength:"128" doc:"Variants of which the flag must serve one."`
}

type targetFields struct {
	Variant string   `json:"variant" minLength:"1" maxLength:"128"`
	UserIDs []string `json:"userIds,omitempty" maxItems:"10000" maxLength:"256"`
	Emails  []string `json:"emails,omitempty" maxItems:"10000" maxLength:"256" doc:"Compared without regard to case."`
}

type scheduleFields struct {
	StartsAt *rpc.Time `json:"startsAt,omitempty" doc:"Start time, included; no start if absent."`
	EndsAt   *rpc.Time `json:"endsAt,omitempty" doc:"End time, excluded; no end if absent."`
}

type progressiveFields struct {
	From     float64  `json:"from" minimum:"0" maximum:"100"`
	To       float64  `json:"to" minimum:"0" maximum:"100"`
	StartsAt rpc.Time `json:"startsAt"`
	EndsAt   rpc.Time `json:"endsAt"`
}

type flagRule struct {
	ID          string             `json:"id,omitempty" maxLength:"64" doc:"Id of the rule; generated if absent."`
	Name        string             `json:"name,omitempty" maxLength:"255"`
	Enabled     *bool              `json:"enabled,omitempty" doc:"Whether the rule is evaluated; true if absent."`
	Schedule    *scheduleFields    `json:"schedule,omitempty" doc:"Time range in which the rule is evaluated."`
	Conditions  *conditionsBody    `json:"conditions,omitempty" doc:"Conditions that a user must meet; everyone if absent."`
	Serve       serveBody          `json:"serve" doc:"Exactly one of variant, rollout and split."`
	Progressive *progressiveFields `json:"progressive,omitempty" doc:"Moves the percentage of the rollout linearly over time."`
}

type flagOverride struct {
	Status         *string         `json:"status,omitempty" enum:"active,inactive"`
	Schedule       *scheduleFields `json:"schedule,omitempty"`
	DefaultVariant *string         `json:"defaultVariant,omitempty" minLength:"1" maxLength:"128"`
	OffVariant     *string         `json:"offVariant,omitempty" minLength:"1" maxLength:"128"`
	Targets        *[]targetFields `json:"targets,omitempty" maxItems:"10000"`
	Rules          *[]flagRule     `json:"rules,omitempty" maxItems:"100"`
}

func (f *scheduleFields) schedule() (s flageval.Schedule) {
	if f == nil {
		return s
	}
	if f.StartsAt != nil {
		s.StartsAt = f.StartsAt.Time
	}
	if f.EndsAt != nil {
		s.EndsAt = f.EndsAt.Time
	}
	return s
}

func newSchedule(s flageval.Schedule) *scheduleFields {
	if s == (flageval.Schedule{}) {
		return nil
	}
	return &scheduleFields{rpc.At(s.StartsAt), rpc.At(s.EndsAt)}
}

func (f prerequisiteFields) prerequisite() flageval.Prerequisite { return flageval.Prerequisite(f) }

func newPrerequisite(p flageval.Prerequisite) prerequisiteFields { return prerequisiteFields(p) }

func (f targetFields) target() flageval.Target { return flageval.Target(f) }

func newTarget(t flageval.Target) targetFields { return targetFields(t) }

func (f flagRule) rule() flageval.Rule {
	r := flageval.Rule{ID: f.ID, Name: f.Name, Enabled: f.Enabled, Schedule: f.Schedule.schedule(), Serve: f.Serve.V}
	if f.Conditions != nil {
		r.Conditions = &f.Conditions.V
	}
	if p := f.Progressive; p != nil {
		r.Progressive = &flageval.Progressive{From: p.From, To: p.To, StartsAt: p.StartsAt.Time, EndsAt: p.EndsAt.Time}
	}
	return r
}

func newFlagRule(r flageval.Rule) flagRule {
	f := flagRule{ID: r.ID, Name: r.Name, Enabled: r.Enabled, Schedule: newSchedule(r.Schedule), Serve: serveBody{r.Serve}}
	if r.Conditions != nil {
		f.Conditions = &conditionsBody{*r.Conditions}
	}
	if p := r.Progressive; p != nil {
		f.Progressive = &progressiveFields{p.From, p.To, rpc.Time{Time: p.StartsAt}, rpc.Time{Time: p.EndsAt}}
	}
	return f
}

func (f flagOverride) override() flageval.Override {
	o := flageval.Override{DefaultVariant: f.DefaultVariant, OffVariant: f.OffVariant}
	if f.Status != nil {
		active := *f.Status == "active"
		o.Active = &active
	}
	if f.Schedule != nil {
		s := f.Schedule.schedule()
		o.Schedule = &s
	}
	o.Targets, o.Rules = eachOf(f.Targets, targetFields.target), eachOf(f.Rules, flagRule.rule)
	return o
}

func newFlagOverride(o flageval.Override) flagOverride {
	f := flagOverride{DefaultVariant: o.DefaultVariant, OffVariant: o.OffVariant}
	if o.Active != nil {
		status := map[bool]string{true: "active", false: "inactive"}[*o.Active]
		f.Status = &status
	}
	if o.Schedule != nil {
		f.Schedule = &scheduleFields{rpc.At(o.Schedule.StartsAt), rpc.At(o.Schedule.EndsAt)}
	}
	f.Targets, f.Rules = eachOf(o.Targets, newTarget), eachOf(o.Rules, newFlagRule)
	return f
}

// eachOf is each of a list that may be absent.
func eachOf[In, Out any](all *[]In, to func(In) Out) *[]Out {
	if all == nil {
		return nil
	}
	out := each(*all, to)
	return &out
}

// eachNamed is each of what has names.
func eachNamed[In, Out any](all map[string]In, to func(In) Out) map[string]Out {
	out := make(map[string]Out, len(all))
	for name, one := range all {
		out[name] = to(one)
	}
	return out
}

// orNull is the JSON of a value that may be absent.
func orNull(text json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return json.RawMessage("null")
	}
	return text
}
