//go:build !race

package reader_test

// raceDetector reports whether it watches: everything takes ten times as long.
const raceDetector = false
