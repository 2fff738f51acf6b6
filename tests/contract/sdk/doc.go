// Package sdk holds the conversations that say how a client of the ingestion host
// behaves, and plays them with the Go client against the real edge. They know nothing
// of Go: a client in another language needs a program that speaks the lines of
// sdk/go/internal/conformance, and is held against the same files.
//
// A file says one thing that holds, as calls of one client after another and their
// results:
//
//	-- new --
//	{"apiKey":"${KEY}","apiUrl":"${INGEST}","websiteId":"${WEBSITE_ID}"}
//	-- track: a call that is queued --
//	{"name":"signup","eventId":"${UNIQUE}-1"}
//	-- result --
//	{"success":true,"delivery":"queued"}
//
// A call without a result section must succeed. Results are compared as package
// apitest compares bodies, and the variables and actions are the same. Besides the
// calls there are
//
//	-- network --      the rule of the proxy that is ${PROXIED}: pass, refuse,
//	                   black hole, or drop answer, which loses the next response
//	-- stored --       ids, each of which must be stored exactly once
//	-- row --          what a stored event is in its columns: event_id names it
//	-- not stored --   ids that must not be stored when those before are
package sdk
