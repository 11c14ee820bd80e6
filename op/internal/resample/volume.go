package resample

import "github.com/bivouac-ml/bivouac/internal/kernel"

// solid resamples a volume axis by axis, in the order of the plan.
func (r *Resampler) solid(j *Job, dst pixels, src []float32) {
	size := [3]int{j.Axes[0].In, j.Axes[1].In, j.Axes[2].In}
	for i, axis := range r.order {
		inner := j.Channels
		for _, n := range size[axis+1:] {
			inner *= n
		}
		outer := 1
		for _, n := range size[:axis] {
			outer *= n
		}
		size[axis] = j.Axes[axis].Out
		next := &r.volume[i%2]
		*next = grow(*next, outer*j.Axes[axis].Out*inner+kernel.Slack)
		r.pass(&j.Axes[axis], &r.taps[axis], *next, src, outer, inner)
		src = *next
	}
	rows, row, last := size[0]*size[1], size[2]*j.Channels, r.order[2]
	if last == 0 {
		rows, row = size[0], size[1]*row
	}
	var even []span
	if last == 2 {
		even = r.even.across(&j.Axes[2], &r.taps[2], j.Channels, dst)
	} else {
		even = r.even.down(&j.Axes[last], row, dst)
	}
	for i := range rows {
		dst.put(i*row, src[i*row:(i+1)*row], even)
	}
}

// pass resamples the middle one of three axes of outer x a.In x inner elements.
func (r *Resampler) pass(a *Axis, t *taps, dst, src []float32, outer, inner int) {
	r.offsets = grow(r.offsets, t.n)
	for o := range outer {
		from := src[o*a.In*inner:]
		for i := range a.Out {
			for k := range t.n {
				r.offsets[k] = min(max(int(t.first[i])+k, 0), a.In-1) * inner
			}
			to := (o*a.Out + i) * inner
			kernel.WeighFloats(dst[to:to+inner], from, r.offsets, t.weights[i*t.n:(i+1)*t.n])
		}
	}
}
