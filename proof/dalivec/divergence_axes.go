package dalivec

import (
	"errors"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// axisTwice: DALI divides by the extent of an axis as often as normalize is given it,
// so its means and deviations are wrong.
var axisTwice = divergence{
	name: "normalize_axis_twice",
	applies: func(c *Case) bool {
		axes, _ := c.Args["axes"].([]any)
		seen := map[string]bool{}
		for _, a := range axes {
			if seen[fmt.Sprint(a)] {
				return c.Op == "normalize"
			}
			seen[fmt.Sprint(a)] = true
		}
		return false
	},
	judge: func(_ *Set, _ *Case, _ Results, err error) error {
		if !errors.Is(err, errs.Invalid) {
			return fmt.Errorf("got %v, want the axis that is given twice to be refused", err)
		}
		return nil
	},
}
