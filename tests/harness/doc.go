// Package harness runs the whole product for tests, in three ways, so that one
// test body proves all of them:
//
//   - InProcess: edge, sink and query inside the test binary, against kfake,
//     SQLite and a database of the shared ClickHouse;
//   - Standalone: the program `millrace standalone` with its embedded servers;
//   - Split: the programs ingest-edge, sink and query against real Apache Kafka,
//     real PostgreSQL and a ClickHouse server process.
//
// Everything listens on free loopback ports and ends with the test. Programs are
// ended as operators and power cuts end them, with signals, and a test waits for
// conditions, never for time to pass. A test binary that uses the package has
//
//	func TestMain(m *testing.M) { harness.Main(m) }
package harness
