package loader

import (
	"encoding/binary"
	"math"
	"reflect"
)

// putNumber writes a number as an element of a tensor; dst is as long as it is.
func putNumber(dst []byte, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			dst[0] = 1
		}
	case reflect.Float32:
		binary.LittleEndian.PutUint32(dst, math.Float32bits(float32(v.Float())))
	case reflect.Float64:
		binary.LittleEndian.PutUint64(dst, math.Float64bits(v.Float()))
	case reflect.Complex64:
		c := complex64(v.Complex())
		binary.LittleEndian.PutUint32(dst, math.Float32bits(real(c)))
		binary.LittleEndian.PutUint32(dst[4:], math.Float32bits(imag(c)))
	case reflect.Complex128:
		binary.LittleEndian.PutUint64(dst, math.Float64bits(real(v.Complex())))
		binary.LittleEndian.PutUint64(dst[8:], math.Float64bits(imag(v.Complex())))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		putInteger(dst, uint64(v.Int()))
	default:
		putInteger(dst, v.Uint())
	}
}

func putInteger(dst []byte, u uint64) {
	for i := range dst {
		dst[i] = byte(u >> (8 * i))
	}
}
