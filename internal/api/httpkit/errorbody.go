package httpkit

import (
	"strconv"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/wire"
)

// Host selects one of the two error bodies and the defaults of a host.
type Host uint8

// The hosts. That of short links has the error body of ingestion, without what is there to
// be done about a credential, and pages for browsers.
const (
	Ingestion Host = iota
	Query
	Links
)

// String returns the host's name as it stands in metrics and logs.
func (h Host) String() string { return [...]string{"ingestion", "query", "links"}[h] }

// failure is an error about to be written: the API error with its status resolved.
type failure struct {
	*apierr.Error
	row    Row
	status int // row.Status, except where HTTP has a more exact one
}

func (f failure) message(h Host) string {
	// An internal error never brings a message of its own.
	if f.Message != "" && f.Code != apierr.Internal {
		return f.Message
	}
	return f.row.message(h)
}

// errorBody returns the error body of a host. The request id is a checked token
// and needs no escaping.
func errorBody(h Host, f failure, requestID []byte) []byte {
	if h == Query {
		return appendQueryBody(nil, f, requestID)
	}
	return appendIngestionBody(nil, h, f, requestID)
}

func appendIngestionBody(dst []byte, h Host, f failure, requestID []byte) []byte {
	message := f.message(h)
	dst = wire.AppendHTMLSafe(append(dst, `{"success":false,"status":"error","error":`...), message)
	dst = wire.AppendHTMLSafe(append(dst, `,"message":`...), message)
	dst = wire.AppendHTMLSafe(append(dst, `,"code":`...), string(f.row.Code))
	dst = strconv.AppendBool(append(dst, `,"retryable":`...), retryable(f.status))
	dst = append(append(append(dst, `,"requestId":"`...), requestID...), '"')
	if f.row.Fix != "" && h != Links {
		dst = wire.AppendHTMLSafe(append(dst, `,"fix":`...), f.row.Fix)
	}
	dst = appendRate(dst, f)
	for i, d := range f.Details {
		if i == 0 {
			dst = append(dst, `,"errors":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		if d.Index != apierr.NoIndex {
			dst = strconv.AppendInt(append(dst, `"index":`...), int64(d.Index), 10)
			dst = append(dst, ',')
		}
		dst = wire.AppendHTMLSafe(append(dst, `"field":`...), d.Field)
		dst = wire.AppendHTMLSafe(append(dst, `,"code":`...), d.Rule)
		dst = wire.AppendHTMLSafe(append(dst, `,"message":`...), d.Message)
		dst = append(dst, '}')
	}
	if len(f.Details) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func appendQueryBody(dst []byte, f failure, requestID []byte) []byte {
	dst = wire.AppendHTMLSafe(append(dst, `{"success":false,"error":`...), f.message(Query))
	dst = wire.AppendHTMLSafe(append(dst, `,"code":`...), string(f.row.Code))
	dst = append(append(append(dst, `,"requestId":"`...), requestID...), '"')
	dst = appendRate(dst, f)
	for i, d := range f.Details {
		if i == 0 {
			dst = append(dst, `,"details":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = wire.AppendHTMLSafe(append(dst, `{"field":`...), d.Field)
		dst = wire.AppendHTMLSafe(append(dst, `,"message":`...), d.Message)
		if d.Suggestion != "" {
			dst = wire.AppendHTMLSafe(append(dst, `,"suggestion":`...), d.Suggestion)
		}
		dst = append(dst, '}')
	}
	if len(f.Details) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// appendRate appends the members that say which limit is used up, on both hosts the
// same.
func appendRate(dst []byte, f failure) []byte {
	if f.Rate == nil {
		return dst
	}
	dst = strconv.AppendInt(append(dst, `,"limit":`...), int64(f.Rate.Limit), 10)
	dst = strconv.AppendInt(append(dst, `,"remaining":`...), int64(f.Rate.Remaining), 10)
	dst = strconv.AppendInt(append(dst, `,"reset":`...), f.Rate.Reset.UnixMilli(), 10)
	return strconv.AppendInt(append(dst, `,"retryAfter":`...), int64(f.retryAfterSeconds()), 10)
}
