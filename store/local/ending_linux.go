package local

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// ending reports whether a process has ended, or will not run again because it was killed.
func ending(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
	}
	return dying(status)
}

// dying reports whether /proc/PID/status is of a process that has ended or that has a SIGKILL
// waiting.
func dying(status []byte) bool {
	for line := range bytes.Lines(status) {
		name, value, _ := bytes.Cut(line, []byte(":\t"))
		switch string(name) {
		case "State":
			if bytes.HasPrefix(value, []byte("Z")) || bytes.HasPrefix(value, []byte("X")) {
				return true
			}
		case "SigPnd", "ShdPnd":
			var pending uint64
			if _, err := fmt.Sscanf(string(value), "%x", &pending); err == nil && pending&(1<<(syscall.SIGKILL-1)) != 0 {
				return true
			}
		}
	}
	return false
}
