package ratelimit

import (
	"time"

	"github.com/millrace/millrace/internal/platform/config"
)

// Limit is a number of requests within any stretch of time of a length. The zero
// value is no limit.
type Limit struct {
	Requests int
	Window   time.Duration
}

// Family is a group of routes that are counted together.
type Family uint8

// The families.
const (
	Manage Family = iota
	SignIn
	Query
	Compile
	Export
	Track
	Page
	Batch
	Vitals
	Errors
	Engagement
	Identify
	Pixel
	Flags
	MCP
	MCPLists
	MCPQueries
	MCPReports
	MCPWrites
	families = iota
)

// String returns the family's name, as it stands in metrics.
func (f Family) String() string { return Families[f].Name }

// Row is one family.
type Row struct {
	Name string
	// Covers says for which routes it is, for the reference.
	Covers string
	// Known and Anonymous are the keys of the settings that hold the figures: for
	// callers with a credential, and for those without. Both are empty for a fixed figure.
	Known, Anonymous string
	// Fixed is the number of requests of a caller with a credential, where no setting holds it.
	Fixed int

	known, anonymous func(*config.Limits) int
}

// Families is the table of the families, in the order of their constants.
var Families = [families]Row{
	Manage: {
		Name: "manage", Covers: "all other routes of the query host except `/health`, `GET /v1/query/types` and the " +
			"documents",
		Known: "limits.manage", Anonymous: "limits.manage_anonymous",
		known:     func(l *config.Limits) int { return l.Manage },
		anonymous: func(l *config.Limits) int { return l.ManageAnonymous },
	},
	SignIn: {
		Name: "sign_in", Covers: "operations that take a password or a mailed token, per IP address for every caller",
		Known: "limits.sign_in", Anonymous: "limits.sign_in",
		known:     func(l *config.Limits) int { return l.SignIn },
		anonymous: func(l *config.Limits) int { return l.SignIn },
	},
	Query: {
		Name: "query", Covers: "`POST /v1/query`",
		Known: "limits.query", Anonymous: "limits.query_anonymous",
		known:     func(l *config.Limits) int { return l.Query },
		anonymous: func(l *config.Limits) int { return l.QueryAnonymous },
	},
	Compile: {
		Name: "compile", Covers: "`POST /v1/query/compile`",
		Known: "limits.compile", Anonymous: "limits.compile_anonymous",
		known:     func(l *config.Limits) int { return l.Compile },
		anonymous: func(l *config.Limits) int { return l.CompileAnonymous },
	},
	Export: {
		Name: "export", Covers: "`POST /rpc/events/export`",
		Known: "limits.export", Anonymous: "limits.export",
		known:     func(l *config.Limits) int { return l.Export },
		anonymous: func(l *config.Limits) int { return l.Export },
	},
	Track:  ingestion("track", "track", "`POST /track`", func(l *config.Limits) int { return l.Track }),
	Page:   ingestion("page", "page", "`POST /`", func(l *config.Limits) int { return l.Page }),
	Batch:  ingestion("batch", "page", "`POST /batch`", func(l *config.Limits) int { return l.Page }),
	Vitals: ingestion("vitals", "vitals", "`POST /vitals`", func(l *config.Limits) int { return l.Vitals }),
	Errors: ingestion("errors", "errors", "`POST /errors`", func(l *config.Limits) int { return l.Errors }),
	Engagement: ingestion("engagement", "engagement", "`POST /engagement`",
		func(l *config.Limits) int { return l.Engagement }),
	Identify: ingestion("identify", "identify", "`POST /identify`", func(l *config.Limits) int { return l.Identify }),
	Pixel:    ingestion("pixel", "pixel", "`GET /px.jpg`", func(l *config.Limits) int { return l.Pixel }),
	Flags: {
		Name: "flags", Covers: "`/public/v1/flags/…`; without a credential, per IP address and website",
		Known: "limits.flags", Anonymous: "limits.flags_anonymous",
		known:     func(l *config.Limits) int { return l.Flags },
		anonymous: func(l *config.Limits) int { return l.FlagsAnonymous },
	},
	// An invalid key at an MCP endpoint counts as any other of its host.
	MCP: {
		Name: "mcp", Covers: "the MCP endpoints of both hosts", Known: "limits.mcp", Anonymous: "limits.manage_anonymous",
		known:     func(l *config.Limits) int { return l.MCP },
		anonymous: func(l *config.Limits) int { return l.ManageAnonymous },
	},
	MCPLists:   fixed("mcp_lists", "MCP tools that list or get records", 60),
	MCPQueries: fixed("mcp_queries", "the MCP tools `run_query` and `compile_query`", 30),
	MCPReports: fixed("mcp_reports", "MCP tools that compute a report", 20),
	MCPWrites:  fixed("mcp_writes", "MCP tools that change a record", 10),
}

// fixed is the row of a class of MCP tools. An MCP client always has a credential.
func fixed(name, covers string, requests int) Row {
	limit := func(*config.Limits) int { return requests }
	return Row{Name: name, Covers: covers, Fixed: requests, known: limit, anonymous: limit}
}

// ingestion is the row of a route that takes events: the limit is the same with a
// key and without.
func ingestion(name, setting, covers string, limit func(*config.Limits) int) Row {
	return Row{Name: name, Covers: covers, Known: "limits." + setting, Anonymous: "limits." +
		setting, known: limit, anonymous: limit}
}
