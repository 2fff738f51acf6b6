package queryapi

import (
	"encoding/json"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/httpkit"
)

// failedText is all that a caller learns about a parameter that failed; the log
// knows more under the request's id.
const failedText = "Query execution failed"

// query serves POST /v1/query.
func (h *handlers) query(c *fiber.Ctx, caller *rpc.Caller) error {
	subject, err := h.subject(c, caller)
	if err != nil {
		return err
	}
	body, err := httpkit.Body(c)
	if err != nil {
		return err
	}
	requests, batch, err := analytics.Decode(body)
	if err != nil {
		return err
	}
	plans, err := analytics.Compile(requests, batch, analytics.Environment{
		Subject: subject, TimeZone: c.Query("timezone"), Now: h.now(),
	})
	if err != nil {
		return err
	}
	results := h.executor.Execute(c.UserContext(), plans)
	return answer(c, appendAnswer(nil, httpkit.RequestID(c), batch, plans, results))
}

// appendAnswer appends the body of one query, or of a batch.
func appendAnswer(dst []byte, requestID string, batch bool, plans []analytics.Plan, results [][]analytics.Result) []byte {
	dst = appendText(append(dst, `{"success":true,"requestId":`...), requestID)
	if !batch {
		dst = appendPlan(append(dst, ','), &plans[0], results[0])
		return append(dst, '}')
	}
	dst = append(dst, `,"batch":true,"results":[`...)
	for i := range plans {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendPlan(append(dst, '{'), &plans[i], results[i]), '}')
	}
	return append(dst, "]}"...)
}

// appendPlan appends the members of one query's answer: those parameters that
// failed come last.
func appendPlan(dst []byte, plan *analytics.Plan, results []analytics.Result) []byte {
	dst = appendText(append(dst, `"queryId":`...), plan.QueryID)
	dst = append(dst, `,"data":[`...)
	n := 0
	for _, failed := range []bool{false, true} {
		for i := range results {
			if (results[i].Err != nil) != failed {
				continue
			}
			if n++; n > 1 {
				dst = append(dst, ',')
			}
			dst = appendResult(dst, &results[i])
		}
	}
	dst = append(dst, `],"meta":{"parameters":[`...)
	for i, name := range plan.Names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(dst, name)
	}
	dst = strconv.AppendInt(append(dst, `],"total_parameters":`...), int64(len(plan.Names)), 10)
	dst = strconv.AppendInt(append(dst, `,"page":`...), int64(plan.Page), 10)
	dst = strconv.AppendInt(append(dst, `,"limit":`...), int64(plan.Limit), 10)
	dst = strconv.AppendInt(append(dst, `,"filters_applied":`...), int64(plan.Filters), 10)
	return append(dst, '}')
}

func appendResult(dst []byte, r *analytics.Result) []byte {
	dst = appendText(append(dst, `{"parameter":`...), r.Statement.Label)
	if r.Err != nil {
		dst = appendText(append(dst, `,"success":false,"error":`...), failedText)
		return append(dst, `,"data":[]}`...)
	}
	dst = r.Table.AppendRows(append(dst, `,"success":true,"data":`...), r.Statement.Type.Columns)
	return append(dst, '}')
}

// appendText appends s as a JSON string.
func appendText(dst []byte, s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // cannot happen for a string
		return append(dst, `""`...)
	}
	return append(dst, b...)
}
