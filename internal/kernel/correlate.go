package kernel

// Correlation is a dense matrix of weights that moves over rows of elements.
type Correlation struct {
	Weights       []float32 // row by row
	Rows, Columns int
	Step          int // elements from a column to the next
	Pitch         int // elements from a row to the next
	Fused         bool
}

// CorrelationRows is how many rows of sums a Correlation computes together.
const CorrelationRows = 4

// number is the constraint of elements.
type number interface{ byte | float32 }

// Sums computes n sums in each row: element j of row y is the sum, over the rows r and columns c of
// weights, of a weight times element (y+r)*Pitch + c*Step + j, row by row. It begins with 0. If
// Fused is set, products are added without rounding them first.
func (m *Correlation) Sums(dst []float32, base []float32, n int) {
	if m.check(dst, len(base), n) {
		correlateFloats(m, dst, base, n)
	}
}

// SumsOfBytes is Sums for bytes.
func (m *Correlation) SumsOfBytes(dst []float32, base []byte, n int) {
	if m.check(dst, len(base), n) {
		correlateBytes(m, dst, base, n)
	}
}

// check reports whether there is anything to do.
func (m *Correlation) check(dst []float32, size, n int) bool {
	if n < 0 || m.Rows < 1 || m.Columns < 1 || m.Step < 0 || m.Pitch < 0 {
		panic("kernel: a negative size, or no weights")
	}
	if len(dst) < CorrelationRows*n || len(m.Weights) < m.Rows*m.Columns ||
		n > 0 && (m.Rows+CorrelationRows-2)*m.Pitch+(m.Columns-1)*m.Step+n > size {
		panic("kernel: too few elements or weights")
	}
	return n > 0
}

func correlateGeneric[T number](m *Correlation, dst []float32, base []T, n int) {
	for y := range CorrelationRows {
		row := dst[y*n : (y+1)*n]
		clear(row)
		for r := range m.Rows {
			for c := range m.Columns {
				w := m.Weights[r*m.Columns+c]
				for j, v := range base[(y+r)*m.Pitch+c*m.Step:][:n] {
					if m.Fused {
						row[j] = Fuse(w, float32(v), row[j])
					} else {
						row[j] += float32(w * float32(v))
					}
				}
			}
		}
	}
}
