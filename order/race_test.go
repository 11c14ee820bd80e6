//go:build race

package order

// raceDetector reports whether the race detector is on: pools return fewer objects then.
const raceDetector = true
