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
	Key         string          `json:"key" minLength:"1" maxLength:"128" doc:"What the variant is called, as a flag is."`
	Value       json.RawMessage `json:"value" doc:"What is served, of the flag's type; at most 16 KiB."`
	Payload     json.RawMessage `json:"payload,omitempty" doc:"What goes with the value, whatever it is; at most 16 KiB."`
	Description string          `json:"description,omitempty" maxLength:"2000"`
}

type flagConditions struct {
	All []flagCondition `json:"all,omitempty" maxItems:"50" doc:"All of them have to be met."`
	Any []flagCondition `json:"any,omitempty" maxItems:"50" doc:"One of them has to be met."`
}

type flagCondition struct {
	All             []flagCondition `json:"all,omitempty" maxItems:"50" doc:"Conditions instead of a question, all of which have to be met; three deep at most. Nothing else stands beside them."`
	Any             []flagCondition `json:"any,omitempty" maxItems:"50" doc:"Conditions instead of a question, one of which has to be met. Nothing else stands beside them."`
	Attribute       string          `json:"attribute,omitempty" maxLength:"256" doc:"What of the context is asked: userId, email, anonymousId, organizationId, teamId, $country, $ip, or an attribute of the caller's own."`
	Op              operatorName    `json:"op,omitempty" doc:"How it is asked."`
	Values          []any           `json:"values,omitempty" maxItems:"1000" doc:"Texts of at most 256 characters, numbers and booleans, as the operator takes them."`
	Negate          bool            `json:"negate,omitempty" doc:"Met by what would not be; never by an attribute that is missing or of another type, but for exists."`
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
	Variant  string       `json:"variant,omitempty" maxLength:"128" doc:"Serve this variant."`
	Rollout  *flagRollout `json:"rollout,omitempty" doc:"Serve a variant to a percentage."`
	Split    []flagShare  `json:"split,omitempty" maxItems:"50" doc:"Divide among variants; the weights are 100 together."`
	BucketBy string       `json:"bucketBy,omitempty" maxLength:"256" doc:"What split draws by: userId, which falls back to email, anonymousId, organizationId, teamId or attr:NAME; userId where it is absent."`
	Seed     string       `json:"seed,omitempty" maxLength:"256" doc:"What split draws with; the flag's key where it is absent."`
}

type flagRollout struct {
	Variant    string  `json:"variant" maxLength:"128"`
	Percentage float64 `json:"percentage" minimum:"0" maximum:"100" doc:"In steps of 0.001."`
	BucketBy   string  `json:"bucketBy,omitempty" maxLength:"256" doc:"As that of a split."`
	Seed       string  `json:"seed,omitempty" maxLength:"256" doc:"As that of a split."`
	OnMiss     string  `json:"onMiss,omitempty" enum:"continue,stop" doc:"What becomes of those whom the percentage misses: the next rule, or the default variant; continue where it is absent."`
}

type flagShare struct {
	Variant string  `json:"variant" maxLength:"128"`
	Weight  float64 `json:"weight" minimum:"0" maximum:"100" doc:"Percent, in steps of 0.001."`
}

type prerequisiteFields struct {
	FlagKey  string   `json:"flagKey" minLength:"1" maxLength:"128"`
	Variants []string `json:"variants" minItems:"1" maxItems:"50" maxLength:"128" doc:"The variants of which it has to serve one."`
}

type targetFields struct {
	Variant string   `json:"variant" minLength:"1" maxLength:"128"`
	UserIDs []string `json:"userIds,omitempty" maxItems:"10000" maxLength:"256"`
	Emails  []string `json:"emails,omitempty" maxItems:"10000" maxLength:"256" doc:"Whatever their case."`
}

type scheduleFields struct {
	StartsAt *rpc.Time `json:"startsAt,omitempty" doc:"The first instant; absent for from the beginning."`
	EndsAt   *rpc.Time `json:"endsAt,omitempty" doc:"The first instant after it; absent for never."`
}

type progressiveFields struct {
	From     float64  `json:"from" minimum:"0" maximum:"100"`
	To       float64  `json:"to" minimum:"0" maximum:"100"`
	StartsAt rpc.Time `json:"startsAt"`
	EndsAt   rpc.Time `json:"endsAt"`
}

type flagRule struct {
	ID          string             `json:"id,omitempty" maxLength:"64" doc:"Made up where it is absent."`
	Name        string             `json:"name,omitempty" maxLength:"255"`
	Enabled     *bool              `json:"enabled,omitempty" doc:"Whether the rule is looked at; true where it is absent."`
	Schedule    *scheduleFields    `json:"schedule,omitempty" doc:"When the rule is looked at."`
	Conditions  *conditionsBody    `json:"conditions,omitempty" doc:"Who the rule is for; everybody where it is absent."`
	Serve       serveBody          `json:"serve" doc:"Exactly one of variant, rollout and split."`
	Progressive *progressiveFields `json:"progressive,omitempty" doc:"A percentage of the rollout that goes evenly from one to another."`
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
