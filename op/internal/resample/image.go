package resample

import "github.com/bivouac-ml/bivouac/internal/kernel"

// rows holds the rows that are being worked on: the last rows that were resampled horizontally
// (slot i%n holds row i), a row that is being converted to float32, and a row that is being summed
// up.
type rows struct {
	ring      []float32
	have      []int
	wide, sum []float32
}

// image resamples an image in the order of the axes. It works row by row, so that the data stays in
// the nearest cache.
func (r *Resampler) image(j *Job, dst, src pixels) {
	h, w := &j.Axes[1], &j.Axes[2]
	r.offsets = grow(r.offsets, r.taps[1].n)
	if r.order[0] == 2 {
		r.horizontalFirst(h, w, j.Channels, dst, src)
	} else {
		r.verticalFirst(h, w, j.Channels, dst, src)
	}
}

func (r *Resampler) horizontalFirst(h, w *Axis, channels int, dst, src pixels) {
	y, x := &r.taps[1], &r.taps[2]
	in, out := w.In*channels, w.Out*channels
	pitch := out + kernel.Slack
	read := span{r.columns.from * channels, r.columns.to * channels}
	slots := y.n
	if h.In < slots {
		slots = h.In
	}
	b := &r.rows
	b.ring, b.have = grow(b.ring, slots*pitch), grow(b.have, slots)
	b.wide, b.sum = grow(b.wide, in+kernel.Slack), grow(b.sum, out)
	for i := range b.have {
		b.have[i] = -1
	}
	even := r.even.down(h, out, dst)
	for i := range h.Out {
		for k := range y.n {
			row := min(max(int(y.first[i])+k, 0), h.In-1)
			slot := row % slots
			if b.have[slot] != row {
				b.have[slot] = row
				src.load(b.wide[read.from:read.to], row*in+read.from)
				x.run(b.ring[slot*pitch:(slot+1)*pitch], b.wide, w.In, channels)
			}
			r.offsets[k] = slot * pitch
		}
		kernel.WeighFloats(b.sum, b.ring, r.offsets, y.weights[i*y.n:(i+1)*y.n])
		dst.put(i*out, b.sum, even)
	}
}

func (r *Resampler) verticalFirst(h, w *Axis, channels int, dst, src pixels) {
	y, x := &r.taps[1], &r.taps[2]
	in, out := w.In*channels, w.Out*channels
	b := &r.rows
	b.wide, b.sum = grow(b.wide, in+kernel.Slack), grow(b.sum, out+kernel.Slack)
	read := span{r.columns.from * channels, r.columns.to * channels}
	even := r.even.across(w, x, channels, dst)
	for i := range h.Out {
		for k := range y.n {
			r.offsets[k] = min(max(int(y.first[i])+k, 0), h.In-1)*in + read.from
		}
		if src.bytes != nil {
			kernel.WeighBytes(b.wide[read.from:read.to], src.bytes, r.offsets, y.weights[i*y.n:(i+1)*y.n])
		} else {
			kernel.WeighFloats(b.wide[read.from:read.to], src.floats, r.offsets, y.weights[i*y.n:(i+1)*y.n])
		}
		x.run(b.sum, b.wide, w.In, channels)
		dst.put(i*out, b.sum[:out], even)
	}
}

// run resamples a row of n pixels. Both rows have kernel.Slack more elements.
func (t *taps) run(dst, src []float32, n, channels int) {
	t.inside.Run(dst[t.from*channels:], src, channels)
	for i := range t.from {
		t.edge(dst, src, i, n, channels)
	}
	for i := t.to; i < len(t.first); i++ {
		t.edge(dst, src, i, n, channels)
	}
}

// edge computes output i, some of whose inputs lie outside the row.
func (t *taps) edge(dst, src []float32, i, n, channels int) {
	for c := range channels {
		var sum float32
		for k, w := range t.weights[i*t.n : (i+1)*t.n] {
			at := min(max(int(t.first[i])+k, 0), n-1)
			sum += float32(w * src[at*channels+c])
		}
		dst[i*channels+c] = sum
	}
}
