package resample

import "github.com/bivouac-ml/bivouac/internal/kernel"

// passes resamples a volume axis by axis, in the order that costs least.
func (r *Resampler) passes(j *Job, dst pixels, src []float32) {
	order := r.order(j)
	size := [3]int{j.Axes[0].In, j.Axes[1].In, j.Axes[2].In}
	for i, axis := range order {
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
	dst.put(0, src[:size[0]*size[1]*size[2]*j.Channels])
}

// order returns the order of axes that costs least.
func (r *Resampler) order(j *Job) (best [3]int) {
	least := float32(-1)
	for _, order := range [...][3]int{{2, 1, 0}, {2, 0, 1}, {1, 2, 0}, {1, 0, 2}, {0, 2, 1}, {0, 1, 2}} {
		size := [3]int{j.Axes[0].In, j.Axes[1].In, j.Axes[2].In}
		var cost float32
		for _, axis := range order {
			size[axis] = j.Axes[axis].Out
			cost += r.cost(axis, float32(size[0]*size[1]*size[2]))
		}
		if least < 0 || cost < least {
			best, least = order, cost
		}
	}
	return best
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
