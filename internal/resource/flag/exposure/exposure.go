package exposure

import (
	"time"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/website"
)

// Exposure is a variant that somebody was given. Its texts are valid only while somebody
// takes it.
type Exposure struct {
	Website *website.Website
	Flag    *flagset.Flag
	Variant int // its place among the flag's variants
	Reason  flageval.Reason
	Drawn   bool // as of flageval.Result
	// Told says that a client tells of it, which does not say why: Reason and Drawn are not
	// read.
	Told bool

	UserID      string
	Email       string
	AnonymousID string
	// Country is that of the caller's address, or what a caller with an API key says, ISO 3166-1
	// alpha-2; empty where it is not known. It decides about the ids that a website hides by country.
	Country     string
	Environment string // one that the flag does not have is the base
	Time        time.Time
}

// byPercentage reports whether a percentage decided about somebody: one that they are within,
// also where it is everybody, or one that missed them on the way to what they got.
func (e *Exposure) byPercentage() bool {
	return e.Drawn || e.Reason == flageval.ByRollout || e.Reason == flageval.BySplit || e.Reason == flageval.RolloutMiss
}

// Counts reports whether the flag asks for the exposure: where it asks for those of
// percentages alone, one that a client tells of counts if the flag has any.
func (e *Exposure) Counts() bool {
	switch mode := e.Flag.About.Exposures.Mode; {
	case mode == flag.ExposeAll:
		return true
	case mode == flag.ExposeOff:
		return false
	case !e.Told:
		return e.byPercentage()
	}
	d := e.Flag.Definition
	if o, ok := d.Environments[e.Environment]; ok && o.Rules != nil {
		return draws(*o.Rules)
	}
	return draws(d.Rules)
}

// draws reports whether a percentage decides in any of the rules.
func draws(rules []flageval.Rule) bool {
	for i := range rules {
		if s := &rules[i].Serve; s.Rollout != nil || s.Split != nil {
			return true
		}
	}
	return false
}

// environment is the one that is told: names that the flag does not have would be without
// number.
func (e *Exposure) environment() string {
	if _, ok := e.Flag.Definition.Environments[e.Environment]; ok {
		return e.Environment
	}
	return ""
}

// reason is what is told of why.
func (e *Exposure) reason() string {
	if e.Told {
		return ""
	}
	return e.Reason.String()
}
