package ffmpeg

import (
	"os/exec"
	"syscall"
)

// separate makes a command the leader of its own group, so that what it starts is killed with it
// and a signal of the terminal does not reach it. It is killed when its parent dies.
func separate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// kill kills the group of a command that runs.
func kill(cmd *exec.Cmd) {
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it may have ended
}

// widenPipe gives a pipe room for more bytes, so that a process runs ahead of its reader.
func widenPipe(fd uintptr) {
	syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_SETPIPE_SZ, PipeSize) //nolint:errcheck // advice
}
