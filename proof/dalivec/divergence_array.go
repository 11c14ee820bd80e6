package dalivec

import (
	"errors"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// arrayDType: DALI takes the dtype of arrays from the data. Bivouac must know it before.
var arrayDType = divergence{
	name: "numpy_dtype",
	applies: func(c *Case) bool {
		_, given := c.Args["dtype"]
		return c.Op == "decoders.numpy" && !given
	},
	judge: func(_ *Set, _ *Case, _ Results, err error) error {
		if !errors.Is(err, errs.Unsupported) {
			return fmt.Errorf("want errs.Unsupported, got %w", err)
		}
		return nil
	},
}
