package object

import (
	"errors"
	"os"
	"strings"
	"syscall"
)

// system identifies the running system and the process numbers that this process sees: two
// containers on one machine have different ones. It is empty if that cannot be known.
var system = func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	numbers, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + numbers
}()

// ended reports whether no process has a number.
func ended(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
