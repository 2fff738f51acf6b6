package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/millrace/millrace/internal/api/httpkit/mcp"
	"github.com/millrace/millrace/internal/api/rpc"
)

// object is a record as an operation returns it.
type object = map[string]json.RawMessage

// shown are the members of a record that a preview shows, where the record has them.
var shown = []string{"id", "version", "shortUrl", "url", "key", "name", "status", "websiteId"}

// plan returns the change that an operation would make to the record of the argument id. verb begins the
// question to the user, such as Delete.
func (c *call) plan(resource, operation, verb string) (*mcp.Plan, object, error) {
	var found struct {
		Data object `json:"data"`
	}
	if err := c.post(rpc.Path(resource, "get"), nil, map[string]any{"id": c.text("id")}, &found); err != nil {
		return nil, nil, err
	}
	var about struct {
		Version  int64  `json:"version"`
		ShortURL string `json:"shortUrl"`
		Key      string `json:"key"`
	}
	text, err := json.Marshal(found.Data)
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(text, &about); err != nil {
		return nil, nil, err
	}
	record := object{}
	for _, name := range shown {
		if value, ok := found.Data[name]; ok {
			record[name] = value
		}
	}
	return &mcp.Plan{
		Operation: operation, Version: about.Version, Record: record,
		Question: verb + " " + about.ShortURL + about.Key + "?",
	}, found.Data, nil
}

// change plans the update of a record by the arguments that are its fields. A new record overwrites
// nothing, and so needs no confirmation.
func change(resource string) func(*call) (*mcp.Plan, error) {
	return func(c *call) (*mcp.Plan, error) {
		if c.text("id") == "" {
			return nil, nil //nolint:nilnil // no plan
		}
		plan, record, err := c.plan(resource, "update", "Change")
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(c.args)) {
			to, err := json.Marshal(c.args[name])
			if err != nil {
				return nil, err
			}
			if name != "id" && !bytes.Equal(to, record[name]) {
				plan.Changes = append(plan.Changes, mcp.Change{Field: name, From: record[name], To: to})
			}
		}
		return plan, nil
	}
}

// save creates a record, or makes a confirmed change.
func save(resource string) func(*call) (mcp.Answer, error) {
	return func(c *call) (mcp.Answer, error) {
		if c.Confirmed == nil {
			return record(resource, "create")(c)
		}
		return confirmed(resource)(c)
	}
}

// deletion plans the deletion of a record.
func deletion(resource string) func(*call) (*mcp.Plan, error) {
	return func(c *call) (*mcp.Plan, error) {
		plan, _, err := c.plan(resource, "delete", "Delete")
		return plan, err
	}
}

// confirmed makes a confirmed change to the version that the preview showed. The operation gets the
// arguments without those that only choose it.
func confirmed(resource string, choosing ...string) func(*call) (mcp.Answer, error) {
	return func(c *call) (mcp.Answer, error) {
		c.args["version"] = c.Confirmed.Version
		for _, name := range choosing {
			delete(c.args, name)
		}
		return record(resource, c.Confirmed.Operation)(c)
	}
}

// Values of the argument status of set_flag_status.
const (
	flagActive   = "active"
	flagInactive = "inactive"
	flagArchived = "archived"
)

// flagSwitches are the operations that switch a flag, by its status before and after.
var flagSwitches = map[[2]string]struct{ operation, verb string }{
	{flagInactive, flagActive}:   {"enable", "Enable"},
	{flagActive, flagInactive}:   {"disable", "Disable"},
	{flagInactive, flagArchived}: {"archive", "Archive"},
	{flagArchived, flagInactive}: {"unarchive", "Unarchive"},
}

// flagSwitch plans a flag's change of status.
func flagSwitch(c *call) (*mcp.Plan, error) {
	plan, flag, err := c.plan("flags", "", "")
	if err != nil {
		return nil, err
	}
	var from string
	if err := json.Unmarshal(flag["status"], &from); err != nil {
		return nil, err
	}
	to := c.text("status")
	step, ok := flagSwitches[[2]string{from, to}]
	if !ok {
		message := fmt.Sprintf("status must be another one; the flag is %s already", from)
		if from != to {
			message = fmt.Sprintf("status must be %s first; the flag is %s", flagInactive, from)
		}
		return nil, &mcp.Error{
			Code: mcp.InvalidInput, Message: message, Details: []mcp.Detail{{Field: "status", Message: message}},
		}
	}
	plan.Operation, plan.Question = step.operation, step.verb+plan.Question
	plan.Changes = []mcp.Change{{Field: "status", From: flag["status"], To: json.RawMessage(`"` + to + `"`)}}
	return plan, nil
}

// Values of the argument mode of set_flag_targets.
const (
	modeAppend  = "append"
	modeReplace = "replace"
	modeRemove  = "remove"
)

// targeting plans a change of a flag's targets.
func targeting(c *call) (*mcp.Plan, error) {
	userIDs, _ := c.args["userIds"].([]any)
	emails, _ := c.args["emails"].([]any)
	users := "1 user"
	if n := len(userIDs) + len(emails); n != 1 {
		users = fmt.Sprintf("%d users", n)
	}
	operation, verb := "addTargets", "Add "+users+" to the variant "+c.text("variant")+" of"
	switch c.text("mode") {
	case modeReplace:
		verb = "Replace all users of the variant " + c.text("variant") + " with " + users + " in"
	case modeRemove:
		operation, verb = "removeTargets", "Remove "+users+" from the targets of"
	}
	plan, _, err := c.plan("flags", operation, verb)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"environment", "userIds", "emails"} {
		if value, ok := c.args[name]; ok {
			to, err := json.Marshal(value)
			if err != nil {
				return nil, err
			}
			plan.Changes = append(plan.Changes, mcp.Change{Field: name, To: to})
		}
	}
	return plan, nil
}

// retarget makes a confirmed change of a flag's targets.
func retarget(c *call) (mcp.Answer, error) {
	if c.text("mode") == modeRemove {
		return confirmed("flags", "mode")(c)
	}
	return confirmed("flags")(c)
}
