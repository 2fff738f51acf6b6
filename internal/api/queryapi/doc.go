// Package queryapi is the HTTP surface of the query host: its routes, who may use
// them, and the shapes of their responses. What can be asked and how it is computed
// is package analytics'; how errors look is httpkit's.
//
// It promises that requests are checked in the order of httpkit.Checks, so that access
// to what the query string names is decided before a body is understood, and that what
// a response says about a website nobody may see is the same whether that website exists
// or not.
package queryapi
