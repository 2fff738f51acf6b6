package flag

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// People are some who are named one by one.
type People struct {
	UserIDs, Emails []string
	// Environment is where they are targets; empty for the base, and all environments that
	// name no targets of their own.
	Environment string
}

// AddTargets gives people a variant, whichever they were given before; with replace nobody
// else is given it. Errors are those of Update.
func (s *Service) AddTargets(
	ctx context.Context, by audit.By, t Target, variant string, p People, replace bool,
) (*Flag, error) {
	return s.edit(ctx, by, t, TargetsAdded, func(is *Flag) error {
		return is.retarget(p, func(all []flageval.Target) []flageval.Target {
			at := slices.IndexFunc(all, func(t flageval.Target) bool { return t.Variant == variant })
			if at < 0 {
				at, all = len(all), append(all, flageval.Target{Variant: variant})
			}
			for i := range all { // several may be of the variant
				if replace && all[i].Variant == variant {
					all[i].UserIDs, all[i].Emails = nil, nil
				}
			}
			all[at].UserIDs = append(slices.Clone(all[at].UserIDs), unique(p.UserIDs, asIs)...)
			all[at].Emails = append(slices.Clone(all[at].Emails), unique(p.Emails, strings.ToLower)...)
			return all
		})
	})
}

// RemoveTargets leaves people to the flag's rules. Those who are no targets are passed over: an
// environment without targets of its own goes on with the flag's where it need not have others.
// Errors are those of Update.
func (s *Service) RemoveTargets(ctx context.Context, by audit.By, t Target, p People) (*Flag, error) {
	return s.edit(ctx, by, t, TargetsRemoved, func(is *Flag) error {
		d := &is.Definition
		if o, known := d.Environments[p.Environment]; known && o.Targets == nil && !p.among(d.Targets) {
			return nil
		}
		return is.retarget(p, func(all []flageval.Target) []flageval.Target { return all })
	})
}

// retarget changes the targets of an environment, out of which people were taken before.
func (f *Flag) retarget(p People, to func([]flageval.Target) []flageval.Target) error {
	d := &f.Definition
	var bad apierr.Rejection
	if p.Environment == "" {
		d.Targets = inhabited(to(without(d.Targets, &p)))
		return f.judge(&bad)
	}
	o, known := d.Environments[p.Environment]
	if !known {
		return apierr.Invalid("environment", "unknown_environment", "environment must be one of the flag's environments")
	}
	from := d.Targets
	if o.Targets != nil {
		from = *o.Targets
	}
	targets := inhabited(to(without(from, &p)))
	o.Targets = &targets
	d.Environments = maps.Clone(d.Environments)
	d.Environments[p.Environment] = o
	return f.judge(&bad)
}

// without returns a copy of targets that names none of the people.
func without(all []flageval.Target, p *People) []flageval.Target {
	users, emails := setOf(p.UserIDs, asIs), setOf(p.Emails, strings.ToLower)
	all = slices.Clone(all)
	for i := range all {
		all[i].UserIDs = slices.DeleteFunc(slices.Clone(all[i].UserIDs), func(id string) bool { return users[id] })
		all[i].Emails = slices.DeleteFunc(slices.Clone(all[i].Emails),
			func(e string) bool { return emails[strings.ToLower(e)] })
	}
	return all
}

// among reports whether targets name one of the people.
func (p *People) among(all []flageval.Target) bool { return peopleOf(without(all, p)) < peopleOf(all) }

// peopleOf is how many people targets name.
func peopleOf(all []flageval.Target) (people int) {
	for _, t := range all {
		people += len(t.UserIDs) + len(t.Emails)
	}
	return people
}

// inhabited leaves out targets that name nobody.
func inhabited(all []flageval.Target) []flageval.Target {
	return slices.DeleteFunc(all, func(t flageval.Target) bool { return len(t.UserIDs)+len(t.Emails) == 0 })
}

// asIs is for ids, which differ in case too; e-mail addresses do not.
func asIs(id string) string { return id }

func setOf(all []string, form func(string) string) map[string]bool {
	set := make(map[string]bool, len(all))
	for _, one := range all {
		set[form(one)] = true
	}
	return set
}

// unique returns each of several once, in their order.
func unique(all []string, form func(string) string) (once []string) {
	seen := make(map[string]bool, len(all))
	for _, one := range all {
		if key := form(one); !seen[key] {
			seen[key] = true
			once = append(once, one)
		}
	}
	return once
}
