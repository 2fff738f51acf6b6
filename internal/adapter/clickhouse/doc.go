// Package clickhouse is the only door to the analytics database: the tables as
// data, their migrations, the sink's native inserts, the ledger and the query
// runner.
//
// It promises that a table's columns stand in one place, from which the CREATE
// statement, the native block and the reference page are made; that an insert is
// one block under one token, acknowledged by the server or reported as an error;
// and that a connection on which anything went wrong is never used again. The
// same holds for every table that views fill from it: a retry under the same
// token doubles none of them. It refuses to work on a schema that differs from
// its own, and on servers on which a retry could double rows: CheckSchema and
// CheckExactness say what to do.
package clickhouse
