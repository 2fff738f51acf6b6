package queryapi

import (
	"context"
	"errors"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/wire"
)

// check rejects what the format cannot hold: CSV has one header, so it is for one
// parameter.
func (a *response) check() error {
	outputs := 0
	for i := range a.plans {
		outputs += len(a.plans[i].Outputs)
	}
	if a.format == formatCSV && outputs != 1 {
		return apierr.Invalid("parameters", "too_many",
			"CSV supports only one parameter; request one, or accept application/x-ndjson or application/json")
	}
	return nil
}

// csv lays out a header and the rows of the only parameter. CSV has no place for a
// failure, so it is the whole response's.
func (a *response) csv() []step {
	next := 0
	return []step{func(ctx context.Context, dst []byte) (_ []byte, more bool, _ error) {
		r := a.execution.Wait(ctx, 0, 0)
		if r.Err != nil {
			return dst, false, whole(r.Err)
		}
		dst, next = r.Table.AppendCSV(dst, r.Output.Columns, next)
		return dst, next < r.Table.Rows, nil
	}}
}

// whole is the failure of a parameter as that of a request.
func whole(err error) error {
	switch {
	case errors.Is(err, analytics.ErrUnavailable):
		return apierr.Wrap(apierr.ServiceUnavailable, err)
	case errors.Is(err, analytics.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return apierr.Wrap(apierr.DeadlineExceeded, err)
	case errors.Is(err, analytics.ErrTooLarge):
		return &apierr.Error{
			Code:    apierr.PayloadTooLarge,
			Message: "The response exceeds the size limit; use a shorter range or a lower limit",
			Err:     err,
		}
	}
	return apierr.Wrap(apierr.Internal, err)
}

// lines lays out a JSON object for each row, with its parameter before its columns,
// and of a batch its query's id; and one for each parameter that failed, after the
// rows of its query.
func (a *response) lines() []step {
	var steps []step
	for plan := range a.plans {
		p := &a.plans[plan]
		var failed []analytics.Result
		prefix := func(dst []byte, label string) []byte {
			dst = append(dst, '{')
			if a.batch {
				dst = append(wire.AppendHTMLSafe(append(dst, `"queryId":`...), p.QueryID), ',')
			}
			return wire.AppendHTMLSafe(append(dst, `"parameter":`...), label)
		}
		for i := range p.Outputs {
			next := 0
			steps = append(steps, func(ctx context.Context, dst []byte) (_ []byte, more bool, _ error) {
				r := a.execution.Wait(ctx, plan, i)
				if r.Table == nil {
					failed = append(failed, r)
					return dst, false, nil
				}
				dst, next = r.Table.AppendLines(dst, r.Output.Columns, append(prefix(nil, r.Output.Label), ','), next)
				return dst, next < r.Table.Rows, nil
			})
		}
		steps = append(steps, func(_ context.Context, dst []byte) ([]byte, bool, error) {
			for i := range failed {
				f := failed[i].Failure()
				dst = wire.AppendHTMLSafe(append(prefix(dst, failed[i].Output.Label), `,"success":false,"error":`...), f.Text)
				dst = append(wire.AppendHTMLSafe(append(dst, `,"code":`...), f.Code), "}\n"...)
			}
			return dst, false, nil
		})
	}
	return steps
}
