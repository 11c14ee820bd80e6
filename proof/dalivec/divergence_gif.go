package dalivec

import (
	"bytes"
	"fmt"
	"image/gif"
	"path/filepath"
	"slices"

	"github.com/bivouac-ml/bivouac/tensor"
)

// firstFrame: DALI refuses GIF, Bivouac decodes the first frame.
var firstFrame = divergence{
	name: "gif_first_frame",
	applies: func(c *Case) bool {
		return len(c.Inputs) == 1 && len(c.Inputs[0]) == 1 && filepath.Ext(c.Inputs[0][0].File) == ".gif" &&
			slices.Contains([]string{"decoders.image", "peek_image_shape"}, c.Op)
	},
	judge: func(s *Set, c *Case, got Results, err error) error {
		if err != nil {
			return err
		}
		inputs, err := s.Inputs(c)
		if err != nil {
			return err
		}
		img, err := gif.Decode(bytes.NewReader(inputs[0][0].Data))
		if err != nil {
			return err
		}
		size := img.Bounds().Size()
		want := tensor.FromSlice([]int64{int64(size.Y), int64(size.X), 3})
		if c.Op == "decoders.image" {
			want = tensor.New(tensor.Uint8, size.Y, size.X, 3)
			for i := range size.X * size.Y {
				r, g, b, _ := img.At(i%size.X, i/size.X).RGBA()
				copy(want.Data[3*i:], []byte{byte(r >> 8), byte(g >> 8), byte(b >> 8)})
			}
		}
		if out := got[0][0][0]; out.DType != want.DType || !out.Shape.Equal(want.Shape) || !bytes.Equal(out.Data, want.Data) {
			return fmt.Errorf("got %s, want the first frame, %s", out, want)
		}
		return nil
	},
}
