package checkpoint_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
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
	if r, err := integrity.Verify(t.Context(), path, nil); err != nil || r.OK() {
		t.Errorf("verify: %+v, %v, want a problem", r, err)
	}
}

// A header that is all of the file costs memory in proportion to its text: 20,000 empty tensors.
func TestEmptyTensorsTakeLittle(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates, too")
	}
	var header strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&header, `,"t%06d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`, i)
	}
	text := "{" + header.String()[1:] + "}"
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := os.WriteFile(path, append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...),
		0o600); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := checkpoint.Load(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if times := (after.TotalAlloc - before.TotalAlloc) / uint64(len(text)); times > 45 {
		t.Errorf("a load allocates %d times the header, want at most 45", times)
	} else {
		t.Logf("%d times the header", times)
	}
}
