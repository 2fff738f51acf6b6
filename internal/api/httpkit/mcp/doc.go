// Package mcp serves the Model Context Protocol on a host: an endpoint to which AI clients POST
// JSON-RPC messages. A host brings a table of tools; the package checks callers, counts them, keeps
// answers small and turns failures into errors that a model can act on. The protocol itself is the
// official SDK's.
//
// Calls are answered with JSON. Only subscriptions/listen opens a stream, which reports that the
// caller's tools have changed.
package mcp
