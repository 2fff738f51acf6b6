// Package tools is the table of MCP tools of the query host. A tool calls an operation or a query
// type by its route, in the name of its caller, so that it checks, counts and records what a request
// of that caller would. Adding a tool is one row and one golden file.
package tools
