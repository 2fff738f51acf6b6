// Package mcp calls the query host's MCP endpoint with clients that others wrote, in both eras of
// the protocol, and with the protocol's conformance suite.
package mcp
