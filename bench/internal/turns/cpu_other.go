//go:build !unix

package turns

// CPU returns 0: it is not known here.
func CPU() float64 { return 0 }
