package checkpoint_test

import (
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

func TestLayoutNames(t *testing.T) {
	for _, l := range []checkpoint.Layout{checkpoint.Default, checkpoint.OCDBTZarr2, checkpoint.PlainZarr3, checkpoint.PlainZarr2, checkpoint.Safetensors} {
		if got, err := checkpoint.ParseLayout(l.String()); got != l || err != nil {
			t.Errorf("%v: %v, %v", l, got, err)
		}
	}
	for _, c := range []checkpoint.Compression{checkpoint.Uncompressed, checkpoint.Zstd, checkpoint.ByteSplit} {
		if got, err := checkpoint.ParseCompression(c.String()); got != c || err != nil {
			t.Errorf("%v: %v, %v", c, got, err)
		}
	}
	if _, err := checkpoint.ParseLayout("orbax"); errs.KindOf(err) != errs.Invalid {
		t.Error(err)
	}
	if _, err := checkpoint.ParseCompression("zip"); errs.KindOf(err) != errs.Invalid {
		t.Error(err)
	}
}
