package checkpoint_test

import (
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
)

func TestLayoutNames(t *testing.T) {
	for _, l := range allLayouts {
		if got, err := options.ParseLayout(l.String()); got != l.Known() || err != nil {
			t.Errorf("%v: %v, %v", l, got, err)
		}
	}
	for _, c := range allCompressions {
		if got, err := options.ParseCompression(c.String()); got != c || err != nil {
			t.Errorf("%v: %v, %v", c, got, err)
		}
	}
	if _, err := options.ParseLayout("orbax"); errs.KindOf(err) != errs.Invalid {
		t.Error(err)
	}
	if _, err := options.ParseCompression("zip"); errs.KindOf(err) != errs.Invalid {
		t.Error(err)
	}
}
