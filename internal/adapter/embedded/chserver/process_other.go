//go:build !linux && !darwin

package chserver

import (
	"errors"
	"os/exec"
)

func detach(*exec.Cmd) {}

func serveBinary([]string) error { return errors.ErrUnsupported }
