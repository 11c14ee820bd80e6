package pure

// Constants of the transform, times 2^13.
const (
	f0298 = 2446
	f0390 = 3196
	f0541 = 4433
	f0765 = 6270
	f0899 = 7373
	f1175 = 9633
	f1501 = 12299
	f1847 = 15137
	f1961 = 16069
	f2053 = 16819
	f2562 = 20995
	f3072 = 25172
)

// inverseGeneric dequantizes a block, transforms it, and writes its 64 samples to rows of dst that
// are stride apart. It transforms columns first, with two more bits in the results, and then rows.
// Sums of inputs have 16 bits, and the results of the first pass are limited to 16 bits, as in all
// vector code for this transform. This matters only for damaged images.
func inverseGeneric(dst []byte, stride int, blk *[64]int16, q *[64]uint16) {
	var work [64]int16
	var rest int16
	for _, v := range blk[8:] {
		rest |= v
	}
	for x := range 8 {
		at := func(y int) int16 { return int16(uint16(blk[8*y+x]) * q[8*y+x]) }
		if rest == 0 {
			v := at(0) << 2
			for y := range 8 {
				work[8*y+x] = v
			}
			continue
		}
		v := butterfly([8]int16{at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)})
		for y := range 8 {
			work[8*y+x] = saturate((v[y] + 1<<10) >> 11)
		}
	}
	for y := range 8 {
		row := dst[y*stride : y*stride+8 : y*stride+8]
		v := butterfly([8]int16(work[8*y : 8*y+8]))
		for x := range 8 {
			row[x] = clamp((v[x]+1<<17)>>18 + 128)
		}
	}
}

func saturate(v int32) int16 { return int16(min(max(v, -1<<15), 1<<15-1)) }

// butterfly is the one-dimensional transform. Its results have 13 more bits.
func butterfly(in [8]int16) (out [8]int32) {
	wide := func(v int16) int32 { return int32(v) }
	z1 := wide(in[2]) + wide(in[6])
	t2, t3 := z1*f0541-wide(in[6])*f1847, z1*f0541+wide(in[2])*f0765
	t0, t1 := wide(in[0]+in[4])<<13, wide(in[0]-in[4])<<13
	e0, e3, e1, e2 := t0+t3, t0-t3, t1+t2, t1-t2

	z3, z4 := wide(in[7]+in[3]), wide(in[5]+in[1])
	z5 := (z3 + z4) * f1175
	z3, z4 = z5-z3*f1961, z5-z4*f0390
	t0, t1, t2, t3 = wide(in[7]), wide(in[5]), wide(in[3]), wide(in[1])
	z1, z2 := -(t0+t3)*f0899, -(t1+t2)*f2562
	t0, t1, t2, t3 = t0*f0298+z1+z3, t1*f2053+z2+z4, t2*f3072+z2+z3, t3*f1501+z1+z4

	return [8]int32{e0 + t3, e1 + t2, e2 + t1, e3 + t0, e3 - t0, e2 - t1, e1 - t2, e0 - t3}
}

// flat writes a block that has only a mean.
func flat(dst []byte, stride int, dc int16, q uint16) {
	v := uint64(clamp((int32(int16(uint16(dc)*q)<<2)+16)>>5+128)) * 0x0101010101010101
	for y := range 8 {
		row := dst[y*stride : y*stride+8 : y*stride+8]
		for x := range row {
			row[x] = byte(v)
		}
	}
}

func clamp(v int32) byte {
	if uint32(v) > 255 {
		return byte(^v >> 31)
	}
	return byte(v)
}
