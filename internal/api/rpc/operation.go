package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// Resource is a family of operations, such as "websites".
type Resource struct {
	Name       string // in camelCase, as in the path
	Summary    string // a sentence for the reference
	Operations []Operation
	// Record is the size of the largest record in a response, in bytes, if that is more than
	// httpkit.WholeBytes.
	Record int64
	// Failures are the errors of the domain that callers may see, and how.
	Failures []Failure
}

// Failure says how one error of a domain looks on the wire. What is in no table
// and is no *apierr.Error is an internal error.
type Failure struct {
	Err     error
	Code    apierr.Code
	Message string // empty means the code's own
}

// Spec is what an operation declares. Only Name, Summary and Class are required.
type Spec struct {
	Name    string // in camelCase, as in the path
	Summary string // one line, beginning with a verb
	Detail  string // more for the reference; may be empty
	// Class says who may call the operation; see auth.Classes.
	Class auth.Class
	// Limit is the family of rate limits; the zero value is ratelimit.Manage.
	Limit ratelimit.Family
	// Audit is the action under which the store remembers the change; empty for
	// operations that change nothing worth remembering.
	Audit string
	// Unstored are the texts of the input that no store keeps as they are, so that they
	// may hold the character U+0000; usually none.
	Unstored []string
	// Response is the size of the largest response of a change, in bytes, if that is more than
	// httpkit.WholeBytes: its memory is claimed before the change. 0 means the resource's Record.
	Response int64
	// Creates is set for an operation that makes a record: it answers 201.
	Creates bool
}

// Operation is one row of the registry. Op and OpStream make it.
type Operation struct {
	Spec

	in, out reflect.Type // out is nil for one that streams
	// streamed is set for an operation that answers with a *Stream.
	streamed *Streamed
	// run decodes a body that the schema has passed and calls the handler.
	run func(ctx context.Context, call *Call, body []byte) (any, error)
}

// Op binds a handler to its row. In and Out are structs whose fields carry json
// tags and, for In, huma's tags with a bound for every text, list and number. A
// list answers with *List[Record].
func Op[In, Out any](spec Spec, handle func(context.Context, *Call, *In) (*Out, error)) Operation {
	return Operation{
		Spec: spec, in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](),
		run: func(ctx context.Context, call *Call, body []byte) (any, error) {
			in := new(In)
			if err := json.Unmarshal(body, in); err != nil {
				return nil, apierr.Wrap(apierr.Internal, fmt.Errorf("decoding a body that fits the schema: %w", err))
			}
			return handle(ctx, call, in)
		},
	}
}

// Status is the status of a successful response.
func (o *Operation) Status() int {
	if o.Creates {
		return http.StatusCreated
	}
	return http.StatusOK
}

// changes reports whether a call changes something.
func (o *Operation) changes() bool { return o.Audit != "" && o.streamed == nil }

// long reports whether a response may have many records.
func (o *Operation) long() bool {
	return o.out != nil && reflect.PointerTo(o.out).Implements(reflect.TypeFor[page]())
}

// repeats reports whether the operation takes an Idempotency-Key: each does that changes
// something in the name of somebody. Of nobody's calls it is not known which are the
// same one's.
func (o *Operation) repeats() bool { return o.changes() && o.Class != auth.Public }

// prefix is what the paths of all operations begin with.
const prefix = "/rpc/"

// Path returns where an operation of a resource is served.
func Path(resource, operation string) string { return prefix + resource + "/" + operation }

// Empty is the input or output of operations that need none.
type Empty struct{}
