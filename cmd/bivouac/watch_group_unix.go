//go:build unix && !bivouac_wheel

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a command the leader of a group, so that what it starts is killed with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
