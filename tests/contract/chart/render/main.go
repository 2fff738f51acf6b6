// Command render prints the manifests of the chart for one of its files of values,
// hooks included: `go run ./render production`. README is what its README says.
package main

import (
	"fmt"
	"os"

	"github.com/millrace/millrace/tests/contract/chart/rendering"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: render NAME, of a file in deploy/helm/millrace/ci")
		os.Exit(2)
	}
	r, err := rendering.RenderFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, rendering.Text(r))
}
