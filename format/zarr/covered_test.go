package zarr

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	kzstd "github.com/klauspost/compress/zstd"
)

// TestZstdChecked: frames with checksums are told from those without, whatever their
// sizes are; one without among others is noticed.
func TestZstdChecked(t *testing.T) {
	frames := map[bool][][]byte{}
	for _, sum := range []bool{true, false} {
		for _, single := range []bool{true, false} {
			w, err := kzstd.NewWriter(nil, kzstd.WithEncoderCRC(sum), kzstd.WithSingleSegment(single))
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			for _, n := range []int{1, 100, 255, 256, 70000, 300000} { // a frame of nothing never has a checksum
				random := make([]byte, n)
				for i := range random {
					random[i] = byte(r.Uint32())
				}
				for _, data := range [][]byte{random, bytes.Repeat([]byte{7}, n)} {
					if f := w.EncodeAll(data, nil); len(f) > 0 {
						frames[sum] = append(frames[sum], f)
					}
				}
			}
		}
	}
	skip := append(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 0x184D2A53), 3), "abc"...)
	for sum, list := range frames {
		for i, f := range list {
			if zstdChecked(f) != sum {
				t.Errorf("frame %d of %d bytes: %v, want %v", i, len(f), !sum, sum)
			}
			if both := append(append([]byte{}, frames[true][0]...), f...); zstdChecked(both) != sum {
				t.Errorf("frame %d behind another: %v, want %v", i, !sum, sum)
			}
			if behind := append(append([]byte{}, skip...), f...); zstdChecked(behind) != sum {
				t.Errorf("frame %d behind one to skip: %v, want %v", i, !sum, sum)
			}
			for n := range min(len(f), 64) {
				if zstdChecked(f[:n]) || zstdChecked(f[:len(f)-1-n]) {
					t.Errorf("frame %d cut is covered", i)
				}
			}
		}
	}
	if zstdChecked(nil) || zstdChecked(skip) {
		t.Error("nothing is covered")
	}
}
