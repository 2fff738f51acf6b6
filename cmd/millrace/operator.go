package main

import (
	"os/user"

	"github.com/millrace/millrace/internal/tenant/audit"
)

// operator is how the audit remembers who runs a command: by the name of the
// account on this machine.
func operator() audit.By {
	name := "operator" // where the machine knows no names, as in many containers
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	return audit.ByOperator(name)
}
