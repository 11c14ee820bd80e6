package segmentation

import (
	"testing"

	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

func TestVectors(t *testing.T) {
	names := []string{"segmentation.random_mask_pixel", "segmentation.random_object_bbox", "segmentation.select_masks"}
	dalivec.RunCommitted(t, "detection", names...)
	dalivec.Run(t, "box", names...)
	dalivec.CheckArguments(t, "detection", names...)
}
