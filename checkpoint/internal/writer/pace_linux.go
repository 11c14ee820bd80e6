package writer

import "syscall"

// lowerPriority gives the calling thread the lowest priority there is. Where that
// is refused it keeps the one it has.
func lowerPriority() {
	syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19) //nolint:errcheck // slower for others, not wrong
}
