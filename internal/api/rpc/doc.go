// Package rpc is the registry of management operations: what all of them have in
// common, once.
//
// An operation is a row: its name, class, limit family, audit action, and a
// handler with typed input and output. From the row come its path
// /rpc/{resource}/{operation}, who may call it, the validation of its body, the
// body of its response, its place in /openapi.json and in the reference. The rows
// themselves stand in package management, one file a resource.
//
// It promises that a handler runs only for a caller whom the operation's class
// admits, in an organization that the caller belongs to, with a body that fits
// the published schema to the letter: no unknown field, no null where none may
// be, no text, list or number without a bound. It refuses to know any resource.
package rpc
