package kernel

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestCorrelation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t)
		m := Correlation{Rows: rapid.IntRange(1, 8).Draw(t, "rows"), Columns: rapid.IntRange(1, 6).Draw(t, "columns"),
			Step: rapid.IntRange(1, 4).Draw(t, "step"), Fused: rapid.Bool().Draw(t, "fused")}
		n := rapid.IntRange(0, 75).Draw(t, "n")
		m.Pitch = n + (m.Columns-1)*m.Step + r.IntN(3)
		m.Weights = randomFloats(r, m.Rows*m.Columns)
		size := (m.Rows+CorrelationRows-2)*m.Pitch + (m.Columns-1)*m.Step + n
		floats, raw := randomFloats(r, size), randomBytes(r, size)
		got, want := make([]float32, CorrelationRows*n), make([]float32, CorrelationRows*n)
		m.Sums(got, floats, n)
		correlateGeneric(&m, want, floats, n)
		if !slices.EqualFunc(got, want, sameBits) {
			t.Fatalf("floats, %d sums: got %v, want %v", n, got, want)
		}
		m.SumsOfBytes(got, raw, n)
		correlateGeneric(&m, want, raw, n)
		if !slices.EqualFunc(got, want, sameBits) {
			t.Fatalf("bytes, %d sums: got %v, want %v", n, got, want)
		}
	})
}

// sameBits reports whether two floats are the same, or both NaN.
func sameBits(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func TestHostileCorrelation(t *testing.T) {
	ok := Correlation{Weights: make([]float32, 6), Rows: 2, Columns: 3, Step: 1, Pitch: 12}
	dst, base := make([]float32, 40), make([]float32, 60)
	ok.Sums(dst, base, 10)
	ok.Sums(nil, nil, 0)
	for name, f := range map[string]func(m Correlation){
		"a short output": func(m Correlation) { m.Sums(dst[:39], base, 10) },
		"a short input":  func(m Correlation) { m.Sums(dst, base[:59], 10) },
		"few weights":    func(m Correlation) { m.Weights = m.Weights[:5]; m.Sums(dst, base, 10) },
		"no weights":     func(m Correlation) { m.Rows = 0; m.Sums(dst, base, 10) },
		"steps back":     func(m Correlation) { m.Step = -1; m.Sums(dst, base, 10) },
		"a short image":  func(m Correlation) { m.SumsOfBytes(dst, make([]byte, 59), 10) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f(ok)
		}()
	}
}
