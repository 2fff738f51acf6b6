// Package insert stores rows of records in their tables.
//
// It promises that an insert is one block under one token, acknowledged by the server or
// reported as an error with its class, and that a retry under the same token doubles nothing:
// neither in the table nor in any that views fill from it. What is encoded at the same time
// is bounded.
package insert
