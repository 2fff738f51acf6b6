package e2e

import (
	"os"
	"testing"

	"github.com/millrace/millrace/internal/testkit/apitest"
	"github.com/millrace/millrace/tests/harness"
)

func TestTheProgramsKeepTheContract(t *testing.T) {
	inBothModes(t, func(t *testing.T, s *harness.System) {
		cases, err := apitest.Load(os.DirFS("../../contract"), "*.txtar")
		if err != nil {
			t.Fatal(err)
		}
		harness.PlayContract(t, s, cases)
	})
}
