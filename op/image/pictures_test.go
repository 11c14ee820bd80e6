package image

import (
	"testing"

	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

// TestPictures compares the operators with the results of DALI that testdata/dali/ops/pictures
// keeps. A case that is left out would be an operator that is not there.
func TestPictures(t *testing.T) {
	set, err := dalivec.Open("../../testdata/dali")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := set.Cases("pictures")
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for _, c := range cases {
		if c.Op == "experimental.warp_perspective" {
			continue // of op/geometry
		}
		switch v := set.Run(c); v.Status {
		case dalivec.Skipped:
			t.Errorf("%s: skipped: %s", c.Name, v.Reason)
		case dalivec.Failed:
			t.Errorf("%s %v %s: %s", c.Name, c.Args, c.Inputs[0][0].Layout, v.Reason)
		case dalivec.Passed:
			ran[c.Op]++
		}
	}
	for name, n := range ran {
		if n < 15 {
			t.Errorf("%s: %d cases, want at least 15", name, n)
		}
	}
	t.Log(ran)
}
