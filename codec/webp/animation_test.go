package webp

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

func animation(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "video", "testdata", "animated.webp"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFirstFrame moves the first frame of an animation, and cuts the file.
func TestFirstFrame(t *testing.T) {
	data := animation(t)
	var whole raster.Image
	if err := Decode(data, &whole); err != nil {
		t.Fatal(err)
	}
	if whole.Width != 64 || whole.Height != 48 {
		t.Fatalf("%dx%d pixels", whole.Width, whole.Height)
	}
	// What DALI 2.4.0 decodes.
	const sum = "3ab454bbf140e69101b36458d0efc754be56ba5d467c67ba3a31834b27400ea9"
	if got := fmt.Sprintf("%x", sha256.Sum256(whole.Pix)); got != sum || whole.Channels != 3 {
		t.Errorf("%d channels, other pixels than DALI's: %s", whole.Channels, got)
	}
	at := bytes.Index(data, []byte("ANMF")) + 8
	large := bytes.Clone(data)
	canvas := bytes.Index(large, []byte("VP8X")) + 8
	large[canvas+4], large[canvas+7] = 64+20-1, 48+10-1
	large[at], large[at+3] = 10/2, 6/2
	var moved raster.Image
	if err := Decode(large, &moved); err != nil {
		t.Fatal(err)
	}
	c := whole.Channels
	for y := range moved.Height {
		for x := range moved.Width {
			want := make([]byte, c)
			if x >= 10 && x < 74 && y >= 6 && y < 54 {
				want = whole.Pix[((y-6)*64+x-10)*c:][:c]
			}
			if got := moved.Pix[(y*moved.Width+x)*c:][:c]; !bytes.Equal(got, want) {
				t.Fatalf("pixel (%d, %d) is %v, want %v", x, y, got, want)
			}
		}
	}
	outside := bytes.Clone(data)
	outside[at] = 1
	for name, b := range map[string][]byte{"outside": outside, "cut": data[:at+200], "no frame": data[:at-8]} {
		var img raster.Image
		if err := Decode(b, &img); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
