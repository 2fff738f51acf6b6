// Package testkit holds what tests of every package share: ports that stay
// free until their server binds them, waiting for a condition instead of
// sleeping, logs that show only when a test fails, folders short enough for
// sockets. It is for tests and tools alone; no daemon links it.
package testkit
