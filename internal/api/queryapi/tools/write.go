package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/api/httpkit/mcp"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/auth"
)

// object is a record as an operation returns it.
type object = map[string]json.RawMessage

// shown are the members of a record that a preview shows, where the record has them.
var shown = []string{"id", "version", "shortUrl", "url", "key", "name", "status", "websiteId"}

// writing makes changes to records of a resource after a confirmation.
type writing struct {
	resource string
	// reads is the scope that a key needs to read a record for its preview.
	reads auth.Scope
	// operations are those that make changes, and inputs their inputs, once complete has run.
	operations []string
	inputs     map[string]*rpc.Input
	// choosing are arguments that choose the operation, which may not have them.
	choosing []string
	// preview describes the change to a record, with the operation that makes it. It may be nil.
	preview func(c *call, record object, p *mcp.Preview) error
	// creates is set where a call without an id creates a record.
	creates bool
}

// complete reads the inputs of the operations.
func (w *writing) complete(doc *rpc.Document) {
	w.inputs = map[string]*rpc.Input{}
	for _, name := range w.operations {
		w.inputs[name] = doc.Input(rpc.Path(w.resource, name))
	}
}

// describe returns the preview of a call's change; nil for a new record, which overwrites nothing.
func (w *writing) describe(c *call) (*mcp.Preview, error) {
	if w.creates && c.text("id") == "" {
		return nil, nil //nolint:nilnil // no confirmation
	}
	record, err := w.read(c)
	if err != nil {
		return nil, err
	}
	p := &mcp.Preview{Operation: w.operations[0]}
	if err := json.Unmarshal(record["version"], &p.Version); err != nil {
		return nil, err
	}
	about := object{}
	for _, name := range shown {
		if value, ok := record[name]; ok {
			about[name] = value
		}
	}
	p.Record = about
	if err := w.preview(c, record, p); err != nil {
		return nil, err
	}
	name := cmp.Or(member(record, "shortUrl"), member(record, "slug"), member(record, "key"))
	p.Question = strings.ReplaceAll(p.Question, "RECORD", name)
	return p, w.check(c, p)
}

// read returns the record of the argument id.
func (w *writing) read(c *call) (object, error) {
	var found struct {
		Data object `json:"data"`
	}
	err := c.post(rpc.Path(w.resource, "get"), nil, map[string]any{"id": c.text("id")}, &found)
	if failed, ok := errors.AsType[*mcp.Error](err); ok && failed.Code == mcp.Forbidden && !c.Principal.Has(w.reads) {
		return nil, &mcp.Error{
			Code: mcp.Forbidden, Message: "The preview of the change requires the scope " + string(w.reads),
			Allowed: []string{string(w.reads)},
		}
	}
	return found.Data, err
}

// member returns a member of a record that is a text; empty for another.
func member(record object, name string) (text string) {
	_ = json.Unmarshal(record[name], &text) // null, or of another type
	return text
}

// check reports what the operation would reject of the change's arguments.
func (w *writing) check(c *call, p *mcp.Preview) error {
	body, err := json.Marshal(w.body(c, p.Operation, p.Version))
	if err != nil {
		return err
	}
	_, err = w.inputs[p.Operation].Check(body)
	return err
}

// body is the body of an operation.
func (w *writing) body(c *call, operation string, version int64) map[string]any {
	body := maps.Clone(c.args)
	for _, name := range w.choosing {
		if !w.inputs[operation].Has(name) {
			delete(body, name)
		}
	}
	body["version"] = version
	return body
}

// run creates a record, or makes a confirmed change to the version that the preview showed.
func (w *writing) run(c *call) (mcp.Answer, error) {
	operation := "create"
	if c.Confirmed != nil {
		operation = c.Confirmed.Operation
		c.args = w.body(c, operation, c.Confirmed.Version)
	}
	return record(w.resource, operation)(c)
}

// changed previews an update by the arguments that are fields of the record.
func changed(c *call, record object, p *mcp.Preview) error {
	p.Question = "Change RECORD?"
	for _, name := range slices.Sorted(maps.Keys(c.args)) {
		to, err := json.Marshal(c.args[name])
		if err != nil {
			return err
		}
		if name == "id" {
			continue
		}
		var from any
		if text := record[name]; text != nil {
			if err := json.Unmarshal(text, &from); err != nil {
				return err
			}
		}
		if before, err := json.Marshal(from); err != nil || !bytes.Equal(before, to) {
			p.Changes = append(p.Changes, mcp.Change{Field: name, From: record[name], To: to})
		}
	}
	if len(p.Changes) == 0 {
		return &mcp.Error{
			Code: mcp.InvalidInput, Message: "The call changes nothing. Give at least one field with another value",
		}
	}
	return nil
}

// deleted previews a deletion.
func deleted(_ *call, _ object, p *mcp.Preview) error {
	p.Question = "Delete RECORD?"
	return nil
}

// Values of the argument status of set_flag_status.
const (
	flagActive   = "active"
	flagInactive = "inactive"
	flagArchived = "archived"
)

// flagSwitches are the operations that switch a flag, by its status before and after.
var flagSwitches = map[[2]string]string{
	{flagInactive, flagActive}:   "enable",
	{flagActive, flagInactive}:   "disable",
	{flagInactive, flagArchived}: "archive",
	{flagArchived, flagInactive}: "unarchive",
}

// switched previews a flag's change of status.
func switched(c *call, flag object, p *mcp.Preview) error {
	from, to := member(flag, "status"), c.text("status")
	operation, ok := flagSwitches[[2]string{from, to}]
	if !ok {
		message := fmt.Sprintf("status must be another one; the flag is %s already", from)
		if from != to {
			message = fmt.Sprintf("status must be %s first; the flag is %s", flagInactive, from)
		}
		return &mcp.Error{
			Code: mcp.InvalidInput, Message: message, Details: []mcp.Detail{{Field: "status", Message: message}},
		}
	}
	p.Operation, p.Question = operation, strings.ToUpper(operation[:1])+operation[1:]+" RECORD?"
	p.Changes = []mcp.Change{{Field: "status", From: flag["status"], To: json.RawMessage(`"` + to + `"`)}}
	return nil
}

// Values of the argument mode of set_flag_targets.
const (
	modeAppend  = "append"
	modeReplace = "replace"
	modeRemove  = "remove"
)

// target is the users of one variant.
type target struct {
	Variant string   `json:"variant"`
	UserIDs []string `json:"userIds"`
	Emails  []string `json:"emails"`
}

// targeted previews a change of a flag's targets: who gets the variant, and who loses one.
func targeted(c *call, flag object, p *mcp.Preview) error {
	variant, mode := c.text("variant"), cmp.Or(c.text("mode"), modeAppend)
	given := map[string]bool{}
	for _, name := range []string{"userIds", "emails"} {
		values, _ := c.args[name].([]any)
		for _, value := range values {
			user, _ := value.(string)
			given[userKey(name, user)] = true
		}
	}
	p.Question = fmt.Sprintf("Give %s the variant %s of RECORD?", users(len(given)), variant)
	switch mode {
	case modeReplace:
		p.Question = fmt.Sprintf("Give only %s the variant %s of RECORD?", users(len(given)), variant)
	case modeRemove:
		p.Operation, p.Question = "removeTargets", fmt.Sprintf("Remove %s from the targets of RECORD?", users(len(given)))
	}
	current, err := targetsOf(c.text("environment"), flag, p)
	if err != nil {
		return err
	}
	if mode != modeRemove {
		for _, name := range []string{"userIds", "emails"} {
			if values, ok := c.args[name]; ok {
				to, err := json.Marshal(values)
				if err != nil {
					return err
				}
				p.Changes = append(p.Changes, mcp.Change{Field: name + " that get " + variant, To: to})
			}
		}
	}
	for _, t := range current {
		var losing []string
		for name, list := range map[string][]string{"userIds": t.UserIDs, "emails": t.Emails} {
			for _, user := range list {
				if loses(mode, t.Variant == variant, given[userKey(name, user)]) {
					losing = append(losing, user)
				}
			}
		}
		if len(losing) > 0 {
			slices.Sort(losing)
			to, _ := json.Marshal(losing) // of texts
			p.Changes = append(p.Changes, mcp.Change{Field: "users that lose " + t.Variant, To: to})
		}
	}
	return nil
}

// userKey identifies a user of a list, userIds or emails. The case of e-mail addresses does not matter.
func userKey(list, user string) string {
	if list == "emails" {
		user = strings.ToLower(user)
	}
	return list + " " + user
}

// loses reports whether a user loses a variant. same is set for the variant of the call, and given for a
// user of the call.
func loses(mode string, same, given bool) bool {
	switch mode {
	case modeRemove:
		return given
	case modeReplace:
		return given != same
	default:
		return given && !same
	}
}

func users(n int) string {
	if n == 1 {
		return "1 user"
	}
	return fmt.Sprintf("%d users", n)
}

// targetsOf returns the targets that a change of an environment begins with. An environment without
// targets of its own begins with those of the base, which the preview shows.
func targetsOf(environment string, flag object, p *mcp.Preview) (all []target, err error) {
	text := flag["targets"]
	if environment != "" {
		var environments map[string]struct {
			Targets json.RawMessage `json:"targets"`
		}
		if err := json.Unmarshal(flag["environments"], &environments); err != nil {
			return nil, err
		}
		if own := environments[environment].Targets; own != nil {
			text = own
		} else {
			p.Changes = append(p.Changes, mcp.Change{Field: "base targets that " + environment + " copies", To: text})
		}
	}
	err = json.Unmarshal(text, &all)
	return all, err
}
