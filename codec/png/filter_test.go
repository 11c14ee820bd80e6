package png

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// Each filter adds what the standard says, byte by byte, for pixels of each size.
func TestFilters(t *testing.T) {
	abs := func(v int) int { return max(v, -v) }
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 3, 4, 6, 8}).Draw(t, "bytes of a pixel")
		size := n * rapid.IntRange(1, 20).Draw(t, "pixels")
		row := rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "row")
		above := rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "above")
		filter := rapid.ByteRange(0, 4).Draw(t, "filter")
		want := bytes.Clone(row)
		for i := range want {
			var left, up, corner int
			if up = int(above[i]); i >= n {
				left, corner = int(want[i-n]), int(above[i-n])
			}
			p := left + up - corner
			nearest := corner
			if abs(p-left) <= abs(p-up) && abs(p-left) <= abs(p-corner) {
				nearest = left
			} else if abs(p-up) <= abs(p-corner) {
				nearest = up
			}
			want[i] += uint8([]int{0, left, up, (left + up) / 2, nearest}[filter])
		}
		if err := unfilter(filter, row, above, n); err != nil || !bytes.Equal(row, want) {
			t.Fatalf("got %v, %v, want %v", row, err, want)
		}
	})
}
