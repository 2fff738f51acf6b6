package storetest

import (
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// walkSteps are the ways to change something.
var walkSteps = []struct {
	name  string
	often int // of all steps together
	step  func(w *walk) error
}{
	{"create", 6, (*walk).create},
	{"create a segment", 3, (*walk).createSegment},
	{"change", 6, (*walk).change},
	{"enable", 4, func(w *walk) error { return w.turn(flag.Inactive, flag.Enabled) }},
	{"disable", 2, func(w *walk) error { return w.turn(flag.Active, flag.Disabled) }},
	{"archive", 3, func(w *walk) error { return w.turn(flag.Inactive, flag.Archiving) }},
	{"bring back", 2, func(w *walk) error { return w.turn(flag.Archived, flag.Unarchived) }},
	{"delete", 2, (*walk).remove},
	{"roll back", 3, (*walk).rollBack},
	{"change a segment", 3, (*walk).changeSegment},
	{"delete a segment", 1, (*walk).removeSegment},
	{"delete a website", 1, (*walk).removeSite},
	{"restore a website", 4, (*walk).restoreSite},
	{"move a website", 2, (*walk).moveSite},
	{"delete an organization", 1, (*walk).removeOrganization},
	{"restore an organization", 9, (*walk).restoreOrganization},
	{"begin an epoch", 1, (*walk).beginEpoch},
}

// flagIn is a flag in a state; empty for all but archived ones.
func (w *walk) flagIn(state flag.State) (*flag.Flag, error) {
	return anyOf(w, func(id string) ([]*flag.Flag, error) {
		return w.service.List(w.tb.Context(), flag.Filter{OrganizationID: id, State: state})
	}, func(f *flag.Flag) (string, string) { return f.OrganizationID, f.WebsiteID })
}

func (w *walk) anySegment() (*flag.Segment, error) {
	return anyOf(w, func(id string) ([]*flag.Segment, error) {
		return w.service.ListSegments(w.tb.Context(), flag.Filter{OrganizationID: id})
	}, func(g *flag.Segment) (string, string) { return g.OrganizationID, g.WebsiteID })
}

// fields are a rule that asks for a segment, and another flag that is needed, or none of both.
func (w *walk) fields() flag.Fields {
	f := flag.Fields{Rules: &[]flageval.Rule{}, Prerequisites: needed()}
	if w.IntN(2) == 0 {
		asks := flageval.Condition{Op: flageval.OpInSegment, Values: []any{w.letter("xy")}}
		f.Rules = &[]flageval.Rule{{
			Conditions: &flageval.Conditions{All: []flageval.Condition{asks}}, Serve: flageval.Serve{Variant: "on"},
		}}
	}
	if w.IntN(3) == 0 {
		f.Prerequisites = needed(w.letter("abcd"))
	}
	return f
}

func (w *walk) people() flag.SegmentFields {
	return flag.SegmentFields{UserIDs: &[]string{w.letter("uvw")}}
}

func (w *walk) create() error {
	spec, err := w.place("abcd")
	if err == nil {
		_, err = w.service.Create(w.tb.Context(), somebody, spec, w.fields())
	}
	return err
}

func (w *walk) createSegment() error {
	spec, err := w.place("xy")
	if err == nil {
		_, err = w.service.CreateSegment(w.tb.Context(), somebody, spec, w.people())
	}
	return err
}

func (w *walk) change() error {
	f, err := w.flagIn("")
	if err == nil {
		_, err = w.service.Update(w.tb.Context(), somebody, toFlag(f), w.fields())
	}
	return err
}

func (w *walk) turn(from flag.State, action managed.Action) error {
	f, err := w.flagIn(from)
	if err == nil {
		_, err = w.service.Switch(w.tb.Context(), somebody, toFlag(f), action)
	}
	return err
}

func (w *walk) remove() error {
	f, err := w.flagIn(flag.Archived)
	if err == nil {
		_, err = w.service.Delete(w.tb.Context(), somebody, toFlag(f))
	}
	return err
}

func (w *walk) rollBack() error {
	f, err := w.flagIn("")
	if err == nil {
		_, err = w.service.Rollback(w.tb.Context(), somebody, toFlag(f), 1+w.Int64N(f.Version))
	}
	return err
}

func (w *walk) changeSegment() error {
	g, err := w.anySegment()
	if err == nil {
		_, err = w.service.UpdateSegment(w.tb.Context(), somebody, toSegment(g), w.people())
	}
	return err
}

func (w *walk) removeSegment() error {
	g, err := w.anySegment()
	if err == nil {
		_, err = w.service.DeleteSegment(w.tb.Context(), somebody, toSegment(g))
	}
	return err
}

// site is a website of an organization that lives.
func (w *walk) site(gone bool) (*owner, managed.Target, error) {
	var all []*owner
	for _, s := range w.shops {
		if s.of.lives() && s.gone == gone {
			all = append(all, s)
		}
	}
	s, err := pick(w, all)
	if err != nil {
		return nil, managed.Target{}, err
	}
	return s, managed.Target{OrganizationID: s.of.id, Ref: s.id}, nil
}

func (w *walk) removeSite() error {
	s, t, err := w.site(false)
	if err == nil {
		_, err = w.sites().Delete(w.tb.Context(), somebody, t)
		s.gone = err == nil
	}
	return err
}

func (w *walk) restoreSite() error {
	s, t, err := w.site(true)
	if err == nil {
		_, err = w.sites().Restore(w.tb.Context(), somebody, t)
		s.gone = err != nil
	}
	return err
}

// moveSite moves a website to the other organization.
func (w *walk) moveSite() error {
	s, t, err := w.site(false)
	if err != nil {
		return err
	}
	to := w.organizations[0]
	if to == s.of {
		to = w.organizations[1]
	}
	if !to.lives() {
		return errNone
	}
	if _, err = w.sites().Move(w.tb.Context(), somebody, t, to.id, nil); err == nil {
		s.of = to
	}
	return err
}

func (w *walk) organization(gone bool) (*owner, error) {
	var all []*owner
	for _, o := range w.organizations {
		if o.gone == gone {
			all = append(all, o)
		}
	}
	return pick(w, all)
}

func (w *walk) removeOrganization() error {
	o, err := w.organization(false)
	if err == nil {
		w.delete(o.id, w.Clock.Now())
		o.gone = true
	}
	return err
}

func (w *walk) restoreOrganization() error {
	o, err := w.organization(true)
	if err == nil {
		_, err = w.Store().RestoreOrganization(w.tb.Context(), somebody, o.id, "", w.Clock.Now())
		o.gone = err != nil
	}
	return err
}

func (w *walk) beginEpoch() error {
	w.epoch++
	return w.Store().RaiseEpoch(w.tb.Context(), w.epoch)
}
