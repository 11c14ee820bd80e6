//go:build !linux

package exec

import "runtime"

// pin ties the calling goroutine to a thread of its own.
func pin(int) { runtime.LockOSThread() }
