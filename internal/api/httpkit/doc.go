// Package httpkit makes the fiber app of a host: everything that a request
// meets before and after its handler is here, once, for both hosts.
//
// It promises that every response carries X-Request-ID; that every failure,
// including those found before a handler runs, is one of the rows of Codes in
// the host's body; that the text of an internal error is logged and never
// shown; that a body is never held beyond its limit, compressed or not; that the
// memory of a request is claimed from its first byte until the client has the
// response; that a body nobody read cannot be mistaken for the next request; and
// that a stop ends no request half way.
//
// It decides nothing about access and knows no domain package.
package httpkit
