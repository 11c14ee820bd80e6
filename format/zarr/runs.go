package zarr

// Runs calls run for each run of elements of region that lie together in an
// array of that shape, in C order: with the place of its first byte in src, the
// elements of srcBox in C order, and in the array, and its length in bytes.
// srcBox must hold the region and lie inside of the array.
func Runs(region, srcBox Box, shape []int, size int, run func(src, whole, length int)) {
	if region.Len() == 0 {
		return
	}
	from, to := strides(srcBox.Shape, size), strides(shape, size)
	first, start := offset(region.Origin, srcBox.Origin, from), offset(region.Origin, make([]int, len(shape)), to)
	t := newTransfer(region.Shape, to, from, size)
	t.do(func(d, s int) { run(first+s, start+d, t.run) })
}
