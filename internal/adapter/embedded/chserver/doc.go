// Package chserver runs a real ClickHouse server as a child process, for
// standalone mode and for tests.
//
// It promises a server on loopback that speaks the native protocol and HTTP,
// keeps its tables in one folder, is started again when it dies, and ends when
// this process ends, however that happens. It takes the server from the
// configured binary, else from a clickhouse binary on PATH, else from the
// library that package chlibrary finds.
//
// No client ends it: the library would end at any error that ends a connection, but
// not at a terminal, which it is given for that. Where there is none, its listeners
// stand behind a relay.
//
// It rejects addresses that another machine could reach, because the server
// knows no passwords, and two servers on one folder.
//
// The child is this very program started again with a hidden first argument, so
// every main and TestMain that starts a server calls RunIfChild before anything
// else. The child holds one end of a terminal or pipe and ends when the other end
// closes.
package chserver
