package management_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/rpc"
)

// documents are those of the tables that were mounted, by the names of their operations.
// To describe a table takes longer than most tests of it, and what comes of it depends on
// nothing else.
var documents = struct {
	sync.Mutex
	of map[string]*rpc.Document
}{of: map[string]*rpc.Document{}}

// mount serves a table on an app.
func mount(t *testing.T, app *fiber.App, table []rpc.Resource, deps rpc.Deps) {
	t.Helper()
	documents.Lock() // also of the mounting, in which the library writes to the document
	defer documents.Unlock()
	names := strings.Join(operationNames(table), " ")
	if documents.of[names] == nil {
		doc, err := rpc.Describe(rpc.Info{Title: "Test", Version: "1"}, table)
		if err != nil {
			t.Fatal(err)
		}
		documents.of[names] = doc
	}
	rpc.Mount(app, documents.of[names], table, deps)
}

func operationNames(table []rpc.Resource) (names []string) {
	for i := range table {
		for j := range table[i].Operations {
			names = append(names, rpc.Path(table[i].Name, table[i].Operations[j].Name))
		}
	}
	return names
}
