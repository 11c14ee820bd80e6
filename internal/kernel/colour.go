package kernel

// Gray computes the weighted means of pixels of three interleaved bytes, in units of 2^-15 and
// rounded. The sum of the weights is at most 2^15. src has three bytes for each byte of dst.
func Gray(dst, src []byte, weights *[3]uint16) {
	src = src[:3*len(dst)]
	if int(weights[0])+int(weights[1])+int(weights[2]) > 1<<15 || max(weights[0], weights[1], weights[2]) == 1<<15 {
		panic("kernel: weights of more than 1 together, or one of 1")
	}
	gray(dst, src, weights)
}

func grayGeneric(dst, src []byte, weights *[3]uint16) {
	a, b, c := uint32(weights[0]), uint32(weights[1]), uint32(weights[2])
	for i := range dst {
		p := src[:3:3]
		dst[i] = byte((uint32(p[0])*a + uint32(p[1])*b + uint32(p[2])*c + 1<<14) >> 15)
		src = src[3:]
	}
}
