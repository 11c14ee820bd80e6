package image

import (
	"math"

	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/tensor"
)

// dense reports whether all weights are multiplied, also those that are zero. It is faster, unless
// most are zero. Infinity and NaN times zero would change a sum, so that an image of floats needs
// to be without them.
func (st *filterState) dense(p *filterPlane) bool {
	if p.outH < kernel.CorrelationRows || 2*len(st.weights) < len(st.matrix) {
		return false
	}
	return p.src.DType != tensor.Float32 || len(st.weights) == len(st.matrix) || finite(st.floats)
}

// finite reports whether no float is infinite or NaN.
func finite(list []float32) bool {
	const exponent = 0xff << 23
	bad := false
	for _, v := range list {
		bad = bad || math.Float32bits(v)&exponent == exponent
	}
	return !bad
}

// correlate filters an image several rows at a time.
func (st *filterState) correlate(p *filterPlane) error {
	const rows = kernel.CorrelationRows
	n, fused := p.outW*p.c, p.fused()
	m := kernel.Correlation{Weights: st.matrix, Rows: p.kh, Columns: p.kw, Step: p.c, Pitch: p.pitch, Fused: true}
	sum := st.sum[:rows*n]
	if fused == 0 {
		fused, m.Fused = n, false
	}
	st.part = grow(st.part, rows*fused)
	for y := 0; y < p.outH; y += rows {
		y = min(y, p.outH-rows)
		to := st.part
		if fused == n {
			to = sum
		}
		at := y * p.pitch
		if p.src.DType == tensor.Uint8 {
			m.SumsOfBytes(to, st.bytes[at:], fused)
		} else {
			m.Sums(to, st.floats[at:], fused)
		}
		if fused < n {
			st.ends(p, sum, y, fused)
		}
		if err := p.put(y, sum); err != nil {
			return err
		}
	}
	return nil
}

// ends copies the first sums of each row, and computes the rest, whose products are rounded.
func (st *filterState) ends(p *filterPlane, sum []float32, y, fused int) {
	n := p.outW * p.c
	for r := range kernel.CorrelationRows {
		row := sum[r*n : (r+1)*n]
		copy(row, st.part[r*fused:(r+1)*fused])
		if at := (y+r)*p.pitch + fused; p.src.DType == tensor.Uint8 {
			kernel.WeighBytes(row[fused:], st.bytes[at:], st.offsets, st.weights)
		} else {
			kernel.WeighFloats(row[fused:], st.floats[at:], st.offsets, st.weights)
		}
	}
}

// small reports whether no sum of bytes reaches 2^31.
func (st *filterState) small() bool {
	most := 0.0
	for _, w := range st.weights {
		most += 256 * math.Abs(float64(w))
	}
	return most < math.MaxInt32/2
}
