// Package clickhouse holds the migrations of the analytics database: numbered
// files, applied once each, in order, forward only. Every statement must be safe
// to run twice (IF NOT EXISTS), because two processes may migrate at once.
//
// internal/adapter/clickhouse/schema holds the same tables as data, from which it creates the tables of
// a cluster. A migration that adds a rollup also lists the stored days in rollup_dirty: queries then
// read the events of these days until the rollup is rebuilt.
package clickhouse

import "embed"

// Files holds the migrations, named NNNN_what.sql; statements end with a line
// that ends in a semicolon.
//
//go:embed *.sql
var Files embed.FS
