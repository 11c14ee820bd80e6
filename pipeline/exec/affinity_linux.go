package exec

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// pin ties the calling goroutine to its own thread, and the thread to the n-th processor that the
// process may use. If the system refuses, the thread runs on any processor.
func pin(n int) {
	runtime.LockOSThread()
	var allowed, one unix.CPUSet
	if unix.SchedGetaffinity(0, &allowed) != nil || allowed.Count() == 0 {
		return
	}
	n %= allowed.Count()
	for cpu := 0; ; cpu++ {
		if !allowed.IsSet(cpu) {
			continue
		}
		if n == 0 {
			one.Set(cpu)
			_ = unix.SchedSetaffinity(0, &one)
			return
		}
		n--
	}
}
