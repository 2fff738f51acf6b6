package website

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/cidr"
)

// Limits of a website's settings.
const (
	MaxNameLen        = 100 // code points
	MaxRefLen         = 128 // bytes of an id or a client id
	MaxListLen        = 100 // entries of each list
	MaxPathLen        = 256 // bytes of a path pattern
	MaxQueryParamLen  = 64  // bytes of a query parameter's name
	MaxSessionTimeout = 24 * 60
	MaxRetentionDays  = 3650
	MaxTimezoneLen    = 64 // bytes

	// DefaultSessionTimeout is after how many minutes without a sign of life a session
	// is over, if the tag does not say otherwise: web/tracker/src/visitor.ts has it too.
	DefaultSessionTimeout = 30
)

// Settings say what becomes of a website's events. The zero value of a list is
// the empty list.
type Settings struct {
	// AllowedOrigins are hosts besides the domain and those below it whose pages may
	// use the client id: exact names or "*.example.com". Where the list is not empty,
	// who sends no origin may not.
	AllowedOrigins []string
	// AllowedIPs, where not empty, are the only addresses from which the client
	// id is accepted: addresses or CIDR ranges.
	AllowedIPs []string
	// ExcludedPaths are patterns of paths whose events are not counted; see
	// MatchPath of the tracker: "*" stands for one segment, "**" for any number.
	ExcludedPaths []string
	// ExcludedIPs are addresses and ranges whose events are not counted.
	ExcludedIPs []string
	// MaskPatterns are patterns of paths in which the segments under a star are
	// stored as a star.
	MaskPatterns []string
	// AnonymizeVisitorIDs is the default for events that do not say: "true",
	// "false" or "auto". Empty means "true".
	AnonymizeVisitorIDs string
	// SessionTimeoutMinutes is after how long without a sign of life the tracker begins
	// another session: the tag says it. 0 means DefaultSessionTimeout.
	SessionTimeoutMinutes int
	// KeepBots stores the events of known bots like those of people. Otherwise they are dropped
	// and counted.
	KeepBots bool
	// HonorGlobalPrivacyControl and HonorDoNotTrack collect nothing of browsers that
	// send the signal.
	HonorGlobalPrivacyControl, HonorDoNotTrack bool
	// DataRetentionDays is for how long events are kept; 0 means for ever.
	DataRetentionDays int
	// TrackQueryParams are the query parameters that stay in stored addresses
	// besides those of campaigns.
	TrackQueryParams []string
}

// AnonymizeModes are the values of AnonymizeVisitorIDs.
var AnonymizeModes = []string{"true", "false", "auto"}

// normalize brings the settings into their normal form and notes what is wrong.
func (s *Settings) normalize(bad *apierr.Rejection) {
	lists := []struct {
		name string
		list *[]string
		rule listRule
	}{
		{"allowedOrigins", &s.AllowedOrigins, originRule},
		{"allowedIps", &s.AllowedIPs, addressRule},
		{"excludedPaths", &s.ExcludedPaths, pathRule},
		{"excludedIps", &s.ExcludedIPs, addressRule},
		{"maskPatterns", &s.MaskPatterns, pathRule},
		{"trackQueryParams", &s.TrackQueryParams, parameterRule},
	}
	for _, l := range lists {
		*l.list = l.rule.apply(bad, "settings."+l.name, *l.list)
	}
	if s.AnonymizeVisitorIDs == "" {
		s.AnonymizeVisitorIDs = AnonymizeModes[0]
	}
	if !slices.Contains(AnonymizeModes, s.AnonymizeVisitorIDs) {
		bad.Add("settings.anonymizeVisitorIds", "enum", "settings.anonymizeVisitorIds must be true, false or \"auto\"")
	}
	if s.SessionTimeoutMinutes == 0 {
		s.SessionTimeoutMinutes = DefaultSessionTimeout
	}
	if s.SessionTimeoutMinutes < 1 || s.SessionTimeoutMinutes > MaxSessionTimeout {
		bad.Add("settings.sessionTimeoutMinutes", "range", "settings.sessionTimeoutMinutes must be from 1 to %d",
			MaxSessionTimeout)
	}
	if s.DataRetentionDays < 0 || s.DataRetentionDays > MaxRetentionDays {
		bad.Add("settings.dataRetentionDays", "range", "settings.dataRetentionDays must be from 1 to %d, or null to keep "+
			"events forever",
			MaxRetentionDays)
	}
}

// listRule is what every entry of a list must be.
type listRule struct {
	rule, says string
	// normal returns an entry in its normal form.
	normal func(text string) (string, bool)
}

var (
	originRule  = listRule{"host", "a host such as shop.example.com or *.example.com", normalOrigin}
	addressRule = listRule{"address", "an IP address such as 203.0.113.7 or a range such as 203.0.113.0/24", normalAddress}
	pathRule    = listRule{
		"path", fmt.Sprintf("a path of at most %d characters such as /admin/**, without a query string or "+
			"spaces", MaxPathLen),
		normalPath,
	}
	parameterRule = listRule{
		"parameter", fmt.Sprintf("the name of a query parameter: 1 to %d letters, digits and _ - . [ ]", MaxQueryParamLen),
		normalParameter,
	}
)

func (r listRule) apply(bad *apierr.Rejection, field string, list []string) []string {
	if len(list) > MaxListLen {
		bad.Add(field, "too_many", "%s has %d entries; at most %d are allowed", field, len(list), MaxListLen)
		return nil
	}
	var normal []string
	for i, text := range list {
		entry, ok := r.normal(strings.TrimSpace(text))
		switch {
		case !ok:
			bad.Add(fmt.Sprintf("%s[%d]", field, i), r.rule, "%s[%d] must be %s", field, i, r.says)
		case !slices.Contains(normal, entry):
			normal = append(normal, entry)
		}
	}
	return normal
}

func normalOrigin(text string) (string, bool) {
	name, wild := strings.CutPrefix(text, "*.")
	host, err := normalHost(name)
	if err != nil {
		return "", false
	}
	if !wild {
		return host, true
	}
	_, isAddress := address(host)
	return "*." + host, !isAddress
}

func normalAddress(text string) (string, bool) {
	p, err := cidr.Parse(text)
	if err != nil {
		return "", false
	}
	if p.IsSingleIP() {
		return p.Addr().String(), true
	}
	return p.String(), true
}

func normalPath(text string) (string, bool) {
	if !strings.HasPrefix(text, "/") || len(text) > MaxPathLen {
		return "", false
	}
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c == 0x7f || c == '?' || c == '#' {
			return "", false
		}
	}
	return text, true
}

func normalParameter(text string) (string, bool) {
	if text == "" || len(text) > MaxQueryParamLen {
		return "", false
	}
	for i := range len(text) {
		c := text[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && !strings.ContainsRune("_-.[]", rune(c)) {
			return "", false
		}
	}
	return text, true
}
