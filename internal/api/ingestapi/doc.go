// Package ingestapi is the HTTP surface of the ingestion host: its routes and
// their responses, and the tools of its MCP endpoint. What may be accepted is decided by package ingest; how errors
// look, how bodies are read and how connections end is httpkit's.
package ingestapi
