//go:build unix

package training

import (
	"os"
	"syscall"
)

func preemptionSignals() []os.Signal { return []os.Signal{syscall.SIGTERM, syscall.SIGUSR1} }
