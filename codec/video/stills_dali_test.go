package video

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/codec"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/codec/video/videotest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// TestStillsAreDALIs holds lossless JPEG 2000 images in all colours and types against DALI, to the
// last bit.
func TestStillsAreDALIs(t *testing.T) {
	videotest.Need(t)
	list, err := os.ReadFile(filepath.Join("testdata", "stills", "dali.txt"))
	if err != nil {
		t.Fatal(err)
	}
	colours := map[string]raster.Color{"RGB": raster.RGB, "BGR": raster.BGR, "GRAY": raster.Gray,
		"YCbCr": raster.YCbCr, "ANY_DATA": raster.Any}
	types := map[string]tensor.DType{"uint8": tensor.Uint8, "uint16": tensor.Uint16, "float32": tensor.Float32}
	var d codec.Decoder
	cases := 0
	for lines := bufio.NewScanner(bytes.NewReader(list)); lines.Scan(); cases++ {
		f := strings.Fields(lines.Text())
		data, err := os.ReadFile(filepath.Join("testdata", "stills", f[0]))
		if err != nil {
			t.Fatal(err)
		}
		h, err := codec.ReadHeader(data)
		if err != nil {
			t.Fatal(err)
		}
		o := codec.Output{Color: colours[f[1]], DType: types[f[2]]}
		width, height, channels := o.Size(h)
		if got := fmt.Sprintf("%dx%dx%d", height, width, channels); got != f[3] {
			t.Errorf("%s: shape %s", lines.Text(), got)
			continue
		}
		dst := make([]byte, width*height*channels*o.DType.Size())
		if err := d.Decode(dst, data, h, o); err != nil {
			t.Errorf("%s: %v", lines.Text(), err)
			continue
		}
		if sum := sha256.Sum256(dst); hex.EncodeToString(sum[:]) != f[4] {
			t.Errorf("%s: other pixels", lines.Text())
		}
	}
	if cases < 60 {
		t.Errorf("%d cases", cases)
	}
}
