// Package clickhouse connects to the analytics database. The packages below it say what for:
// native holds the columns of blocks, schema the tables, their migrations and checks, insert
// stores blocks, ledgerstore keeps and checks what became of ranges, query answers questions,
// deletion erases and expires, and inspect tells what servers say of themselves. But for the
// embedded server nobody else knows the client.
//
// It promises that a connection on which anything went wrong is never used again, that a
// process reads from the same replica while that answers, and that what is called off ends
// soon, whatever the server does. It knows nothing of tables.
package clickhouse
