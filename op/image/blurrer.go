package image

import (
	"math"

	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op/internal/convert"
)

// blurrer convolves volumes with a window an axis: columns first, then rows, then
// planes, with float32 in between. Its memory is reused; the zero value is ready.
type blurrer struct {
	windows   [maxSpatial]blurWindow // D, H, W
	ring      []float32              // rows that were blurred along W last
	have      []int                  // what row each slot of the ring holds
	wide, sum []float32
	volume    []float32 // between the passes over planes
	offsets   []int
	columns   []int
}

// blurWindow is a Gaussian window. The sum of its weights is 1.
type blurWindow struct {
	sigma   float32
	weights []float32
}

// plan computes the window, unless it is that already.
func (w *blurWindow) plan(sigma float32, size int) {
	if w.sigma == sigma && len(w.weights) == size {
		return
	}
	w.sigma = sigma
	if cap(w.weights) < size {
		w.weights = make([]float32, size)
	}
	w.weights = w.weights[:size]
	radius := size / 2
	if sigma == 0 {
		sigma = float32(float32(radius-1)*0.3) + 0.8
	}
	scale := 0.5 / (sigma * sigma)
	var sum float32
	for x := -radius; x < 0; x++ {
		v := float32(math.Exp(-float64(float32(x*x) * scale)))
		w.weights[x+radius] = v
		sum += v
	}
	center := 1 / (float32(sum*2) + 1)
	w.weights[radius] = center
	for x := range radius {
		w.weights[x] *= center
		w.weights[size-1-x] = w.weights[x]
	}
}

// reflect returns the index inside an axis of n elements that i stands for, mirrored
// at the edges, which are not repeated.
func reflect(i, n int) int {
	if n == 1 {
		return 0
	}
	i %= 2 * (n - 1)
	if i < 0 {
		i += 2 * (n - 1)
	}
	if i >= n {
		i = 2*(n-1) - i
	}
	return i
}

// blurJob is one volume.
type blurJob struct {
	src, dst          []byte
	srcSize, dstSize  int
	size              [maxSpatial]int
	channels          int
	bytesIn, bytesOut bool // elements are uint8
	load, store       convert.Func
}

// get returns n elements from element at on as float32, in dst.
func (j *blurJob) get(dst []float32, at int) {
	src := j.src[at*j.srcSize : (at+len(dst))*j.srcSize]
	if j.bytesIn {
		kernel.Widen(dst, src)
		return
	}
	j.load(bytesOf(dst), src)
}

func (j *blurJob) put(at int, row []float32) {
	dst := j.dst[at*j.dstSize : (at+len(row))*j.dstSize]
	if j.bytesOut {
		kernel.RoundBytes(dst, row)
		return
	}
	j.store(dst, bytesOf(row))
}

func (r *blurrer) run(j blurJob) {
	row := j.size[2] * j.channels
	plane := j.size[1] * row
	r.sum = growFloats(r.sum, row)
	deep := len(r.windows[0].weights) > 1
	if deep {
		r.volume = growFloats(r.volume, j.size[0]*plane)
	}
	for z := range j.size[0] {
		r.plane(&j, z, deep)
	}
	if !deep {
		return
	}
	w := r.windows[0].weights
	r.offsets = growInts(r.offsets, len(w))
	for z := range j.size[0] {
		for y := range j.size[1] {
			for k := range w {
				r.offsets[k] = reflect(z+k-len(w)/2, j.size[0])*plane + y*row
			}
			kernel.WeighFloats(r.sum, r.volume, r.offsets, w)
			j.put(z*plane+y*row, r.sum)
		}
	}
}

// plane blurs plane z along W and H, into the volume where it is to be blurred along D.
func (r *blurrer) plane(j *blurJob, z int, deep bool) {
	row, h := j.size[2]*j.channels, j.size[1]
	w := r.windows[1].weights
	slots := min(len(w), h)
	r.ring, r.have, r.offsets = growFloats(r.ring, slots*row), growInts(r.have, slots), growInts(r.offsets, len(w))
	for i := range r.have {
		r.have[i] = -1
	}
	for y := range h {
		for k := range w {
			from := reflect(y+k-len(w)/2, h)
			slot := from % slots
			if r.have[slot] != from {
				r.have[slot] = from
				r.row(r.ring[slot*row:(slot+1)*row], j, (z*h+from)*row)
			}
			r.offsets[k] = slot * row
		}
		sum := r.sum
		if deep {
			sum = r.volume[(z*h+y)*row : (z*h+y+1)*row]
		}
		kernel.WeighFloats(sum, r.ring, r.offsets, w)
		if !deep {
			j.put((z*h+y)*row, sum)
		}
	}
}

// row blurs the row that begins at element at along W.
func (r *blurrer) row(dst []float32, j *blurJob, at int) {
	w, c, n := r.windows[2].weights, j.channels, j.size[2]
	radius := len(w) / 2
	r.wide = growFloats(r.wide, (n+2*radius)*c)
	row := r.wide[radius*c : (radius+n)*c]
	j.get(row, at)
	for i := range radius {
		copy(r.wide[i*c:(i+1)*c], row[reflect(i-radius, n)*c:])
		copy(r.wide[(radius+n+i)*c:(radius+n+i+1)*c], row[reflect(n+i, n)*c:])
	}
	r.columns = growInts(r.columns, len(w))
	for k := range w {
		r.columns[k] = k * c
	}
	kernel.WeighFloats(dst, r.wide, r.columns, w)
}

func growFloats(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

func growInts(s []int, n int) []int {
	if cap(s) < n {
		return make([]int, n)
	}
	return s[:n]
}
