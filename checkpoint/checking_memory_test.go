package checkpoint_test

import (
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
)

// Verify and Diff take little memory, however large an array is and in which
// layout it lies.
func TestCheckingMemory(t *testing.T) {
	if sampled() {
		t.Skip("160 MiB, several times")
	}
	const size, most = 160 << 20, 64 << 20
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // what lives counts, not when it is collected
	dir := t.TempDir()
	state := arrays(size, 1)
	var names []string
	for _, b := range []options.Bivouac{
		{}, {Layout: options.PlainZarr3, Compression: options.Zstd}, {Layout: options.SafetensorsLayout},
	} {
		name := filepath.Join(dir, b.Layout.String())
		if err := checkpoint.Save(t.Context(), name, state,
			&checkpoint.SaveOptions{Options: options.Options{Bivouac: b}}); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	state = nil
	for i, name := range names {
		other := names[(i+1)%len(names)]
		if peak := peakOf(t, func() error {
			r, err := integrity.Verify(t.Context(), name, nil)
			if err == nil && !r.OK() {
				err = r.Problems[0]
			}
			return err
		}); peak > most {
			t.Errorf("Verify of %s takes %d MiB", filepath.Base(name), peak>>20)
		}
		if peak := peakOf(t, func() error {
			d, err := differences(t.Context(), nil, name, other)
			if len(d) > 0 {
				t.Errorf("%s and %s: %v", filepath.Base(name), filepath.Base(other), d)
			}
			return err
		}); peak > most {
			t.Errorf("Diff of %s and %s takes %d MiB", filepath.Base(name), filepath.Base(other), peak>>20)
		}
	}
}
