//go:build !unix

package crashtest

import (
	"os/exec"
	"syscall"
)

const supported = false

func separate(*exec.Cmd) {}

func signalGroup(int, syscall.Signal) bool { return false }

func signalProcess(int, syscall.Signal) {}
