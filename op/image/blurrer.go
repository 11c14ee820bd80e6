package image

import (
	"math"

	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/op/internal/tone"
	"github.com/bivouac-ml/bivouac/tensor"
)

// blurrer convolves volumes with one window per axis: first along columns, then rows, then planes.
// Intermediate results are float32. Its memory is reused; the zero value is ready.
type blurrer struct {
	windows   [maxSpatial]blurWindow // D, H, W
	ring      []float32              // the last rows that were blurred along W
	have      []int                  // the row that each slot of the ring holds
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

// plan computes the window, unless it already has these parameters.
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
		sigma = float32(float64(float64(radius-1)*0.3) + 0.8)
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

// blurJob is one volume, which begins at element at of the arrays.
type blurJob struct {
	src, dst tensor.Tensor
	at       int
	size     [maxSpatial]int
	channels int
	sum      *summand // what becomes of the result before it is written, or nil
}

// summand adds up results: they are multiplied by scale and added to total.
type summand struct {
	total       []float32
	scale       float32
	first, last bool // there is no total yet; the sum is written
}

// add adds a row of the result. If the sum is complete, row becomes the sum.
func (s *summand) add(at int, row []float32) {
	total := s.total[at : at+len(row)]
	switch {
	case s.first && s.last:
		for i, v := range row {
			row[i] = v * s.scale
		}
	case s.first:
		for i, v := range row {
			total[i] = v * s.scale
		}
	case s.last:
		for i, v := range row {
			row[i] = total[i] + float32(v*s.scale)
		}
	default:
		for i, v := range row {
			total[i] += float32(v * s.scale)
		}
	}
}

func (j *blurJob) put(at int, row []float32) error {
	if j.sum != nil {
		if j.sum.add(at, row); !j.sum.last {
			return nil
		}
		return storeRow(j.dst, j.at+at, row)
	}
	size := j.dst.DType.Size()
	dst := j.dst.Data[(j.at+at)*size : (j.at+at+len(row))*size]
	if j.dst.DType == tensor.Uint8 {
		kernel.RoundBytes(dst, row)
		return nil
	}
	return element.Into(j.dst.DType, dst, tensor.Float32, element.Bytes(row))
}

func (r *blurrer) run(j blurJob) error {
	row := j.size[2] * j.channels
	plane := j.size[1] * row
	r.sum = grow(r.sum, row)
	deep := len(r.windows[0].weights) > 1
	if deep {
		r.volume = grow(r.volume, j.size[0]*plane)
	}
	for z := range j.size[0] {
		if err := r.plane(&j, z, deep); err != nil {
			return err
		}
	}
	if !deep {
		return nil
	}
	w := r.windows[0].weights
	r.offsets = grow(r.offsets, len(w))
	for z := range j.size[0] {
		for y := range j.size[1] {
			for k := range w {
				r.offsets[k] = tone.Reflect(z+k-len(w)/2, j.size[0])*plane + y*row
			}
			kernel.WeighFloats(r.sum, r.volume, r.offsets, w)
			if err := j.put(z*plane+y*row, r.sum); err != nil {
				return err
			}
		}
	}
	return nil
}

// plane blurs plane z along W and H. If deep is set, it writes into the volume, which is then
// blurred along D.
func (r *blurrer) plane(j *blurJob, z int, deep bool) error {
	row, h := j.size[2]*j.channels, j.size[1]
	w := r.windows[1].weights
	slots := min(len(w), h)
	r.ring, r.have, r.offsets = grow(r.ring, slots*row), grow(r.have, slots), grow(r.offsets, len(w))
	for i := range r.have {
		r.have[i] = -1
	}
	for y := range h {
		for k := range w {
			from := tone.Reflect(y+k-len(w)/2, h)
			slot := from % slots
			if r.have[slot] != from {
				r.have[slot] = from
				if err := r.row(r.ring[slot*row:(slot+1)*row], j, (z*h+from)*row); err != nil {
					return err
				}
			}
			r.offsets[k] = slot * row
		}
		sum := r.sum
		if deep {
			sum = r.volume[(z*h+y)*row : (z*h+y+1)*row]
		}
		kernel.WeighFloats(sum, r.ring, r.offsets, w)
		if !deep {
			if err := j.put((z*h+y)*row, sum); err != nil {
				return err
			}
		}
	}
	return nil
}

// row blurs the row that begins at element at along W.
func (r *blurrer) row(dst []float32, j *blurJob, at int) error {
	w, c, n := r.windows[2].weights, j.channels, j.size[2]
	radius := len(w) / 2
	r.wide = grow(r.wide, (n+2*radius)*c)
	row := r.wide[radius*c : (radius+n)*c]
	if err := loadRow(row, j.src, j.at+at); err != nil {
		return err
	}
	for i := range radius {
		copy(r.wide[i*c:(i+1)*c], row[tone.Reflect(i-radius, n)*c:])
		copy(r.wide[(radius+n+i)*c:(radius+n+i+1)*c], row[tone.Reflect(n+i, n)*c:])
	}
	r.columns = grow(r.columns, len(w))
	for k := range w {
		r.columns[k] = k * c
	}
	kernel.WeighFloats(dst, r.wide, r.columns, w)
	return nil
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
