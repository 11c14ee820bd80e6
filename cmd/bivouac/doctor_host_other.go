//go:build !linux

package main

// examineShared says that the system has no memfd.
func examineShared() sharedFacts { return sharedFacts{} }

// examineLimits says that the limits are not known.
func examineLimits() limitFacts { return limitFacts{} }

// fileSystem says that nothing is known but that there is room.
func fileSystem(string) (system string, free, names int64) { return "", 1 << 62, -1 }

// synchronised says that nothing is known.
func synchronised() (yes, known bool) { return false, false }
