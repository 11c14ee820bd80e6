package audio_test

import (
	"errors"
	"math"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
)

// Frequencies beyond all bins give filters without bins. A frequency without an end is refused.
func TestMelFrequenciesBeyondTheBins(t *testing.T) {
	in := optest.Of("ft", []int{33, 4}, noise(33*4, 1)...)
	got := floats(t, run(t, "mel_filter_bank", op.Args{"freq_low": 1e25, "freq_high": 1e26, "nfilter": 3}, in))
	if len(got) != 12 {
		t.Fatalf("%d numbers, want 12", len(got))
	}
	for i, v := range got {
		if v != 0 {
			t.Errorf("element %d: %v, want 0", i, v)
		}
	}
	if _, err := optest.Run(optest.Case{Op: "mel_filter_bank", Args: op.Args{"freq_high": math.Inf(1)},
		Inputs: optest.Inputs(in)}); !errors.Is(err, errs.Invalid) {
		t.Errorf("freq_high of +Inf: %v, want an error of kind invalid", err)
	}
}

// A transform whose table would exceed the limit of a sample is refused.
func TestLongCepstraAreRefused(t *testing.T) {
	const n = 40_000 // 6.4e9 bytes
	in := optest.Of("ft", []int{n, 1}, make([]float32, n)...)
	r, err := optest.Run(optest.Case{Op: "mfcc", Args: op.Args{"n_mfcc": n}, Inputs: optest.Inputs(in)})
	if err == nil {
		err = r.Errors[0]
	}
	if !errors.Is(err, errs.Exhausted) {
		t.Errorf("%v, want an error of kind exhausted", err)
	}
}
