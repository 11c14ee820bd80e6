//go:build !race

package order

// raceDetector reports whether it watches: pools give less back.
const raceDetector = false
