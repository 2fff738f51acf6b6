// Package native holds the columns of blocks: what each takes from a row, and how it is sent.
//
// It promises that to append a row allocates nothing once a column has room, and that a value
// beyond a type's range becomes the nearest one within: the server would take it and show
// something else. A column belongs to one goroutine. It knows no table.
package native
