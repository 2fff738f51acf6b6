//go:build race

package harness

// Raced says whether the test binary was built with -race; the daemons
// are then built with it too.
const Raced = true
