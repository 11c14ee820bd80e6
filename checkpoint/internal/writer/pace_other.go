//go:build !linux

package writer

// lowerPriority does nothing here: threads have no priority of their own.
func lowerPriority() {}
