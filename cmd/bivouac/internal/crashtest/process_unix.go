//go:build unix

package crashtest

import (
	"os/exec"
	"syscall"
)

// supported reports whether jobs can be killed with all their processes.
const supported = true

// separate makes a command the leader of its own group of processes.
func separate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup sends a signal to the group of a leader, and reports whether there was one.
func signalGroup(leader int, signal syscall.Signal) bool {
	return syscall.Kill(-leader, signal) == nil
}

// signalProcess sends a signal to one process.
func signalProcess(pid int, signal syscall.Signal) { _ = syscall.Kill(pid, signal) }
