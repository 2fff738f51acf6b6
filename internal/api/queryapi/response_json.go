package queryapi

import (
	"context"
	"strconv"
	"time"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/contract/wire"
)

// json lays out the body of one query, or of a batch.
func (a *response) json() []step {
	head := wire.AppendHTMLSafe([]byte(`{"success":true,"requestId":`), a.requestID)
	if !a.batch {
		return append([]step{text(append(head, ','))}, append(a.planJSON(0), text([]byte("}")))...)
	}
	steps := []step{text(append(head, `,"batch":true,"results":[`...))}
	for i := range a.plans {
		open := "{"
		if i > 0 {
			open = ",{"
		}
		steps = append(append(append(steps, text([]byte(open))), a.planJSON(i)...), text([]byte("}")))
	}
	return append(steps, text([]byte("]}")))
}

// text is a step that waits for nothing.
func text(b []byte) step {
	return func(_ context.Context, dst []byte) ([]byte, bool, error) { return append(dst, b...), false, nil }
}

// planJSON lays out the members of one query's response: those parameters that failed
// come last.
func (a *response) planJSON(plan int) []step {
	p := &a.plans[plan]
	rows := make([]int, len(p.Outputs))
	var failed []analytics.Result
	written := 0
	comma := func(dst []byte) []byte {
		if written++; written > 1 {
			return append(dst, ',')
		}
		return dst
	}
	steps := []step{text(append(wire.AppendHTMLSafe([]byte(`"queryId":`), p.QueryID), `,"data":[`...))}
	for i := range p.Outputs {
		next := 0
		steps = append(steps, func(ctx context.Context, dst []byte) (_ []byte, more bool, _ error) {
			r := a.execution.Wait(ctx, plan, i)
			if r.Table == nil {
				failed = append(failed, r)
				return dst, false, nil
			}
			if next == 0 {
				rows[i] = r.Table.Rows
				dst = wire.AppendHTMLSafe(append(comma(dst), `{"parameter":`...), r.Output.Label)
				dst = append(dst, `,"success":true,"data":`...)
			}
			if dst, next = r.Table.AppendRows(dst, r.Output.Columns, next); next < r.Table.Rows {
				return dst, true, nil
			}
			return append(dst, '}'), false, nil
		})
	}
	return append(steps, func(_ context.Context, dst []byte) ([]byte, bool, error) {
		for i := range failed {
			f := failed[i].Failure()
			dst = wire.AppendHTMLSafe(append(comma(dst), `{"parameter":`...), failed[i].Output.Label)
			dst = wire.AppendHTMLSafe(append(dst, `,"success":false,"error":`...), f.Text)
			dst = append(wire.AppendHTMLSafe(append(dst, `,"code":`...), f.Code), `,"data":[]}`...)
		}
		return appendMeta(append(dst, `],"meta":`...), p, rows), false, nil
	})
}

// appendMeta appends what was asked and what was made of it.
func appendMeta(dst []byte, p *analytics.Plan, rows []int) []byte {
	dst = append(dst, `{"parameters":[`...)
	for i, name := range p.Names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendHTMLSafe(dst, name)
	}
	dst = appendInt(append(dst, `],"total_parameters":`...), len(p.Names))
	dst = appendInt(append(dst, `,"page":`...), p.Page)
	dst = appendInt(append(dst, `,"limit":`...), p.Limit)
	dst = appendInt(append(dst, `,"filters_applied":`...), p.Filters)
	dst = append(dst, `,"applied":[`...)
	for i := range p.Outputs {
		if i > 0 {
			dst = append(dst, ',')
		}
		o := &p.Outputs[i]
		source := ""
		if o.Rejected == nil {
			source = p.Statements[o.Statement].Source
		}
		dst = appendApplied(dst, o, source, rows[i])
	}
	return append(dst, "]}"...)
}

// appendApplied appends what one parameter was taken for: its type and range, in the
// range's zone, the end excluded, and where they mean anything the length of the
// buckets, the order and the page; and whether its numbers come from rollups.
func appendApplied(dst []byte, o *analytics.Output, source string, rows int) []byte {
	dst = wire.AppendHTMLSafe(append(dst, `{"parameter":`...), o.Label)
	dst = wire.AppendHTMLSafe(append(dst, `,"type":`...), o.Type.Name)
	dst = appendTime(append(dst, `,"start":`...), o.Range.Start.In(o.Range.Zone))
	dst = appendTime(append(dst, `,"end":`...), o.Range.End.In(o.Range.Zone))
	dst = wire.AppendHTMLSafe(append(dst, `,"timezone":`...), o.Range.Zone.String())
	if o.Previous != nil {
		dst = appendTime(append(dst, `,"previous":{"start":`...), o.Previous.Start.In(o.Range.Zone))
		dst = append(appendTime(append(dst, `,"end":`...), o.Previous.End.In(o.Range.Zone)), '}')
	}
	if o.Type.Series {
		dst = wire.AppendHTMLSafe(append(dst, `,"granularity":`...), o.Granularity.String())
	}
	if o.Applied.Limit > 0 {
		dst = wire.AppendHTMLSafe(append(dst, `,"sort":`...), o.Applied.Sort)
		dst = appendInt(append(dst, `,"limit":`...), o.Applied.Limit)
		dst = appendInt(append(dst, `,"page":`...), o.Applied.Page)
	}
	dst = appendInt(append(dst, `,"filters":`...), o.Applied.Filters)
	if source != "" {
		dst = wire.AppendHTMLSafe(append(dst, `,"source":`...), source)
	}
	return append(appendInt(append(dst, `,"rows":`...), rows), '}')
}

func appendTime(dst []byte, t time.Time) []byte {
	return append(t.AppendFormat(append(dst, '"'), time.RFC3339Nano), '"')
}

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }
