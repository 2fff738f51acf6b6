// Package management is the table of operations with which people, scripts and
// AI clients run their account: one file a resource, each a list of rows and the
// handlers behind them.
//
// A handler takes what the registry has checked, calls the domain and shapes the
// response; every rule stands in the domain's package, and who may call what in
// the table of package auth. It promises that no response holds a record of
// another organization, nor a secret except the one time it is made.
//
// To add a resource: make a file for it with a struct of what it needs and a
// method Resource that returns the rows, each made by rpc.Op; add it to
// Resources. The OpenAPI document and the reference find it there, and so do the
// tests of access: go test ./internal/api/rpc -run Admits -update writes down who
// reaches the new rows, to be looked at and committed.
package management
