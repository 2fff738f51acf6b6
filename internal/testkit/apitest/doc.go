// Package apitest plays HTTP conversations that are written down as txtar files,
// so that the contract of a host reads as requests and answers and is checked in
// process and at real binaries with the same files.
//
// A file is a comment, which says what holds, and pairs of sections:
//
//	A key without track:events is rejected.
//
//	-- request --
//	POST ${INGEST}/track
//	x-api-key: ${NO_TRACK_KEY}
//
//	{"name":"signup"}
//	-- response --
//	403
//	Content-Type: application/json
//
//	{"success":false,"code":"FORBIDDEN","requestId":"<requestId>"}
//
// Header lines and status are followed by an empty line and the body. A section
// named "request: a long name" says what its step is about. Variables are
// written ${NAME}; in a request, actions of text/template build what is too long
// to write, such as {{repeat "é" 256}} (see funcs.go). Lines that begin with "@"
// are directives:
//
//	@gzip             (request) compress the body
//	@until: 5s        (request) send again until the response matches
//	@capture: NAME x  (response) keep the body's field x (a.b.0.c) as ${NAME}
//	@exact            (response) the body has no fields beyond those written
//
// A header's value in a response is compared whole, except "*", any value, "\*", an
// asterisk, and "-", the header is absent. A JSON body is a subset: an object may have more
// fields than written, an array may not have more elements. Strings of the form
// <name> stand for values that vary: <any>, <string>, <number>, <bool>,
// <absent> for a field that must not be there, <requestId> for the value of the
// X-Request-Id header. A response without a body says nothing about it.
package apitest
