package checkpoint_test

import (
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

func TestLayoutNames(t *testing.T) {
	for _, l := range allLayouts {
		if got, err := checkpoint.ParseLayout(l.String()); got != l.Known() || err != nil {
			t.Errorf("%v: %v, %v", l, got, err)
		}
	}
	for _, c := range allCompressions {
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
