package testkit

import (
	"time"

	"github.com/millrace/millrace/internal/platform/config"
)

// WideLimits returns limits that no test reaches unless it means to, so that what
// it sends takes the same way as anybody's.
func WideLimits() config.Limits {
	l := config.Default().Limits
	const many = 1_000_000
	l.Window = time.Second
	l.Track, l.Query, l.Compile, l.Export, l.Manage, l.SignIn = many, many, many, many, many, many
	l.Page, l.Vitals, l.Errors, l.Engagement, l.Identify, l.Pixel = many, many, many, many, many, many
	l.Flags, l.FlagsAnonymous, l.MCP = many, many, many
	l.QueryAnonymous, l.CompileAnonymous, l.ManageAnonymous = many, many, many
	l.Concurrency = 10_000
	return l
}
