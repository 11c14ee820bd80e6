//go:build !(cgo && libjpeg)

package jpeg

// backend is the decoder of this build.
type backend = portable

const advice = "for libjpeg-turbo build with cgo and -tags libjpeg where its headers are installed; the pixels are the same"

func identity() string { return "in Go" }
