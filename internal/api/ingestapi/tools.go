package ingestapi

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/millrace/millrace/internal/api/httpkit/mcp"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/platform/suggest"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

const (
	// maxToolEvents is the most events of a call of track_events.
	maxToolEvents = 100
	// streamBytes is the memory of an MCP client's stream, as measured, including garbage that is not
	// collected yet.
	streamBytes = 96 << 10
)

//go:embed guide.md
var guide string

// instructions describe the tools to a model.
const instructions = "Millrace stores the events of websites and applications. track_event records an action, " +
	"track_page_view a view of a page, and identify_profile traits of a user. Each call counts as real traffic: " +
	"send no test events unless you are asked to. Read millrace://guide for names and ids."

var resources = []mcp.Resource{{
	URI: "millrace://guide", Name: "guide", Title: "Guide", MIMEType: "text/markdown",
	Description: "How to name events and which ids to send.", Text: func() string { return guide },
}}

// tool is a tool that sends events to a route of the host.
type tool struct {
	mcp.Tool

	route string
	form  *event.Form
	// fields are arguments: names of the form's fields, with "!" after a required one. Each tool also has
	// websiteId.
	fields string
	// many is set where the argument events holds objects with the fields.
	many bool
	// event is the name of the event; empty for an argument.
	event string
	// id is the field for which the tool makes a value that begins with prefix; empty for none.
	id, prefix string

	input, item *arguments
}

// Fields of several tools.
const (
	fieldsOfSender  = " anonymousId profileId sessionId timestamp anonymizeVisitorIds"
	fieldsOfEvent   = "name! properties eventId path namespace source" + fieldsOfSender
	fieldsOfSession = " anonymousId profileId timestamp anonymizeVisitorIds path properties eventId"
)

// Tools returns the tools of the host, sorted by name.
func Tools() []mcp.Tool {
	all := []mcp.Tool{{
		Name: "get_tracking_status", Title: "Get the tracking status", Class: ratelimit.MCPLists,
		Description: "Get the health of the ingestion host and its services, and the website or organization that the key " +
			"sends to.",
		Input: newArguments(event.Track, "").encode(), Run: trackingStatus,
	}}
	for _, t := range []*tool{
		{
			Tool: mcp.Tool{
				Name: "track_event", Title: "Track an event",
				Description: "Record one custom event, such as a signup or a purchase.",
			},
			route: "/track", form: event.Track, fields: fieldsOfEvent,
		},
		{
			Tool: mcp.Tool{
				Name: "track_events", Title: "Track several events",
				Description: "Record 1 to 100 custom events. If one is invalid, none is recorded.",
			},
			route: "/track", form: event.Track, fields: fieldsOfEvent, many: true,
		},
		{
			Tool: mcp.Tool{
				Name: "track_page_view", Title: "Track a page view",
				Description: "Record one view of a page. The answer has the event's id.",
			},
			route: "/", form: event.Pages, fields: "path! title referrer properties eventId" + fieldsOfSender,
			event: "screen_view", id: "eventId",
		},
		{
			Tool: mcp.Tool{
				Name: "identify_profile", Title: "Identify a profile", Destructive: true, Idempotent: true,
				Description: "Set traits of a user, and connect the user with a visitor. Traits that the call does not name " +
					"stay. A key of an organization must name the website.",
			},
			route: "/identify", form: event.Identities,
			fields: "profileId! anonymousId traits eventId timestamp anonymizeVisitorIds",
		},
		{
			Tool: mcp.Tool{
				Name: "start_session", Title: "Start a session",
				Description: "Record the event session_start. The answer has the sessionId for the session's other events.",
			},
			route: "/track", form: event.Track, fields: "sessionId" + fieldsOfSession,
			event: "session_start", id: "sessionId", prefix: "sess_",
		},
		{
			Tool: mcp.Tool{
				Name: "end_session", Title: "End a session",
				Description: "Record the event session_end.",
			},
			route: "/track", form: event.Track, fields: "sessionId!" + fieldsOfSession, event: "session_end",
		},
	} {
		all = append(all, t.complete())
	}
	for i := range all {
		all[i].Scopes = []auth.Scope{auth.ScopeTrackEvents}
	}
	slices.SortFunc(all, func(a, b mcp.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// complete returns the tool with its schema.
func (t *tool) complete() mcp.Tool {
	t.input = newArguments(t.form, t.fields)
	if t.many {
		t.item, t.input = t.input, newArguments(t.form, "")
		t.input.Required = []string{argumentEvents}
		t.input.Properties[argumentEvents] = object{
			"type": "array", "minItems": 1, "maxItems": maxToolEvents, "items": t.item, "description": "The events.",
		}
	}
	website := newArguments(t.form, argumentWebsite)
	t.input.Properties[argumentWebsite] = website.Properties[argumentWebsite]
	t.Input, t.Class, t.Writes, t.Run = t.input.encode(), ratelimit.MCP, true, t.run
	return t.Tool
}

// The arguments that are no fields of events.
const (
	argumentEvents  = "events"
	argumentWebsite = "websiteId"
)

// arguments is the JSON schema of an object, which has no other members.
type arguments struct {
	Type       string         `json:"type"`
	Properties map[string]any `json:"properties"`
	Required   []string       `json:"required,omitempty"`
	Others     bool           `json:"additionalProperties"`
}

// newArguments returns the schema of fields of a form, with their types and bounds.
func newArguments(form *event.Form, fields string) *arguments {
	a := &arguments{Type: "object", Properties: map[string]any{}}
	for name := range strings.FieldsSeq(fields) {
		name, required := strings.CutSuffix(name, "!")
		field, _ := form.Field(name)
		field.Required, field.Note = true, descriptions[name] // an argument is absent, not null
		schema := fieldSchema(&field)
		if types, _ := schema["type"].([]string); len(types) == 1 {
			schema["type"] = types[0] // not all clients read lists
		}
		a.Properties[name] = schema
		if required {
			a.Required = append(a.Required, name)
		}
	}
	return a
}

// descriptions describe the fields to a model.
var descriptions = map[string]string{
	"name":        "Name of the event, such as signup_completed.",
	"properties":  `Details, such as {"plan": "pro", "price": 20}.`,
	"eventId":     "Id of the event. A repeated call with the same id counts once.",
	"path":        "URL of the page, such as https://example.com/pricing.",
	"title":       "Title of the page.",
	"referrer":    "URL of the page before, or direct.",
	"anonymousId": "Id of the visitor, such as that of a device.",
	"profileId":   "Your own id of the user.",
	"sessionId":   "Id of the session; start_session makes one if absent.",
	"timestamp":   "Unix milliseconds or a date-time; now if absent.",
	"namespace":   "Group of events, such as billing.",
	"source":      "Sender of the event, such as backend.",
	"traits":      `Facts about the user, such as {"plan": "pro"}; null deletes a trait.`,
	"websiteId":   "Id of the website; the key's website, or its organization, if absent.",
	"anonymizeVisitorIds": "Whether to hash the visitor's ids: true, false or auto. The website's setting applies if " +
		"absent.",
}

// encode returns the schema as JSON.
func (a *arguments) encode() json.RawMessage {
	text, _ := json.Marshal(a) // of texts and numbers
	return text
}

// decode returns the known members of an object, with unknown and missing ones as problems. The host
// checks the values. It keeps nothing of other members, however many there are.
func (a *arguments) decode(object json.RawMessage) (members map[string]json.RawMessage, problems []mcp.Detail) {
	members = map[string]json.RawMessage{}
	known := slices.Sorted(maps.Keys(a.Properties))
	d := json.NewDecoder(bytes.NewReader(object))
	for _, err := d.Token(); err == nil && d.More(); {
		token, _ := d.Token() // the object is valid JSON
		name, _ := token.(string)
		var value json.RawMessage
		err = d.Decode(&value)
		if slices.Contains(known, name) {
			members[name] = value
		} else if len(problems) < event.MaxProblems {
			problems = append(problems, unknown(name, known))
		}
	}
	for _, name := range a.Required {
		if absent(members[name]) {
			problems = append(problems, mcp.Detail{Field: name, Message: name + " is required"})
		}
	}
	return members, problems
}

func unknown(name string, known []string) mcp.Detail {
	d := mcp.Detail{Field: fmt.Sprintf("%.64s", name)}
	d.Message = "Unknown field: " + d.Field
	if near := suggest.Closest(name, known); near != "" {
		d.Suggestion = "Did you mean '" + near + "'?"
	}
	return d
}

// absent reports whether a member is not there. Null counts as absent on this host.
func absent(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

// invalid returns the error of problems; nil without any.
func invalid(problems ...mcp.Detail) error {
	if len(problems) == 0 {
		return nil
	}
	first := problems[0]
	e := &mcp.Error{Code: mcp.InvalidInput, Message: first.Message, Details: problems}
	if first.Suggestion != "" {
		e.Message += ". " + first.Suggestion
	}
	return e
}

// run sends the events of a call to the route.
func (t *tool) run(ctx context.Context, c *mcp.Call) (mcp.Answer, error) {
	members, problems := t.input.decode(c.Arguments)
	if err := invalid(problems...); err != nil {
		return mcp.Answer{}, err
	}
	uri, err := t.uri(members)
	if err != nil {
		return mcp.Answer{}, err
	}
	var events any = members
	if t.many {
		events, err = t.batch(members[argumentEvents])
	} else {
		t.fill(members)
	}
	if err != nil {
		return mcp.Answer{}, err
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // which would lengthen properties
	if err := encoder.Encode(events); err != nil {
		return mcp.Answer{}, err
	}
	status, response := c.Host.Do(ctx, http.MethodPost, uri, body.Bytes())
	if status != http.StatusOK {
		return mcp.Answer{}, mcp.Parse(response)
	}
	if t.id == "" {
		return mcp.Answer{Record: response}, nil
	}
	var record map[string]json.RawMessage
	if err := json.Unmarshal(response, &record); err != nil {
		return mcp.Answer{}, fmt.Errorf("decoding the response of %s: %w", t.route, err)
	}
	record[t.id] = members[t.id]
	text, err := json.Marshal(record)
	return mcp.Answer{Record: text}, err
}

// uri returns the route with the website of the arguments, and removes the website from them.
func (t *tool) uri(members map[string]json.RawMessage) (string, error) {
	value := members[argumentWebsite]
	delete(members, argumentWebsite)
	var website string
	if !absent(value) && json.Unmarshal(value, &website) != nil {
		return "", invalid(mcp.Detail{Field: argumentWebsite, Message: argumentWebsite + " must be a string"})
	}
	if website == "" {
		return t.route, nil
	}
	return t.route + "?website_id=" + url.QueryEscape(website), nil
}

// fill adds the members that the tool brings.
func (t *tool) fill(members map[string]json.RawMessage) {
	if t.event != "" {
		members["name"] = quoted(t.event)
	}
	if value := members[t.id]; t.id != "" && (absent(value) || string(value) == `""`) {
		members[t.id] = quoted(t.prefix + uuid.NewString())
	}
}

func quoted(s string) json.RawMessage { return event.AppendQuoted(nil, []byte(s)) }

// batch returns the events of track_events.
func (t *tool) batch(value json.RawMessage) (events []map[string]json.RawMessage, err error) {
	noObject := mcp.Detail{Field: argumentEvents, Message: argumentEvents + " must be an array of objects"}
	d := json.NewDecoder(bytes.NewReader(value))
	if first, _ := d.Token(); first != json.Delim('[') {
		return nil, invalid(noObject)
	}
	n := 0
	var problems []mcp.Detail
	for ; d.More(); n++ {
		var one json.RawMessage
		if err := d.Decode(&one); err != nil {
			return nil, err
		}
		if n >= maxToolEvents {
			continue
		}
		members, found := t.item.decode(one)
		if one[0] != '{' {
			found = []mcp.Detail{noObject}
		}
		for _, p := range found {
			p.Index = new(n)
			problems = append(problems, p)
		}
		events = append(events, members)
	}
	if n == 0 || n > maxToolEvents {
		return nil, invalid(mcp.Detail{
			Field: argumentEvents, Message: fmt.Sprintf("events has %d entries; 1 to %d are allowed", n, maxToolEvents),
		})
	}
	return events, invalid(problems[:min(len(problems), event.MaxProblems)]...)
}

// trackingStatus answers get_tracking_status.
func trackingStatus(ctx context.Context, c *mcp.Call) (mcp.Answer, error) {
	_, problems := new(arguments).decode(c.Arguments)
	if err := invalid(problems...); err != nil {
		return mcp.Answer{}, err
	}
	var found struct {
		statusResponse

		Key struct {
			OrganizationID string `json:"organizationId"`
			WebsiteID      string `json:"websiteId,omitempty"`
		} `json:"key"`
	}
	_, response := c.Host.Do(ctx, http.MethodGet, "/health/status", nil) // 503 for a degraded host
	if err := json.Unmarshal(response, &found.statusResponse); err != nil || found.Services == nil {
		return mcp.Answer{}, mcp.Parse(response)
	}
	found.Key.OrganizationID, found.Key.WebsiteID = c.Principal.OrganizationID, c.Principal.WebsiteID
	answer := mcp.Answer{Hints: []string{"The key sends to this website. Other tools need no websiteId."}}
	if c.Principal.Global() {
		answer.Hints = []string{
			"The key sends to every website of its organization. Name one in websiteId, or the events belong to no website.",
		}
	}
	text, err := json.Marshal(found)
	answer.Record = text
	return answer, err
}
