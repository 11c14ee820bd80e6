package errs_test

import (
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// TestNearest checks that a mistyped name finds the name that was meant, and other names do not.
func TestNearest(t *testing.T) {
	names := []string{"verify", "info", "decoders.image", "crop", "layers.0.w", "layers.1.w"}
	for name, want := range map[string]string{
		"verfy": "verify", "inof": "info", "image": "decoders.image", "cropp": "crop",
		"layers.2.w": "layers.0.w", // the first of equals
		"":           "", "x": "", "random.uniform": "", "crop": "crop",
	} {
		if got := errs.Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
	if got := errs.DidYouMean("verfy", names); got != `did you mean "verify"?` {
		t.Errorf("DidYouMean = %q", got)
	}
	if got := errs.DidYouMean("zzz", names); got != "" {
		t.Errorf("DidYouMean of nothing alike = %q", got)
	}
}
