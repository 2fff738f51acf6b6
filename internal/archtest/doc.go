// Package archtest keeps the shape of the code: which package may import which,
// who knows which technology, that packages say what they promise, and that the
// documents name things that exist.
//
// Every rule is a function from what was read to a list of violations, so that
// the tests can show each of them rejecting something. The rules read the source,
// whatever its build tags; they promise nothing about what a linker keeps, which
// is what the deps.txt of each command shows.
package archtest
