package chart

import (
	"cmp"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestSparkKeepsTheMean draws series of any length. A line has few columns, all within the range of
// the values.
func TestSparkKeepsTheMean(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-10, 10), 1, 2000).Draw(rt, "values")
		c := Spark{Most: rapid.SampledFrom([]int{0, 2, 25}).Draw(rt, "most")}
		for _, v := range values {
			c.Add(math.NaN())
			c.Add(v)
		}
		low, high := values[0], values[0]
		for _, v := range values {
			low, high = min(low, v), max(high, v)
		}
		sum, n := c.sum, c.n
		for _, p := range c.points {
			if p < low-1e-9 || p > high+1e-9 {
				rt.Fatalf("a point at %v outside of %v to %v", p, low, high)
			}
			sum += p * float64(c.each)
			n += c.each
		}
		want := 0.0
		for _, v := range values {
			want += v
		}
		if n != len(values) || math.Abs(sum-want) > 1e-6 || len([]rune(c.String())) > cmp.Or(c.Most, sparkPoints) {
			rt.Fatalf("%d values of sum %v, want %d of %v", n, sum, len(values), want)
		}
	})
	var flat, none, huge Spark
	flat.Add(5)
	none.Add(math.Inf(1))
	huge.Add(-math.MaxFloat64)
	huge.Add(math.MaxFloat64)
	if flat.String() != "▁" || none.String() != "" || huge.String() != "▁█" {
		t.Errorf("got %q, %q, %q", flat.String(), none.String(), huge.String())
	}
}
