// Package schema holds the tables and views of the analytics database as data, their
// migrations, and the checks of what servers have of them.
//
// It promises that a table's columns stand in one place, from which the CREATE statement, the
// native block and the reference page are made. It refuses to work on a schema that differs
// from its own, and on servers on which a retry could double rows: Check and CheckExactness
// say what to do.
package schema
