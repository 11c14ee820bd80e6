package detection

import (
	"testing"

	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

func TestVectors(t *testing.T) {
	names := []string{"bb_flip", "bbox_paste", "bbox_rotate", "box_encoder"}
	dalivec.RunCommitted(t, "detection", append(names, "ssd_random_crop")...)
	dalivec.Run(t, "box", names...)
	dalivec.CheckArguments(t, "detection", append(names, "ssd_random_crop")...)
}
