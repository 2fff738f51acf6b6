package flagapi

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
)

// MaxExposureBytes is how large the body of a request that tells of exposures may be, before
// and after decompression.
const MaxExposureBytes = 256 << 10

// exposureLimits are those of the body: each exposure is an object of six fields at most.
var exposureLimits = httpkit.Limits{Bytes: MaxExposureBytes, Values: 8 * flag.MaxExposures}

// maxCountryLen is how long a country may be, in code points.
const maxCountryLen = 2

// pathExposures is where clients tell of what they have shown.
const pathExposures = prefix + "/exposures"

// shown is one exposure that a client tells of.
type shown struct {
	Flag        string `json:"flag"`
	Variant     string `json:"variant"`
	UserID      string `json:"userId"`
	AnonymousID string `json:"anonymousId"`
	Environment string `json:"environment"`
	Country     string `json:"country"` // with an API key; see Host.place
}

// check notes what is wrong with an exposure; at is its place.
func (s *shown) check(bad *apierr.Rejection, at string) {
	for _, f := range [...]struct {
		name, value string
		most        int
		required    bool
	}{
		{"flag", s.Flag, maxKeyLen, true},
		{"variant", s.Variant, maxKeyLen, true},
		{"userId", s.UserID, flageval.MaxIDLen, s.AnonymousID == ""},
		{"anonymousId", s.AnonymousID, flageval.MaxIDLen, false},
		{"environment", s.Environment, maxKeyLen, false},
		{"country", s.Country, maxCountryLen, false},
	} {
		if f.required && f.value == "" {
			bad.Add(at+f.name, "required", "%s is required", at+f.name)
		}
		bad.Merge(checkLen(at+f.name, f.value, f.most))
	}
}

// exposuresOf reads a body: a list of exposures. It rejects too many of them, and any that is
// wrong, by a Validation error.
func exposuresOf(body []byte) (all []shown, err error) {
	if err := json.Unmarshal(body, &all); err != nil {
		// What is in it is nobody's business.
		return nil, apierr.Invalid("", "malformed", "The body must be a JSON array of exposures")
	}
	var bad apierr.Rejection
	if n := len(all); n == 0 || n > flag.MaxExposures {
		bad.Add("", "count", "The body must have 1 to %d exposures; it has %d", flag.MaxExposures, n)
		return nil, bad.Err()
	}
	for i := range all {
		all[i].check(&bad, "["+strconv.Itoa(i)+"].")
	}
	return all, bad.Err()
}

// mountExposures adds the route to an app.
func (h *Host) mountExposures(app *fiber.App) {
	httpkit.Handle(app, fiber.MethodPost, pathExposures, h.exposures)
}

// exposures serves POST /public/v1/flags/exposures.
func (h *Host) exposures(c *fiber.Ctx) error {
	who, err := h.enter(c, c.Query(paramRows[paramClient].name))
	if err != nil {
		return err
	}
	defer who.release(c)
	body, err := httpkit.JSON(c, exposureLimits)
	if err != nil {
		return err
	}
	all, err := exposuresOf(body)
	if err != nil {
		return err
	}
	if err := h.load(c.UserContext(), &who); err != nil {
		return err
	}
	h.place(all, who.trusted, httpkit.ClientAddr(c))
	n := h.tell(&who.subject, all)
	c.Set(fiber.HeaderCacheControl, "no-store")
	return httpkit.Send(c, fiber.MIMEApplicationJSON, fmt.Appendf(nil, `{"count":%d,"ignored":%d}`, n, len(all)-n))
}

// place says where people are who were shown something, as describe does: where the caller's
// address is, or, with an API key, whose address is a server's, where the caller says. The same
// visitor has the same id then, whichever route tells of them.
func (h *Host) place(all []shown, trusted bool, addr netip.Addr) {
	if trusted {
		return
	}
	country := h.deps.Country(addr)
	for i := range all {
		all[i].Country = country
	}
}

// tell passes exposures on, and returns how many: not those of a flag or variant that there
// is none of for the caller, of one that is off, or that does not ask for them.
func (h *Host) tell(s *subject, all []shown) (n int) {
	for i := range all {
		told := &all[i]
		e := Exposure{
			Website: s.website, Flag: s.find(told.Flag), Told: true, UserID: told.UserID, AnonymousID: told.AnonymousID,
			Country: told.Country, Environment: told.Environment, Time: h.deps.Now(),
		}
		if e.Flag == nil || !e.Counts() || !e.Flag.On(e.Environment, e.Time) {
			continue
		}
		if e.Variant = variantOf(e.Flag, told.Variant); e.Variant < 0 {
			continue
		}
		n++
		if h.deps.Exposures != nil {
			h.deps.Exposures.Expose(&e)
		}
	}
	return n
}

// variantOf returns the place of a variant; negative for none.
func variantOf(f *flagset.Flag, key string) int {
	return slices.IndexFunc(f.Definition.Variants, func(v flageval.Variant) bool { return v.Key == key })
}

// describeExposures is what the OpenAPI document says about the route.
func describeExposures(huma.Registry) *huma.Operation {
	text := func(most int, help string) *huma.Schema {
		return &huma.Schema{Type: huma.TypeString, MinLength: new(1), MaxLength: new(most), Description: help}
	}
	list := rpc.ListOf(rpc.Object([]string{"flag", "variant"}, map[string]*huma.Schema{
		"flag": text(maxKeyLen, "The flag's key."), "variant": text(maxKeyLen, "Key of the variant that was shown."),
		"userId":      text(flageval.MaxIDLen, "Id of the user who saw it; anonymousId is required if absent."),
		"anonymousId": text(flageval.MaxIDLen, "Id of the visitor who saw it, if the visitor is not signed in."),
		"environment": text(maxKeyLen, "Environment; the base if it is absent or the flag does not have it."),
		"country": text(maxCountryLen, "Country of the user, ISO 3166-1 alpha-2, as $country of an evaluation. Used only "+
			"with an API key; otherwise the country of the caller's IP address."),
	}), "Exposures to record.")
	list.MinItems, list.MaxItems = new(1), new(flag.MaxExposures)
	return &huma.Operation{
		Method: fiber.MethodPost, Path: pathExposures, OperationID: "flags.public.exposures", Tags: []string{"flags"},
		Summary: "Record which variants were shown",
		Description: "For clients that evaluate flags earlier than they show the variants. Repeated exposures of the same " +
			"UTC day count once.",
		Parameters:  []*huma.Param{paramClient.described(true)},
		RequestBody: &huma.RequestBody{Required: true, Content: rpc.JSON(list)},
		Security:    []map[string][]string{{"key": {}}, {"bearer": {}}, {}},
		Responses: responded(rpc.Object([]string{"count", "ignored"}, map[string]*huma.Schema{
			"count": rpc.Integer("Number of accepted exposures, including repeated ones and ones outside the sample."),
			"ignored": rpc.Integer("Number of ignored exposures: the flag or variant does not exist for the caller, the flag " +
				"is off, or the flag does not count exposures (mode off, or split without a percentage)."),
		})),
	}
}
