package management

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/analytics/export"
	"github.com/millrace/millrace/internal/analytics/export/download"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/tenant/website"
)

// Events are the operations on what is stored, row by row.
type Events struct {
	Exports *download.Exporter
	// Access finds websites by their id or client id; *auth.Authenticator is one.
	Access interface {
		Website(ctx context.Context, ref string) (*website.Website, error)
	}
	// Audit remembers exports; *store.Store is one.
	Audit interface {
		Remember(ctx context.Context, e audit.Entry) error
	}
	Log *slog.Logger
	Now func() time.Time // nil means time.Now
}

// The fields of an export's response.
const (
	headerExportStart = "X-Export-Start"
	headerExportEnd   = "X-Export-End"
	trailerNextCursor = "X-Next-Cursor"
	trailerRows       = "X-Export-Rows"
)

// auditTime bounds the entry that is written when an export has ended.
const auditTime = 10 * time.Second

// Resource returns the rows.
func (e *Events) Resource() rpc.Resource {
	types := make([]string, len(export.Formats))
	for i, f := range export.Formats {
		types[i] = f.ContentType
	}
	return rpc.Resource{
		Name: "events", Summary: "Raw stored events.",
		Operations: []rpc.Operation{
			rpc.OpStream(rpc.Spec{
				Name: "export", Summary: "Export the raw events of a website", Class: auth.ViewData, Limit: ratelimit.Export,
				Audit: "events.exported",
				Detail: "Rows are ordered by UTC day, name and an id, and each row is returned once. Every row has a cursor. A " +
					"request with that cursor and the same website, kind and range continues after the row, in any format, after a " +
					"full page or after an interrupted response. An export is complete if its body has an end and its page is " +
					"shorter than limit. Events that arrive during the export are included if the export has not yet passed their " +
					"position. " +
					formats() + " " + kinds(),
			}, rpc.Streamed{
				ContentTypes: types,
				Header: map[string]string{
					headerExportStart: "Start of the resolved range, RFC 3339.",
					headerExportEnd:   "End of the resolved range, excluded.",
				},
				Trailers: map[string]string{
					trailerRows:       "Number of rows in the response.",
					trailerNextCursor: "Cursor of the last row if the page has limit rows; otherwise empty.",
				},
			}, e.export),
		},
	}
}

func formats() string {
	var b strings.Builder
	for i, f := range export.Formats {
		if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(f.Name + ": " + f.Doc)
	}
	return b.String()
}

func kinds() string {
	texts := make([]string, len(export.Kinds))
	for i, k := range export.Kinds {
		texts[i] = "Columns of " + k.Name + ": " + strings.Join(k.ColumnNames(), ", ") + "."
	}
	return strings.Join(texts, " ")
}

type exportInput struct {
	rpc.InOrganization

	WebsiteID string   `json:"websiteId" minLength:"1" maxLength:"128" doc:"Id or client id of the website."`
	StartDate string   `json:"startDate,omitempty" minLength:"1" maxLength:"64" doc:"First day, such as 2026-11-01, or start time, RFC 3339."`
	EndDate   string   `json:"endDate,omitempty" minLength:"1" maxLength:"64" doc:"Last day, included, or end time, excluded."`
	Preset    string   `json:"preset,omitempty" minLength:"1" maxLength:"64" doc:"Relative range, such as last_7d, instead of both dates."`
	Timezone  string   `json:"timezone,omitempty" minLength:"1" maxLength:"64" doc:"IANA time zone of the days; UTC if absent."`
	Kind      string   `json:"kind,omitempty" enum:"events,vitals,errors" doc:"Kind of rows to export; events if absent."`
	Format    string   `json:"format" enum:"ndjson,csv,parquet" doc:"Format of the response."`
	Columns   []string `json:"columns,omitempty" minItems:"1" maxItems:"64" uniqueItems:"true" maxLength:"64" doc:"Columns in their order; all if absent, with the cursor as the last one."`
	Limit     int      `json:"limit,omitempty" minimum:"1" maximum:"1000000000" doc:"Maximum number of rows; all rows of the range if absent."`
	Cursor    string   `json:"cursor,omitempty" minLength:"1" maxLength:"1400" doc:"Cursor of the row after which the export continues."`
}

func (e *Events) export(ctx context.Context, call *rpc.Call, in *exportInput) (*rpc.Stream, error) {
	site, err := e.website(ctx, call, in)
	if err != nil {
		return nil, err
	}
	query, err := e.query(site, in)
	if err != nil {
		return nil, err
	}
	x, err := e.Exports.Begin(site.OrganizationID, call.By.Actor.ID, query)
	if err != nil {
		return nil, err
	}
	const file = "20060102T150405Z"
	start, end := query.Start.UTC(), query.End.UTC()
	return &rpc.Stream{
		FileName: query.Kind.Name + "_" + site.ID + "_" + start.Format(file) + "_" + end.Format(file) + "." +
			query.Format.Extension,
		Header: map[string]string{
			headerExportStart: start.Format(time.RFC3339Nano), headerExportEnd: end.Format(time.RFC3339Nano),
		},
		May: func(ctx context.Context, p auth.Principal) error {
			now := *call
			now.Principal = p
			_, err := e.website(ctx, &now, in)
			return err
		},
		Stream: httpkit.Stream{
			ContentType: query.Format.ContentType, Compress: query.Format.Compress, Deadline: e.Exports.Deadline(),
			Write:    func(ctx context.Context, w io.Writer) error { return x.Write(ctx, w) },
			Trailers: []string{trailerRows, trailerNextCursor},
			Trailer: func(name string) string {
				if name == trailerRows {
					return strconv.Itoa(x.Rows())
				}
				return x.NextCursor()
			},
			Done: func() {
				x.End()
				e.remember(context.WithoutCancel(ctx), call, site, query, x)
			},
		},
	}, nil
}

// website returns the website that a call is about. One that does not exist, one
// of another organization and one that the caller does not cover get the same
// response, which is that of queries.
func (e *Events) website(ctx context.Context, call *rpc.Call, in *exportInput) (*website.Website, error) {
	w, err := e.Access.Website(ctx, in.WebsiteID)
	if err == nil {
		err = auth.AuthorizeWebsite(call.Principal, w, auth.ScopeReadData)
	}
	switch {
	case err == nil:
		return w, nil
	case errors.Is(err, website.ErrNotFound), apierr.Is(err, apierr.AccessDenied):
		return nil, &apierr.Error{Code: apierr.AccessDenied, Message: "Access denied to this website", Err: err}
	}
	return nil, err
}

func (e *Events) query(site *website.Website, in *exportInput) (*export.Query, error) {
	asked := analytics.Asked{Start: in.StartDate, End: in.EndDate, Preset: in.Preset, TimeZone: in.Timezone}
	rng, problems := asked.Range(e.now())
	if len(problems) > 0 {
		message := problems[0].Message
		if s := problems[0].Suggestion; s != "" {
			message += ". " + s
		}
		return nil, &apierr.Error{Code: apierr.Validation, Message: message, Details: problems}
	}
	return export.NewQuery(&export.Request{
		WebsiteID: site.ID, Kind: in.Kind, Format: in.Format, Columns: in.Columns, Start: rng.Start, End: rng.End,
		Limit: in.Limit, Cursor: in.Cursor,
	})
}

// remember writes the audit entry of an export that has ended, however it did. The caller might
// export when it began: what has been read is written down also when their session or key has
// ended meanwhile.
func (e *Events) remember(
	ctx context.Context, call *rpc.Call, site *website.Website, q *export.Query, x *download.Export,
) {
	ctx, cancel := context.WithTimeout(ctx, auditTime)
	defer cancel()
	set := func(v any) audit.Change { return audit.Change{To: v} }
	by := call.By
	by.Grant = nil
	entry := audit.New(by, site.OrganizationID, "events", "exported", e.now()).Of(site.ID,
		site.Name).With(map[string]audit.Change{
		"kind": set(q.Kind.Name), "format": set(q.Format.Name), "rows": set(x.Rows()),
		"start": set(q.Start.UTC().Format(time.RFC3339Nano)), "end": set(q.End.UTC().Format(time.RFC3339Nano)),
	})
	if err := e.Audit.Remember(ctx, entry); err != nil {
		e.Log.LogAttrs(ctx, slog.LevelError, "recording an export in the audit log failed", slog.String("website", site.ID),
			slog.Any("error", err))
	}
}

func (e *Events) now() time.Time {
	if e.Now != nil {
		return e.Now()
	}
	return time.Now()
}
