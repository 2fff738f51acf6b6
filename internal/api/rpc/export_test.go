package rpc

import (
	"context"

	"github.com/millrace/millrace/internal/tenant/auth"
)

// Stub replaces the handlers of a table by one that does nothing but say that it
// was reached.
func Stub(resources []Resource, reached func(auth.Class, *Call)) {
	for i := range resources {
		for j := range resources[i].Operations {
			o := &resources[i].Operations[j]
			o.run = func(_ context.Context, call *Call, _ []byte) (any, error) {
				reached(o.Class, call)
				return Empty{}, nil
			}
		}
	}
}

// Watch has the handlers of a table say that they were reached.
func Watch(resources []Resource, reached func()) {
	for i := range resources {
		for j := range resources[i].Operations {
			run := resources[i].Operations[j].run
			resources[i].Operations[j].run = func(ctx context.Context, call *Call, body []byte) (any, error) {
				reached()
				return run(ctx, call, body)
			}
		}
	}
}
