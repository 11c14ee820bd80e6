// Package resample changes the size of images and volumes, as DALI's CPU operators do.
//
// # Definition
//
// Along each axis, output i lies at (i+0.5)*scale + lo - 0.5 among the inputs. scale is the length
// of the part of the input divided by the number of outputs. The output is the sum of the inputs
// around it, from the first input at or right of the filter's start, weighted with the filter and
// divided by the sum of the weights. Inputs outside the image equal the inputs at its edge. A
// filter is a table that is interpolated linearly:
//
//	triangle  1 pixel on both sides; also LINEAR
//	cubic     2 pixels, Catmull and Rom's with a = -0.5, 129 samples
//	lanczos3  3 pixels, 193 samples
//	gaussian  1 pixel, exp(-4x²), 65 samples, cut off at its edges
//
// If an axis shrinks and the filter antialiases, the filter is wider by the factor of the
// shrinking, up to 8192 inputs. The axes are resampled one after another, in the order that costs
// least. Intermediate results are float32. Integers are rounded half to even, but half away from
// zero at the end of rows, like DALI's vector code. Nearest neighbours take pixel
// floor((i+0.5)*scale + lo). The positions of rows and planes are summed up in float32, which
// decides on which side of an edge they fall.
//
// Positions, weights and sums are float32 and computed in DALI's order, so their bits equal DALI's.
// The table of lanczos3 uses the sines of package libm.
package resample

import (
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Job is one resampling of Frames images or volumes that follow each other in Src and Dst. An image
// has Channels values a pixel and the axes D, H and W. Without depth, D has one element in and out.
type Job struct {
	Src, Dst         []byte
	SrcType, DstType tensor.DType
	Frames, Channels int
	Axes             [3]Axis // D, H, W
	Volume           bool    // D is resampled like H and W, also from one element to one
}

// flat reports whether the job is of images, whose D is not resampled.
func (j *Job) flat() bool { return !j.Volume && j.Axes[0].In == 1 && j.Axes[0].Out == 1 }

// Resampler holds the tables and rows of resamplings; its memory is reused. The zero
// value is ready.
type Resampler struct {
	taps    [3]taps
	order   [3]int       // of the axes
	columns span         // the columns of the image that take part
	in, out []float32    // a frame in float32, if the types are not float32
	volume  [2][]float32 // between the passes over a volume
	rows    rows
	offsets []int
	same    []byte // a frame in the type of the result
	even    rounded
}

// Run resamples the job. It returns an error for types that cannot be converted, and for an image
// without pixels if the result has pixels.
func (r *Resampler) Run(j Job) error {
	src, dst := j.Channels*j.SrcType.Size(), j.Channels*j.DstType.Size()
	nearest := true
	for i := range j.Axes {
		a := &j.Axes[i]
		src, dst = src*a.In, dst*a.Out
		nearest = nearest && (a.kind() == op.InterpNN || i == 0 && j.flat())
	}
	if dst*j.Frames == 0 {
		return nil
	}
	if src == 0 {
		return &errs.Error{Kind: errs.Invalid, Op: "resample", Want: "an image with pixels", Got: "an image without pixels"}
	}
	r.plan(&j)
	for f := range j.Frames {
		from, to := j.Src[f*src:(f+1)*src], j.Dst[f*dst:(f+1)*dst]
		var err error
		if nearest {
			err = r.nearest(&j, to, from)
		} else {
			err = r.frame(&j, to, from)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// plan decides on the order of the axes and computes their taps. The first pass reads the image.
// Each later pass reads the result of the pass before, for the part that is used.
func (r *Resampler) plan(j *Job) {
	var p passes
	for i := range j.Axes {
		a := &j.Axes[i]
		p.support[i], p.from[i], p.to[i] = a.reach()
		p.out[i] = a.Out
	}
	r.order = p.cheapest(j.flat())
	r.columns = span{p.from[2], p.to[2]}
	for i := range j.Axes {
		d := described{axis: j.Axes[i], columns: i == 2}
		if i != r.order[0] {
			d.from = p.from[i]
		}
		r.taps[i].plan(d)
	}
}

// frame resamples one image or volume by weighted sums.
func (r *Resampler) frame(j *Job, dst, src []byte) error {
	in := pixels{bytes: src}
	if j.SrcType != tensor.Uint8 || !j.flat() {
		r.in = grow(r.in, len(src)/j.SrcType.Size())
		if err := element.Into(tensor.Float32, element.Bytes(r.in), j.SrcType, src); err != nil {
			return err
		}
		in = pixels{floats: r.in}
	}
	out := pixels{bytes: dst, lanes: 16 / j.DstType.Size()}
	direct := j.DstType == tensor.Uint8
	switch {
	case j.DstType == tensor.Float32:
		direct, out = true, pixels{floats: element.View[float32](dst)}
	case !direct:
		r.out = grow(r.out, len(dst)/j.DstType.Size())
		out = pixels{floats: r.out, lanes: 16 / j.DstType.Size(), below: j.DstType == tensor.Int16}
	}
	if j.flat() {
		r.image(j, out, in)
	} else {
		r.solid(j, out, in.floats)
	}
	if direct {
		return nil
	}
	return element.Into(j.DstType, dst, tensor.Float32, element.Bytes(r.out))
}

// pixels are the pixels of an image, as bytes or as floats. lanes is the number of integers that
// DALI's vector code makes at a time, or 0 if pixels stay floats. below says that the vector
// code makes -1 of numbers from -0.5 to 0, as it does for int16.
type pixels struct {
	bytes  []byte
	floats []float32
	lanes  int
	below  bool
}

// put writes a row that begins at element i. If elements become integers, elements in the spans of
// even are rounded half to even, the others half away from zero.
func (p pixels) put(i int, row []float32, even []span) {
	if p.bytes != nil {
		dst, at := p.bytes[i:i+len(row)], 0
		for _, e := range even {
			kernel.RoundBytesAway(dst[at:e.from], row[at:e.from])
			kernel.RoundBytes(dst[e.from:e.to], row[e.from:e.to])
			at = e.to
		}
		kernel.RoundBytesAway(dst[at:], row[at:])
		return
	}
	copy(p.floats[i:], row)
	if p.lanes == 0 {
		return
	}
	for _, e := range even {
		for k, v := range row[e.from:e.to] {
			if v = float32(math.RoundToEven(float64(v))); p.below && v == 0 && math.Signbit(float64(v)) {
				v = -1
			}
			p.floats[i+e.from+k] = v
		}
	}
}

// span is a range of elements of a row.
type span struct{ from, to int }

// rounded holds the spans of rows that are rounded half to even: the elements that DALI's vector
// code computes, 16 bytes at a time. DALI copies nearest neighbours without vector code.
type rounded struct{ spans []span }

// down sets e for a last pass along columns, with rows of n elements.
func (e *rounded) down(a *Axis, n int, dst pixels) []span {
	e.spans = e.spans[:0]
	if dst.lanes > 0 && a.kind() != op.InterpNN {
		e.spans = append(e.spans, span{0, n - n%dst.lanes})
	}
	return e.spans
}

// across sets e for a last pass along rows. DALI computes the outputs at both ends, some of whose
// inputs lie outside, separately from the outputs in the middle.
func (e *rounded) across(a *Axis, t *taps, channels int, dst pixels) []span {
	e.spans = e.spans[:0]
	if dst.lanes == 0 || a.kind() == op.InterpNN {
		return e.spans
	}
	out := len(t.first)
	left := func(i int) bool { return t.first[i] < 0 }
	right := func(i int) bool { return int(t.first[i])+t.n > a.In }
	if t.first[out-1] < t.first[0] {
		left, right = right, left
	}
	first, last := 0, out-1
	for first < out && left(first) {
		first++
	}
	for last >= 0 && right(last) {
		last--
	}
	x := 0
	for _, end := range []int{min(first, last+1), first, last + 1, out} {
		if whole := (end - x) / dst.lanes * dst.lanes; whole > 0 {
			e.spans = append(e.spans, span{x * channels, (x + whole) * channels})
		}
		x = max(x, end)
	}
	return e.spans
}

// load writes the elements from element i on to dst.
func (p pixels) load(dst []float32, i int) {
	if p.bytes != nil {
		kernel.Widen(dst, p.bytes[i:i+len(dst)])
		return
	}
	copy(dst, p.floats[i:])
}

// nearest copies elements.
func (r *Resampler) nearest(j *Job, dst, src []byte) error {
	from, to := src, dst
	size := j.SrcType.Size()
	if j.SrcType != j.DstType {
		size = j.DstType.Size()
		r.same = grow(r.same, len(src)/j.SrcType.Size()*size)
		if err := element.Into(j.DstType, r.same, j.SrcType, src); err != nil {
			return err
		}
		from = r.same
	}
	size *= j.Channels
	d, h, w := &j.Axes[0], &j.Axes[1], &j.Axes[2]
	for z := range d.Out {
		iz := int(max(r.taps[0].first[z], 0))
		for y := range h.Out {
			row := from[(iz*h.In+int(r.taps[1].first[y]))*w.In*size:]
			copyPixels(to[:w.Out*size], row[:w.In*size], r.taps[2].first, size)
			to = to[w.Out*size:]
		}
	}
	return nil
}

func copyPixels(dst, src []byte, first []int32, size int) {
	switch size {
	case 1:
		for i, f := range first {
			dst[i] = src[f]
		}
	case 3:
		for i, f := range first {
			to, from := dst[3*i:3*i+3:3*i+3], src[3*f:3*f+3:3*f+3]
			to[0], to[1], to[2] = from[0], from[1], from[2]
		}
	default:
		for i, f := range first {
			copy(dst[i*size:(i+1)*size], src[int(f)*size:])
		}
	}
}
