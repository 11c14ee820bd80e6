package geometry_test

import (
	"testing"

	_ "github.com/bivouac-ml/bivouac/op/geometry"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

func TestVectors(t *testing.T) {
	dalivec.Run(t, "geom", "coord_transform", "coord_flip", "warp_affine", "rotate", "paste", "multi_paste", "grid_mask", "water", "sphere")
}
