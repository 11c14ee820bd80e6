package decoders

import (
	"testing"

	"github.com/bivouac-ml/bivouac/codec/video/videotest"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

// TestVideoVectors compares frames with DALI's frames: which they are exactly, their values within
// two levels.
func TestVideoVectors(t *testing.T) {
	videotest.Need(t)
	names := []string{"decoders.video", "experimental.decoders.video"}
	dalivec.RunCommitted(t, "videos", names...)
	dalivec.CheckArguments(t, "videos", names[0])
}
