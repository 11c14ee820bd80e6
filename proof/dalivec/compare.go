package dalivec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/tensor"
)

// CompareValue holds an array against what DALI gave, whose file is in folder: dtype,
// shape and layout exactly, values within the tolerance. The error tells the difference.
func (s *Set) CompareValue(got tensor.Tensor, want *Value, folder string, tol Tolerance) error {
	w, ok, err := s.Tensor(want, folder)
	if err != nil {
		return err
	}
	switch {
	case got.DType != w.DType || !got.Shape.Equal(w.Shape):
		return fmt.Errorf("got %v, want %v", got, w)
	case got.Layout != w.Layout:
		return fmt.Errorf("layout: got %q, want %q", got.Layout, w.Layout)
	case !ok:
		// A tolerance needs values to measure against: of a hash alone nothing but equality can be
		// judged.
		if sum := sha256.Sum256(got.Data); hex.EncodeToString(sum[:]) != want.SHA256 {
			return fmt.Errorf("another SHA-256 of %v than %s, the only thing recorded (rule: %s)", got, want.SHA256, tol)
		}
		return nil
	}
	return Compare(got, w, tol)
}

// Compare holds the values of two arrays of the same dtype and shape against each other: each
// element within the tolerance, and all of them together within its bounds.
func Compare(got, want tensor.Tensor, tol Tolerance) error {
	if bytes.Equal(got.Data, want.Data) {
		return nil
	}
	n, most := want.Len(), largest(want)
	limit := tol.RelMax * most
	all := bounds{n: n, rounding: roundings * epsilon(want.DType) * most}
	// Integers of 32 bits under so wide a rule were made from float32, whose rounding they have.
	if wide := roundings * epsilon(tensor.Float32) * most; want.DType == tensor.Int32 && tol.Abs > wide {
		all.rounding = wide
	}
	all.rounding = max(all.rounding, tol.Rounding)
	beyond, worst, first := 0, 0.0, -1
	for i := range n {
		d, same := difference(got, want, i)
		if same {
			continue
		}
		if first < 0 {
			first = i
		}
		all.add(d)
		d = math.Abs(d)
		w, _ := want.Float64(i)
		// Written so that NaN is beyond.
		if !(d <= tol.Abs+tol.Rel*math.Abs(w)+limit) && !tol.Unbounded {
			if beyond == 0 {
				first = i
			}
			beyond++
		}
		if !(d <= worst) {
			worst = d
		}
	}
	together := ""
	if !tol.exact() {
		together = all.check(tol)
	}
	if beyond == 0 && together == "" && all.differ > 0 && !tol.exact() || all.differ == 0 {
		return nil
	}
	return fmt.Errorf("%v: %d of %d elements differ, %d beyond the tolerance, by up to %.9g%s; at %v got %s, want %s (rule: %s)",
		want, all.differ, n, beyond, worst, together, position(first, want.Shape), got.Element(first), want.Element(first),
		tol)
}

// difference returns got - want of an element, and whether they are the same: equal (0 and -0
// are), or both NaN.
func difference(got, want tensor.Tensor, i int) (d float64, same bool) {
	size := want.DType.Size()
	if bytes.Equal(got.Data[i*size:(i+1)*size], want.Data[i*size:(i+1)*size]) {
		return 0, true
	}
	g, _ := got.Float64(i)
	w, _ := want.Float64(i)
	if want.DType.IsFloat() && (g == w || g != g && w != w) {
		return 0, true
	}
	if d = g - w; d == 0 {
		d = 1 // integers that float64 does not tell apart
	}
	return d, false
}

func largest(t tensor.Tensor) float64 {
	m := 0.0
	for i := range t.Len() {
		if v, _ := t.Float64(i); v == v && !math.IsInf(v, 0) {
			m = math.Max(m, math.Abs(v))
		}
	}
	return m
}

// position turns the number of an element into its indices.
func position(i int, shape tensor.Shape) []int {
	at := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		at[d] = i % shape[d]
		i /= shape[d]
	}
	return at
}

// String renders the tolerance as the rules have it.
func (t Tolerance) String() string {
	if t.exact() {
		return "exact"
	}
	text := fmt.Sprintf("abs %g + rel %g + rel_max %g", t.Abs, t.Rel, t.RelMax)
	if t.Mismatch != nil {
		text += fmt.Sprintf(", at most %g of the elements", *t.Mismatch)
	}
	return text
}
