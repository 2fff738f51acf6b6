package link

import (
	"fmt"
	"slices"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Limits of variants.
const (
	MinVariants = 2 // of a link that has any
	MaxVariants = 10
	MaxWeight   = 10_000
)

// Variant is one of several addresses among which visitors are divided whom no rule sends
// elsewhere.
type Variant struct {
	// ID names the variant in what is counted of it, and is unlike that of every other
	// one of the link.
	ID     string `json:"id"`
	URL    string `json:"url"`
	Weight int    `json:"weight"` // 1 to MaxWeight: how many go there for each of another
}

// setVariants keeps variants, with an id for each that has none.
func (l *Link) setVariants(bad *apierr.Rejection, all []Variant, rules *Rules) {
	if n := len(all); n != 0 && (n < MinVariants || n > MaxVariants) {
		bad.Add("variants", "length", "variants must be empty or have %d to %d entries", MinVariants, MaxVariants)
		return
	}
	l.Variants = slices.Clone(all)
	ids := map[string]bool{}
	for i := range l.Variants {
		v, at := &l.Variants[i], fmt.Sprintf("variants[%d]", i)
		takeID(bad, at+".id", &v.ID, ids)
		rules.checkURL(bad, at+".url", v.URL)
		if v.Weight < 1 || v.Weight > MaxWeight {
			bad.Add(at+".weight", "range", "%s.weight must be from 1 to %d", at, MaxWeight)
		}
	}
}
