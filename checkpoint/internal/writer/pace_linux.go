package writer

import "syscall"

// lowerPriority gives the calling thread the lowest priority. If the system refuses, the priority
// stays.
func lowerPriority() {
	syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19) //nolint:errcheck // the save is still correct
}
