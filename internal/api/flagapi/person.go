package flagapi

import (
	"encoding/json"
	"net/netip"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// anonymous is the user id of whom nothing is known.
const anonymous = "anonymous"

// The attributes that say where a person is. A browser cannot choose them: they are those of
// its address. With an API key they are the context's, since the address is that of a server.
const (
	attrIP      = "$ip"
	attrCountry = "$country"
)

// person makes the context of what a query string says. It rejects attributes that are too many or too
// long.
func (h *Host) person(to *flageval.Context, q *query, trusted bool, addr netip.Addr) error {
	*to = flageval.Context{
		UserID: q.text[paramUserID], Email: q.text[paramEmail], AnonymousID: q.text[paramAnonymousID],
		OrganizationID: q.text[paramOrganizationID], TeamID: q.text[paramTeamID],
	}
	if to.UserID == "" && to.Email == "" && to.AnonymousID == "" {
		to.UserID = anonymous
	}
	text := q.text[paramProperties]
	attributes := properties(text)
	if len(text) > flageval.MaxIDLen { // nothing in a shorter one is too long, and it has few members
		if err := flag.CheckAttributes(paramRows[paramProperties].name, attributes); err != nil {
			return err
		}
	}
	h.describe(to, attributes, trusted, addr)
	return nil
}

// describe completes a context with attributes, and with where the person is.
func (h *Host) describe(to *flageval.Context, attributes map[string]any, trusted bool, addr netip.Addr) {
	if trusted {
		text, _ := attributes[attrIP].(string)
		to.IP, _ = netip.ParseAddr(text) // what is no address is as good as none
		to.Country, _ = attributes[attrCountry].(string)
	} else {
		to.IP, to.Country = addr, h.deps.Country(addr)
	}
	if len(attributes) == 0 {
		return
	}
	to.Attributes = make(map[string]flageval.Value, len(attributes))
	for name, value := range attributes {
		to.Attributes[name] = flageval.ValueOf(value)
	}
}

// properties reads a JSON object; what is none has none.
func properties(text string) map[string]any {
	if text == "" {
		return nil
	}
	var attributes map[string]any
	if json.Unmarshal([]byte(text), &attributes) != nil {
		return nil
	}
	return attributes
}
