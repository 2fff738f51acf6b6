package redirect

import (
	"strings"

	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/resource/link"
)

// maxLanguages is how many languages of a visitor are looked at; browsers ask for fewer.
const maxLanguages = 16

// known gathers what the link's targets may ask of the visitor.
func (v *Visit) known() *link.Facts {
	f := &v.facts
	f.Now, f.Addr, f.UserAgent = v.at, v.Addr, v.UserAgent
	if !v.link.Targets.Ruled() {
		return f
	}
	place, agent := &v.visitor.Place, v.visitor.Agent
	f.Country, f.Region, f.City = place.Country, place.Region, place.City
	f.Device, f.OS, f.Browser = agent.Device, agent.OS, agent.Browser
	f.Languages = languages(string(v.Languages))
	f.ReferrerHost = string(enrich.Referrer(v.Referrer, "").Host)
	return f
}

// languages returns the tags of an Accept-Language, in their order, without those that a
// browser does not want and without the one that stands for all.
func languages(header string) []string {
	var tags []string
	for entry := range strings.SplitSeq(header, ",") {
		tag, weight, _ := strings.Cut(entry, ";")
		if tag = strings.TrimSpace(tag); tag == "" || tag == "*" || isZero(weight) {
			continue
		}
		if tags = append(tags, tag); len(tags) == maxLanguages {
			break
		}
	}
	return tags
}

// isZero reports whether a weight such as "q=0.0" says not at all.
func isZero(weight string) bool {
	value, ok := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(weight), " ", ""), "q=")
	return ok && strings.Trim(value, "0.") == ""
}

// parameter returns a parameter of the short address: the first one of its name.
func (v *Visit) parameter(name string) (value string, ok bool) {
	for pair := range strings.SplitSeq(string(v.Query), "&") {
		key, text, _ := strings.Cut(pair, "=")
		if pair != "" && unescape(key) == name {
			return unescape(text), true
		}
	}
	return "", false
}
