package dalivec

import (
	"errors"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// branchDTypes: DALI refuses branches of two dtypes in the first batch of which both have
// samples. Bivouac refuses the pipeline.
var branchDTypes = divergence{
	name:    "branch_dtypes",
	applies: func(c *Case) bool { return c.Expr == "branches of two dtypes" && c.Error == nil },
	judge: func(_ *Set, _ *Case, _ Results, err error) error {
		if !errors.Is(err, errs.Mismatch) {
			return fmt.Errorf("got %v, want the branches of two dtypes to be refused", err)
		}
		return nil
	},
}
