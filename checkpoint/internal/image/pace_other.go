//go:build !linux

package image

// lowerPriority does nothing here: threads have no priority of their own.
func lowerPriority() {}
