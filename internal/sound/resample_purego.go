//go:build !amd64 || purego

package sound

func weigh(in []float32, f *Filter, x float32) float32 { return weighGeneric(in, f, x) }
