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
	OrganizationID string         `json:"organizationId,omitempty" maxLength:"256" doc:"Organization of the user, as used in the flag's rules."`
	TeamID         string         `json:"teamId,omitempty" maxLength:"256"`
	Country        string         `json:"country,omitempty" maxLength:"2" doc:"Value of the attribute $country."`
	IP             string         `json:"ip,omitempty" maxLength:"64" doc:"Value of the attribute $ip."`
	Attributes     map[string]any `json:"attributes,omitempty" maxProperties:"200" doc:"Custom attributes: strings, numbers, booleans, and lists of these."`
}

type flagDraft struct {
	FlagSettings

	Type   string `json:"type,omitempty" enum:"boolean,string,number,json" doc:"Type of a flag that does not exist; boolean if absent."`
	Status string `json:"status,omitempty" enum:"active,inactive" doc:"Status of the flag; if absent, that of the existing flag, or active for a new one."`
}

type flagEvaluate struct {
	rpc.InOrganization

	WebsiteID   rpc.Patch[string] `json:"websiteId,omitzero" minLength:"1" maxLength:"128" nullable:"true" doc:"Website of the flags; if absent, only flags of all websites are evaluated."`
	Key         string            `json:"key,omitempty" minLength:"1" maxLength:"128" doc:"Key of the flag."`
	Keys        []string          `json:"keys,omitempty" minItems:"1" maxItems:"20" uniqueItems:"true" maxLength:"128" doc:"Keys of several flags. Send either this field or the field key."`
	Context     *flagContext      `json:"context,omitempty" doc:"Context to evaluate for."`
	Contexts    []flagContext     `json:"contexts,omitempty" minItems:"1" maxItems:"100" doc:"List of contexts to evaluate. Send either this field or the field context."`
	Environment string            `json:"environment,omitempty" minLength:"1" maxLength:"128" doc:"Environment to evaluate in; the base if it is absent or the flag does not have it."`
	At          *rpc.Time         `json:"at,omitempty" doc:"Time to evaluate at; now if absent."`
	Draft       *flagDraft        `json:"draft,omitempty" doc:"Unsaved changes to the flag. The response reports their effect beside the current result. Takes the fields of update, or of create if the flag does not exist."`
	Explain     bool              `json:"explain,omitempty" doc:"Whether to report the evaluation steps."`
}

type evaluatedBody struct {
	Environment *string      `json:"environment" nullable:"true"`
	At          *rpc.Time    `json:"at"`
	Results     []resultBody `json:"results" doc:"Ordered by flag key, then by context."`
}

type resultBody struct {
	Key     string                    `json:"key"`
	Context int                       `json:"context" doc:"Index of the context in the request."`
	Live    *nullable[evaluationBody] `json:"live" nullable:"true" doc:"Result of the stored flag; null if the flag does not exist or is archived."`
	Draft   *evaluationBody           `json:"draft,omitempty" doc:"Result with the draft."`
}

type evaluationBody struct {
	FlagID   string          `json:"flagId"`
	Version  int64           `json:"version"`
	Enabled  bool            `json:"enabled" doc:"Value of a boolean flag. For other types, whether the flag is on and its prerequisites are met."`
	Variant  string          `json:"variant"`
	Value    json.RawMessage `json:"value"`
	Payload  json.RawMessage `json:"payload"`
	Reason   string          `json:"reason" enum:"off,prerequisite_failed,target,rule,rollout,split,rollout_miss,default"`
	Rule     *int            `json:"rule" nullable:"true" doc:"Index of the rule that decided."`
	RuleID   *string         `json:"ruleId" nullable:"true"`
	Steps    []stepBody      `json:"steps,omitempty" doc:"Evaluation steps, with explain; at most 200."`
	StepsCut bool            `json:"stepsCut,omitempty" doc:"Whether there were more steps."`
}

type stepBody struct {
	Flag   string `json:"flag" doc:"Key of the evaluated flag, which can be a prerequisite."`
	Looked string `json:"looked" enum:"off,prerequisite_failed,target,rule,rollout,split,rollout_miss,default" doc:"Evaluated part of the flag, by the reason that it can lead to."`
	Rule   *int   `json:"rule" nullable:"true" doc:"Index of the rule."`
	Met    bool   `json:"met" doc:"Whether this step decided; otherwise the evaluation continued."`
	Bucket *int   `json:"bucket" nullable:"true" doc:"Bucket that was drawn, out of 100,000."`
	UpTo   *int   `json:"upTo" nullable:"true" doc:"First bucket that the rollout does not include."`
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
		return nil, apierr.Invalid("key", "one_of", "exactly one of key and keys is required")
	case (in.Context == nil) == (len(in.Contexts) == 0):
		return nil, apierr.Invalid("context", "one_of", "exactly one of context and contexts is required")
	case in.Draft != nil && in.Key == "" && len(in.Keys) != 1:
		return nil, apierr.Invalid("draft", "one_key", "draft requires key")
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
		bad.Add("contexts", "too_many", "contexts times keys must be at most %d; it is %d", flag.MaxResults, n)
	}
	return q, bad.Err()
}

func (c *flagContext) context(bad *apierr.Rejection, at string) flageval.Context {
	is := flageval.Context{
		UserID: c.UserID, Email: c.Email, AnonymousID: c.AnonymousID, OrganizationID: c.OrganizationID, TeamID: c.TeamID,
		Country: c.Country, Attributes: make(map[string]flageval.Value, len(c.Attributes)),
	}
	bad.Merge(flag.CheckAttributes(at+".attributes", c.Attributes))
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
