//go:build !purego

package video

import "golang.org/x/sys/cpu"

//go:generate go -C ../../tools run ./kernels/video -out ../codec/video/kernels_amd64.s -stubs ../codec/video/stubs_amd64.go -pkg video

var avx2 = cpu.X86.HasAVX2

const lanes = 16

func columnSums(sums []int16, near, far []byte) {
	n := 0
	if avx2 {
		if n = len(near) / lanes * lanes; n > 0 {
			_, _ = sums[n-1], far[n-1]
			columnSumsAVX2(&sums[0], &near[0], &far[0], n)
		}
	}
	columnSumsGeneric(sums[n:], near[n:], far[n:])
}

func widenRow(out, sums []int16) {
	n := 0
	if avx2 {
		if n = (len(sums) - 2) / lanes * lanes; n > 0 {
			_ = out[2*n-1]
			widenRowAVX2(&out[0], &sums[1], n)
		}
	}
	widenRowGeneric(out[2*n:], sums[n:])
}

func (c *matrix) convert(dst, luma []byte, us, vs []int16) {
	n := 0
	if avx2 {
		if n = len(luma) / lanes * lanes; n > 0 {
			_, _, _ = dst[3*n-1], us[n-1], vs[n-1]
			toRGBAVX2(&dst[0], &luma[0], &us[0], &vs[0], &c.luma, n)
		}
	}
	c.convertGeneric(dst[3*n:], luma[n:], us[n:], vs[n:])
}
