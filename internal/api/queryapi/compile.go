package queryapi

import (
	"encoding/json"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/httpkit"
)

// compileBody is the response.
type compileBody struct {
	Success   bool              `json:"success"`
	RequestID string            `json:"requestId"`
	Type      string            `json:"type"`
	SQL       string            `json:"sql"`
	Params    map[string]string `json:"params"`
	Types     map[string]string `json:"types"`
	Plan      compilePlan       `json:"plan"`
}

// compilePlan says what the statement reads.
type compilePlan struct {
	Source string   `json:"source"`
	Tables []string `json:"tables"`
}

// compile serves POST /v1/query/compile: the statement of one query type, which runs
// on ClickHouse's HTTP port with each of params as a field param_<name>.
func (h *handlers) compile(c *fiber.Ctx, caller *request) error {
	var may standing
	named := slices.ContainsFunc(subjects, func(s subjectParameter) bool { return c.Query(s.parameter) != "" })
	if named {
		var err error
		if may, err = h.subject(c, caller); err != nil {
			return err
		}
	}
	given, err := compileMembers(caller.body)
	if err != nil {
		return err
	}
	if !named {
		if may, err = h.project(c, caller, given.project()); err != nil {
			return err
		}
	}
	if err := checkParameters(c); err != nil {
		return uncompiled(err)
	}
	requests, err := given.requests()
	if err != nil {
		return uncompiled(err)
	}
	may.bill(c, caller)
	if err := httpkit.Memory(c).Await(c.UserContext(), analytics.PlanBytes(requests)); err != nil {
		return err
	}
	plans, err := analytics.Compile(requests, false, h.environment(c, may))
	if err != nil {
		return uncompiled(given.ofQuery(err))
	}
	if err := covered(plans, caller, &may); err != nil {
		return err
	}
	o := &plans[0].Outputs[0]
	s := &plans[0].Statements[o.Statement]
	response := compileBody{
		Success: true, RequestID: httpkit.RequestID(c), Type: o.Type.Name, SQL: s.SQL,
		Params: map[string]string{}, Types: map[string]string{}, Plan: compilePlan{s.Source, s.Tables},
	}
	for i := range s.Params {
		response.Params[s.Params[i].Name], response.Types[s.Params[i].Name] = s.Params[i].Text, s.Params[i].Type
	}
	text, err := json.Marshal(&response)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderCacheControl, "private, no-cache")
	return httpkit.Send(c, fiber.MIMEApplicationJSON, text)
}

// project is what the query is about by its body: a website, or an organization.
func (h *handlers) project(c *fiber.Ctx, caller *request, id string) (standing, error) {
	if id == "" {
		return h.subject(c, caller)
	}
	if !caller.anonymous() {
		if p, err := caller.In(id); err == nil && p.OrganizationID == id {
			return h.organization(c, caller, id)
		}
	}
	return h.website(c, caller, id)
}
