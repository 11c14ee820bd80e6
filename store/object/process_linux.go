package object

import (
	"bytes"
	"errors"
	"os"
	"strconv"
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

// ended reports whether no process has a number, or one that has ended and waits for its parent.
func ended(pid int) bool {
	return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || isZombie(pid)
}

// isZombie reports whether a process has ended although nobody has waited for it, as happens in
// containers whose first process does not wait for the orphans that it gets.
func isZombie(pid int) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	if !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X") {
		return false
	}
	threads, err := os.ReadDir(dir + "/task")
	return err == nil && len(threads) <= 1 // the first thread may end before the others
}
