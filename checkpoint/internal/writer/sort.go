package writer

// sortRuns sorts a by merging the runs of it that are in order already: of r runs it takes
// n log r comparisons, and as many elements of memory again. Names of leaves come in few
// runs, as their numbers do: 0 to 9, 10 to 99, 100 to 999.
func sortRuns[T any](a []T, compare func(x, y T) int) {
	var starts []int
	for i := range a {
		if i == 0 || compare(a[i-1], a[i]) > 0 {
			starts = append(starts, i)
		}
	}
	if len(starts) < 2 {
		return
	}
	from, to := a, make([]T, len(a))
	end := func(k int) int {
		if k < len(starts) {
			return starts[k]
		}
		return len(a)
	}
	for len(starts) > 1 {
		n := 0
		for k := 0; k < len(starts); k += 2 {
			lo, mid, hi := starts[k], end(k+1), end(k+2)
			merge(to[lo:hi], from[lo:mid], from[mid:hi], compare)
			starts[n], n = lo, n+1 // n is at most k: what is read next is still there
		}
		starts = starts[:n]
		from, to = to, from
	}
	if &from[0] != &a[0] {
		copy(a, from)
	}
}

// merge puts the elements of x and y, both in order, into dst. Of equal elements the one of x comes
// first.
func merge[T any](dst, x, y []T, compare func(x, y T) int) {
	for len(x) > 0 && len(y) > 0 {
		if compare(x[0], y[0]) <= 0 {
			dst[0], x = x[0], x[1:]
		} else {
			dst[0], y = y[0], y[1:]
		}
		dst = dst[1:]
	}
	copy(dst, x)
	copy(dst[len(x):], y)
}
