// Package queryapi is the HTTP surface of the query host: its routes, who may use
// them, and the shapes of their answers. What can be asked and how it is computed
// is package analytics'; how errors look is httpkit's.
//
// It promises that access is decided before a body is read, and that what an
// answer says about a website nobody may see is the same whether that website
// exists or not.
package queryapi
