// Package flagapi is the surface of feature flags for browsers and servers: it evaluates
// flags for whoever knows a website's client id, or holds an API key for it.
//
// It promises that nothing of a context is logged, traced or kept, and that what a flag is
// made of - rules, segments, targets, names - leaves by the route of definitions only.
package flagapi
