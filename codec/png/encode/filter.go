package encode

// The filters, by their numbers in a file.
const (
	none = iota
	sub
	up
	average
	paeth
	kinds
)

// filters has a row after each filter, with the number of the filter before it.
type filters [kinds][]byte

func (f *filters) reset(n int) {
	for i := range f {
		if cap(f[i]) < 1+n {
			f[i] = make([]byte, 1+n)
		}
		f[i] = f[i][:1+n]
		f[i][0] = byte(i)
	}
}

// best returns the filtered row whose bytes, as numbers with a sign, have the least sum of
// magnitudes. Of equal sums the first in the order of trial wins. bpp is the bytes of a pixel.
func (f *filters) best(row, before []byte, bpp int, plain bool) []byte {
	if plain {
		copy(f[none][1:], row)
		return f[none]
	}
	least, chosen := int(^uint(0)>>1), none
	for _, kind := range [...]int{up, paeth, none, sub, average} {
		if sum := f.filter(kind, row, before, bpp, least); sum < least {
			least, chosen = sum, kind
		}
	}
	return f[chosen]
}

// filter writes a row after a filter and returns its sum. It stops when the sum reaches a limit.
func (f *filters) filter(kind int, row, before []byte, bpp, limit int) (sum int) {
	to := f[kind][1:]
	to, before = to[:len(row)], before[:len(row)]
	const step = 64 // how often the limit is looked at
	for from := 0; from < len(row) && sum < limit; from += step {
		end := min(from+step, len(row))
		first := min(max(from, bpp), end) // that has a neighbour to the left
		switch kind {
		case none:
			copy(to[from:end], row[from:end])
		case up:
			for i := from; i < end; i++ {
				to[i] = row[i] - before[i]
			}
		case sub:
			copy(to[from:first], row[from:first])
			for i := first; i < end; i++ {
				to[i] = row[i] - row[i-bpp]
			}
		case average:
			for i := from; i < first; i++ {
				to[i] = row[i] - before[i]/2
			}
			for i := first; i < end; i++ {
				to[i] = row[i] - byte((int(row[i-bpp])+int(before[i]))/2)
			}
		case paeth:
			for i := from; i < first; i++ {
				to[i] = row[i] - before[i]
			}
			for i := first; i < end; i++ {
				to[i] = row[i] - nearest(row[i-bpp], before[i], before[i-bpp])
			}
		}
		for _, v := range to[from:end] {
			d := int(int8(v))
			sum += max(d, -d)
		}
	}
	return sum
}

// nearest returns the neighbour that is nearest to a plane through all three.
func nearest(left, above, corner byte) byte {
	dl, da := int(above)-int(corner), int(left)-int(corner) // of the plane to left and to above
	dc := dl + da
	dl, da, dc = max(dl, -dl), max(da, -da), max(dc, -dc)
	switch {
	case dl <= da && dl <= dc:
		return left
	case da <= dc:
		return above
	}
	return corner
}
