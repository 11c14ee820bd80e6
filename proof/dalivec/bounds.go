package dalivec

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/tensor"
)

// A tolerance for each element is not enough: a wrong formula can stay within one level
// everywhere. Every tolerance therefore has two bounds on all elements together.
//
//   - Share: at most largestShare of the elements may differ by more than rounding. Where the rule
//     names a share (max_mismatch_fraction), at most that share may differ at all; the share of a
//     rule that names more than largestShare, which no case needs, is largestShare.
//   - Bias: the signed mean of the differences must be what chance gives, at most sigmas standard
//     errors and a rounding, unless the rule names a bound (max_bias). Differences that all have
//     one sign come from a formula, not from rounding.
const (
	largestShare = 0.02
	sigmas       = 4
	roundings    = 8 // units in the last place of the largest element, for floats
)

// bounds collects the differences of two arrays.
type bounds struct {
	n            int     // elements
	rounding     float64 // what a difference may be without counting towards the default share
	differ, far  int     // elements that differ, and those that differ by more than rounding
	sum, squares float64
}

// add takes the difference of one element. One that is not finite counts towards the share only.
func (b *bounds) add(d float64) {
	b.differ++
	if !(math.Abs(d) <= b.rounding) {
		b.far++
	}
	if d-d == 0 {
		b.sum += d
		b.squares += d * d
	}
}

// check returns what the differences together violate, or "".
func (b *bounds) check(tol Tolerance) string {
	n := float64(b.n)
	if tol.Mismatch != nil {
		if float64(b.differ) > *tol.Mismatch*n {
			return fmt.Sprintf(", a share of %.3g where %g may", float64(b.differ)/n, *tol.Mismatch)
		}
	} else if float64(b.far) > largestShare*n {
		return fmt.Sprintf(", a share of %.3g by more than rounding where %g may", float64(b.far)/n, largestShare)
	}
	mean, limit := b.sum/n, sigmas*math.Sqrt(b.squares)/n+b.rounding
	if tol.Bias != nil {
		limit = *tol.Bias
	}
	if math.Abs(mean) > limit {
		return fmt.Sprintf(", with a signed mean of %.3g where %.3g may be", mean, limit)
	}
	return ""
}

// epsilon is the distance of 1 and the next number of a float dtype, 0 for integers.
func epsilon(d tensor.DType) float64 {
	switch d {
	case tensor.Float16:
		return 0x1p-10
	case tensor.BFloat16:
		return 0x1p-7
	case tensor.Float32:
		return 0x1p-23
	case tensor.Float64:
		return 0x1p-52
	}
	return 0
}
