package distort

import (
	"bytes"
	"testing"
)

// The source may be the destination, memory of a larger image does not matter, and an image without
// pixels stays as it is.
func TestDistort(t *testing.T) {
	var d Distorter
	image := func(w, h int) []byte {
		out := make([]byte, 3*w*h)
		for i := range out {
			out[i] = byte(i * i / 7)
		}
		return out
	}
	large := image(40, 33)
	d.Distort(large, large, 40, 33, 20)
	for _, size := range [][2]int{{1, 1}, {17, 9}, {40, 33}} {
		src := image(size[0], size[1])
		want := make([]byte, len(src))
		new(Distorter).Distort(want, src, size[0], size[1], 20)
		d.Distort(src, src, size[0], size[1], 20)
		if !bytes.Equal(src, want) {
			t.Errorf("%v: another result in place", size)
		}
		if size[0] > 1 && bytes.Equal(want, image(size[0], size[1])) {
			t.Errorf("%v: nothing is lost at quality 20", size)
		}
	}
	d.Distort(nil, nil, 0, 5, 50)
}
