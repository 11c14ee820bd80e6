package fits

import (
	"encoding/binary"
	"math"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// randomNumbers is how many numbers dithering draws from.
const randomNumbers = 10_000

// random returns the numbers of dithering, which the standard defines: the generator of Park and
// Miller, from the seed 1 on.
var random = sync.OnceValue(func() *[randomNumbers]float32 {
	var list [randomNumbers]float32
	seed := 1.0
	for i := range list {
		seed = math.Mod(16807*seed, math.MaxInt32)
		list[i] = float32(seed / math.MaxInt32)
	}
	return &list
})

// Integers that stand for no value, and for 0 with SUBTRACTIVE_DITHER_2.
const (
	noValue   = -2147483647
	zeroValue = -2147483646
)

// floats fills raw with the floats of a tile that was quantized: value = scale * integer + zero.
// With dithering a random number was added to each integer, and 0.5 taken away.
func (x *tileReader) floats(number, n int64) error {
	t := x.t
	whole := make([]byte, 4*n)
	var err error
	switch {
	case strings.HasPrefix(t.kind, "RICE"):
		err = rice(whole, x.in, 4, t.bytePix, t.blockSize)
	case t.kind == "NOCOMPRESS":
		err = x.plain(whole)
	default:
		err = inflate(whole, x.in, 4, t.kind == "GZIP_2")
	}
	if err != nil {
		return err
	}
	scale, zero, blank := x.real("ZSCALE", t.scale), x.real("ZZERO", t.zero), x.real("ZBLANK", t.blank)
	if math.IsNaN(scale) || math.IsNaN(zero) {
		return &errs.Error{Kind: errs.Corrupt, Want: "ZSCALE and ZZERO", Got: "NaN"}
	}
	numbers := random()
	start, next := 0, 0
	if t.dither > 0 {
		start = int((number + t.seed - 1) % randomNumbers)
		next = int(numbers[start] * 500)
	}
	for i := range n {
		v := float64(int32(binary.BigEndian.Uint32(whole[4*i:])))
		value := v*scale + zero
		switch {
		case v == blank || t.dither > 0 && v == noValue:
			value = math.NaN()
		case t.dither == 2 && v == zeroValue:
			value = 0
		case t.dither > 0:
			value = (v-float64(numbers[next])+0.5)*scale + zero
		}
		if t.dither > 0 {
			if next++; next == randomNumbers {
				start = (start + 1) % randomNumbers
				next = int(numbers[start] * 500)
			}
		}
		if x.m.scale.bitpix == -32 {
			binary.BigEndian.PutUint32(x.raw[4*i:], math.Float32bits(float32(value)))
		} else {
			binary.BigEndian.PutUint64(x.raw[8*i:], math.Float64bits(value))
		}
	}
	return nil
}
