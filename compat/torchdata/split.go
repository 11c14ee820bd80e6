package torchdata

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
)

// RandomSplit returns the samples of each part into which random_split divides n samples:
// consecutive parts of a randperm. The error is of kind errs.Invalid unless all lengths are at
// least 0 and their sum is n.
func RandomSplit(n int64, lengths []int64, g *Generator) ([][]int64, error) {
	const op = "torchdata.RandomSplit"
	if n < 0 || n > MaxSamples {
		return nil, badCount(op, "n", n, 0)
	}
	left := n
	for i, length := range lengths {
		if length < 0 || length > left {
			return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: fmt.Sprint("length ", i),
				Want: fmt.Sprint("a length from 0 to ", left), Got: fmt.Sprint(length)}
		}
		left -= length
	}
	if left > 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: "sum of the lengths", Want: fmt.Sprint(n),
			Got: fmt.Sprint(n - left)}
	}
	perm, err := Randperm(n, g)
	if err != nil {
		return nil, err
	}
	parts := make([][]int64, len(lengths))
	for i, length := range lengths {
		parts[i], perm = perm[:length:length], perm[length:]
	}
	return parts, nil
}

// SplitLengths returns the lengths that random_split gives to fractions of n samples. Each length
// is rounded down, and the samples that are left are added one by one from the front. The error is
// of kind errs.Invalid unless the fractions are from 0 to 1 and their sum is 1, within 1e-9.
func SplitLengths(n int64, fractions []float64) ([]int64, error) {
	const op = "torchdata.SplitLengths"
	if n < 0 || n > MaxSamples {
		return nil, badCount(op, "n", n, 0)
	}
	sum, left := 0.0, n
	lengths := make([]int64, len(fractions))
	for i, f := range fractions {
		if !(f >= 0 && f <= 1) {
			return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: fmt.Sprint("fraction ", i),
				Want: "a fraction from 0 to 1",
				Got:  fmt.Sprint(f)}
		}
		sum += f
		lengths[i] = int64(math.Floor(float64(n) * f))
		left -= lengths[i]
	}
	if !(math.Abs(sum-1) <= 1e-9) || left < 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: "sum of the fractions", Want: "1", Got: fmt.Sprint(sum)}
	}
	for i := range left {
		lengths[i%int64(len(lengths))]++
	}
	return lengths, nil
}
