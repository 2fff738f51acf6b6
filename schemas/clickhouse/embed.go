// Package clickhouse holds the migrations of the analytics database: numbered
// files, applied once each, in order, forward only. Every statement must be safe
// to run twice (IF NOT EXISTS), because two processes may migrate at once.
//
// The files are written from the tables in internal/adapter/clickhouse/schema, which also makes
// a cluster's statements of them; see its history.go when adding one.
package clickhouse

import "embed"

// Files holds the migrations, named NNNN_what.sql; statements end with a line
// that ends in a semicolon.
//
//go:embed *.sql
var Files embed.FS
