//go:build unix

package turns

import (
	"syscall"
	"time"
)

// CPU returns the seconds that the threads of this process have computed.
func CPU() float64 {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return (time.Duration(used.Utime.Nano()) + time.Duration(used.Stime.Nano())).Seconds()
}
