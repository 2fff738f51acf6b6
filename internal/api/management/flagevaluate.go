package management

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

type flagContext struct {
	UserID         string         `json:"userId,omitempty" maxLength:"256"`
	Email          string         `json:"email,omitempty" maxLength:"256"`
	AnonymousID    string         `json:"anonymousId,omitempty" maxLength:"256"`
	OrganizationID string         `json:"organizationId,omitempty" maxLength:"256" doc:"The organization that the person is in, as the flag's rules mean it."`
	TeamID         string         `json:"teamId,omitempty" maxLength:"256"`
	Country        string         `json:"country,omitempty" maxLength:"2" doc:"The attribute $country."`
	IP             string         `json:"ip,omitempty" maxLength:"64" doc:"The attribute $ip."`
	Attributes     map[string]any `json:"attributes,omitempty" maxProperties:"200" doc:"The caller's own: texts, numbers, booleans, and lists of such."`
}

type flagDraft struct {
	FlagSettings

	Type   string `json:"type,omitempty" enum:"boolean,string,number,json" doc:"Of a flag that does not exist; boolean where it is absent."`
	Status string `json:"status,omitempty" enum:"active,inactive" doc:"That of the flag where it is absent; active where there is no such flag."`
}

type flagEvaluate struct {
	rpc.InOrganization

	WebsiteID   rpc.Patch[string] `json:"websiteId,omitzero" minLength:"1" maxLength:"128" nullable:"true" doc:"The website that is asked for; without it flags of all websites only."`
	Key         string            `json:"key,omitempty" minLength:"1" maxLength:"128" doc:"The flag that is evaluated."`
	Keys        []string          `json:"keys,omitempty" minItems:"1" maxItems:"20" uniqueItems:"true" maxLength:"128" doc:"Several flags, instead of key."`
	Context     *flagContext      `json:"context,omitempty" doc:"For whom."`
	Contexts    []flagContext     `json:"contexts,omitempty" minItems:"1" maxItems:"100" doc:"For several, instead of context."`
	Environment string            `json:"environment,omitempty" minLength:"1" maxLength:"128" doc:"In which environment; the base where it is absent or the flag has no such one."`
	At          *rpc.Time         `json:"at,omitempty" doc:"When; now where it is absent."`
	Draft       *flagDraft        `json:"draft,omitempty" doc:"Changes of the one flag that are not made, whose effect is told beside what it serves; as update takes them, or create where there is no such flag."`
	Explain     bool              `json:"explain,omitempty" doc:"Tell also what was looked at on the way."`
}

type evaluatedBody struct {
	Environment *string      `json:"environment" nullable:"true"`
	At          *rpc.Time    `json:"at"`
	Results     []resultBody `json:"results" doc:"Flag by flag in the order of keys, and each in the order of contexts."`
}

type resultBody struct {
	Key     string                    `json:"key"`
	Context int                       `json:"context" doc:"The place of the context among those that were sent."`
	Live    *nullable[evaluationBody] `json:"live" nullable:"true" doc:"What is served; null where there is no such flag, or it is archived."`
	Draft   *evaluationBody           `json:"draft,omitempty" doc:"What would be served with the draft."`
}

type evaluationBody struct {
	FlagID   string          `json:"flagId"`
	Version  int64           `json:"version"`
	Enabled  bool            `json:"enabled" doc:"The value of a boolean flag; of others, whether they are on and their prerequisites are met."`
	Variant  string          `json:"variant"`
	Value    json.RawMessage `json:"value"`
	Payload  json.RawMessage `json:"payload"`
	Reason   string          `json:"reason" enum:"off,prerequisite_failed,target,rule,rollout,split,rollout_miss,default"`
	Rule     *int            `json:"rule" nullable:"true" doc:"The place of the rule that decided."`
	RuleID   *string         `json:"ruleId" nullable:"true"`
	Steps    []stepBody      `json:"steps,omitempty" doc:"With explain: what was looked at, up to 200 steps."`
	StepsCut bool            `json:"stepsCut,omitempty" doc:"Whether there were more."`
}

type stepBody struct {
	Flag   string `json:"flag" doc:"The flag that was looked at, which may be a prerequisite."`
	Looked string `json:"looked" enum:"off,prerequisite_failed,target,rule,rollout,split,rollout_miss,default" doc:"At what, by the reason that it is for."`
	Rule   *int   `json:"rule" nullable:"true" doc:"The place of the rule."`
	Met    bool   `json:"met" doc:"Whether it decided, or let pass what comes next."`
	Bucket *int   `json:"bucket" nullable:"true" doc:"Of 100,000, the one that was drawn."`
	UpTo   *int   `json:"upTo" nullable:"true" doc:"Of a rollout, the first bucket that it does not reach."`
}

func (s *Flags) evaluate(ctx context.Context, call *rpc.Call, in *flagEvaluate) (*evaluatedBody, error) {
	q, err := in.question()
	if err != nil {
		return nil, err
	}
	q.OrganizationID, q.Reach = call.OrganizationID(), call.Principal.WebsiteID
	if q.WebsiteID, err = s.within(ctx, call, in.WebsiteID); err != nil {
		return nil, err
	}
	if q.At.IsZero() {
		q.At = s.Service.Now()
	}
	responses, err := s.Service.Evaluate(ctx, *q)
	if err != nil {
		return nil, err
	}
	out := &evaluatedBody{
		Environment: wire.OrNull(in.Environment), At: rpc.At(q.At), Results: make([]resultBody, len(responses)),
	}
	for i, a := range responses {
		out.Results[i] = resultBody{
			Key: a.Key, Context: a.Context, Live: orNone(newEvaluation(a.Live, in.Environment)),
			Draft: newEvaluation(a.Draft, in.Environment),
		}
	}
	return out, nil
}

func (in *flagEvaluate) question() (*flag.Question, error) {
	q := &flag.Question{Keys: in.Keys, Environment: in.Environment, Explain: in.Explain}
	switch {
	case (in.Key == "") == (len(in.Keys) == 0):
		return nil, apierr.Invalid("key", "one_of", "give one of key and keys")
	case (in.Context == nil) == (len(in.Contexts) == 0):
		return nil, apierr.Invalid("context", "one_of", "give one of context and contexts")
	case in.Draft != nil && in.Key == "" && len(in.Keys) != 1:
		return nil, apierr.Invalid("draft", "one_key", "draft is for a question about one flag")
	}
	if in.Key != "" {
		q.Keys = []string{in.Key}
	}
	if in.At != nil {
		q.At = in.At.Time
	}
	if d := in.Draft; d != nil {
		q.Draft = &flag.Draft{Fields: d.fields(), Type: flag.Boolean, State: flag.State(d.Status)}
		if d.Type != "" {
			q.Draft.Type = flag.Type(d.Type)
		}
	}
	var bad apierr.Rejection
	if in.Context != nil {
		q.Contexts = []flageval.Context{in.Context.context(&bad, "context")}
	}
	for i := range in.Contexts {
		q.Contexts = append(q.Contexts, in.Contexts[i].context(&bad, fmt.Sprintf("contexts[%d]", i)))
	}
	if n := len(q.Keys) * len(q.Contexts); n > flag.MaxResults {
		bad.Add("contexts", "too_many", "contexts times keys must be at most %d and are %d", flag.MaxResults, n)
	}
	return q, bad.Err()
}

func (c *flagContext) context(bad *apierr.Rejection, at string) flageval.Context {
	is := flageval.Context{
		UserID: c.UserID, Email: c.Email, AnonymousID: c.AnonymousID, OrganizationID: c.OrganizationID, TeamID: c.TeamID,
		Country: c.Country, Attributes: make(map[string]flageval.Value, len(c.Attributes)),
	}
	for name, v := range c.Attributes {
		is.Attributes[name] = flageval.ValueOf(v)
	}
	if c.IP != "" {
		var err error
		if is.IP, err = netip.ParseAddr(c.IP); err != nil {
			bad.Add(at+".ip", "invalid_address", "%s.ip must be an IP address", at)
		}
	}
	return is
}

func newEvaluation(e *flag.Evaluation, environment string) *evaluationBody {
	if e == nil {
		return nil
	}
	v := e.Variant()
	b := &evaluationBody{
		FlagID: e.Flag.ID, Version: e.Flag.Version, Enabled: e.On(), Variant: v.Key, Value: orNull(v.Value),
		Payload: orNull(v.Payload),
		Reason:  e.Result.Reason.String(), Rule: known(e.Result.Rule), RuleID: wire.OrNull(e.RuleID(environment)),
		StepsCut: e.Cut,
	}
	for _, s := range e.Steps {
		b.Steps = append(b.Steps, newStep(s))
	}
	return b
}

func newStep(s flageval.Step) stepBody {
	b := stepBody{Flag: s.Flag, Looked: s.Looked.String(), Rule: known(s.Rule), Met: s.Met, Bucket: known(s.Bucket)}
	if s.Looked == flageval.ByRollout && s.Bucket >= 0 {
		b.UpTo = &s.UpTo
	}
	return b
}

// known is a number that is not there where it is negative.
func known(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}
