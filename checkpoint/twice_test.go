package checkpoint_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

// A file whose header has a tensor twice is refused: nobody can tell which was meant.
func TestTensorTwiceIsRefused(t *testing.T) {
	const a = `"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}`
	header := "{" + a + "," + a + "}"
	path := filepath.Join(t.TempDir(), "m.safetensors")
	b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header+"x"...)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Load(t.Context(), path, nil); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("load: %v, want errs.Corrupt", err)
	}
	if r, err := checkpoint.Verify(t.Context(), path, nil); err != nil || r.OK() {
		t.Errorf("verify: %+v, %v, want a problem", r, err)
	}
}
