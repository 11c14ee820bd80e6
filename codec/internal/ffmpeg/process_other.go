//go:build !linux

package ffmpeg

import "os/exec"

// separate does nothing: a process ends when it writes to the pipe of a parent that died.
func separate(*exec.Cmd) {}

// kill kills a command that runs.
func kill(cmd *exec.Cmd) {
	cmd.Process.Kill() //nolint:errcheck // it may have ended
}

func widenPipe(uintptr) {}
