//go:build !amd64 || purego

package video

func columnSums(sums []int16, near, far []byte) { columnSumsGeneric(sums, near, far) }

func widenRow(out, sums []int16) { widenRowGeneric(out, sums) }

func (c *matrix) convert(dst, luma []byte, us, vs []int16) { c.convertGeneric(dst, luma, us, vs) }
