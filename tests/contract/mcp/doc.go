// Package mcp calls the hosts' MCP endpoints with clients that others wrote, in both eras of the
// protocol, and with the protocol's conformance suite.
package mcp
