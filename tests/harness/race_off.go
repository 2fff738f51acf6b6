//go:build !race

package harness

// raceEnabled says whether the test binary was built with -race; the daemons
// are then built with it too.
const raceEnabled = false
