// Package sql embeds the migrations of the metadata store, one folder for each
// dialect. The folders hold files of the same names: a migration is one change,
// written twice. Migrations are numbered, run forward only, and are never
// edited once released.
package sql

import "embed"

// SQLite holds the migrations for SQLite in the folder "sqlite".
//
//go:embed sqlite/*.sql
var SQLite embed.FS

// Postgres holds the migrations for PostgreSQL in the folder "postgres".
//
//go:embed postgres/*.sql
var Postgres embed.FS
