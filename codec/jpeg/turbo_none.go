//go:build !(cgo && libjpeg)

package jpeg

// backend is the decoder of this build.
type backend = portable

const advice = "for libjpeg-turbo's pixels and speed build with cgo and -tags libjpeg where the headers of libjpeg-turbo are installed; make does so by itself"

func identity() string { return portableIdentity() }
