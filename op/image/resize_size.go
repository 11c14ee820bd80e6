package image

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
)

// resizeSizeParams are the parameters of operators that compute a size.
func resizeSizeParams() []op.Parameter {
	return []op.Parameter{
		{Name: "max_size", Type: op.Floats, Doc: "Largest extent of the result, one for all axes or one for each; 0 means no limit."},
		{Name: "mode", Type: op.String, Default: "default", Doc: `How sizes are used: "default" derives missing sizes from the mean scale of the others, ` +
			`"stretch" keeps missing extents. "not_larger" and "not_smaller" keep the aspect ratio; the size is the upper or lower limit.`},
		{Name: "resize_longer", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Extent of the longest axis; the aspect ratio is kept."},
		{Name: "resize_shorter", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Extent of the shortest axis; the aspect ratio is kept."},
		{Name: "resize_x", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Width; 0 derives it, a negative width mirrors."},
		{Name: "resize_y", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Height; 0 derives it, a negative height mirrors."},
		{Name: "resize_z", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Depth of volumes; 0 derives it, a negative depth mirrors."},
		{Name: "roi_end", Type: op.Floats, PerSample: true, Doc: "End of the part that is resized, on each axis in the order of the layout. An end before roi_start mirrors."},
		{Name: "roi_relative", Type: op.Bool, Default: false, Doc: "Whether the part is given in fractions of the extents."},
		{Name: "roi_start", Type: op.Floats, PerSample: true, Doc: "Start of the part that is resized, on each axis in the order of the layout."},
		{Name: "size", Type: op.Floats, PerSample: true, Doc: "Extents of the result in the order of the layout, or one for all. 0 derives an extent; a negative extent mirrors."},
		{Name: "subpixel_scale", Type: op.Bool, Default: true, Doc: "Whether the resized part grows or shrinks to match a rounded size, so that the scale equals the scale of the requested size."},
	}
}

// scaleMode says how sizes are used.
type scaleMode uint8

const (
	scaleDefault scaleMode = iota
	scaleStretch
	scaleNotLarger
	scaleNotSmaller
)

var scaleModes = map[string]scaleMode{"default": scaleDefault, "stretch": scaleStretch, "not_larger": scaleNotLarger, "not_smaller": scaleNotSmaller}

// readMode returns the argument mode.
func readMode(c *op.Config) (scaleMode, error) {
	name := op.Get[string](c, "mode")
	mode, ok := scaleModes[name]
	if !ok {
		return 0, c.Invalid("mode", `"default", "stretch", "not_larger" or "not_smaller"`, fmt.Sprintf("%q", name), "")
	}
	return mode, nil
}

// target describes the resampling of one axis: size outputs from the inputs lo to hi. If the axis
// is mirrored, hi is below lo.
type target struct {
	size   int
	lo, hi float64
}

// scale returns the number of inputs per output. It is negative on mirrored axes. As in DALI, the
// extent is a difference in float32, which decides where truncated filters begin.
func (t target) scale() float64 { return float64(float32(t.hi)-float32(t.lo)) / float64(t.size) }

// resizeSize computes the sizes of resizing operators.
type resizeSize struct {
	separate    [3]op.Scalar[float64] // z, y, x
	list        op.Vector[float64]
	bySide      op.Scalar[float64] // resize_shorter or resize_longer
	hasSeparate bool
	hasList     bool
	mode        scaleMode
	maxSize     sizeLimits
	roi         roi
	subpixel    bool
}

// roi is the part of the input that is resized.
type roi struct {
	start, end op.Vector[float64]
	given      bool
	relative   bool
}

func readROI(c *op.Config) (roi, error) {
	r := roi{start: op.GetVector[float64](c, "roi_start"), end: op.GetVector[float64](c, "roi_end"), relative: op.Get[bool](c, "roi_relative"), given: c.Has("roi_start")}
	if c.Has("roi_start") != c.Has("roi_end") {
		return r, c.Invalid("roi_start", "roi_start and roi_end together", "only one of them", "")
	}
	return r, nil
}

func newResizeSize(c *op.Config) (*resizeSize, error) {
	z := &resizeSize{list: op.GetVector[float64](c, "size"), hasList: c.Has("size"), maxSize: readLimits(c), subpixel: op.Get[bool](c, "subpixel_scale")}
	for i, name := range [...]string{"resize_z", "resize_y", "resize_x"} {
		z.separate[i] = op.GetScalar[float64](c, name)
		z.hasSeparate = z.hasSeparate || c.Given(name)
	}
	var err error
	if z.mode, err = readMode(c); err != nil {
		return nil, err
	}
	if z.roi, err = readROI(c); err != nil {
		return nil, err
	}
	ways := 0
	for _, given := range [...]bool{z.hasSeparate, z.hasList, c.Given("resize_shorter"), c.Given("resize_longer")} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return nil, c.Invalid("size", "exactly one of size, resize_shorter, resize_longer and resize_x/resize_y/resize_z", fmt.Sprintf("%d of these ways", ways), "")
	}
	for name, mode := range map[string]scaleMode{"resize_shorter": scaleNotSmaller, "resize_longer": scaleNotLarger} {
		if !c.Given(name) {
			continue
		}
		if c.Given("mode") {
			return nil, c.Invalid("mode", "either mode or "+name, "both", "")
		}
		z.bySide, z.mode = op.GetScalar[float64](c, name), mode
	}
	return z, nil
}

// at appends the targets of sample s to out. in holds the extents of its spatial axes.
func (z *resizeSize) at(b *op.Block, s int, in []int, out []target) ([]target, error) {
	var want, lo, hi [maxSpatial]float64
	n := len(in)
	if err := z.request(b, s, want[:n]); err != nil {
		return out, err
	}
	if err := z.roi.at(b, s, in, lo[:n], hi[:n]); err != nil {
		return out, err
	}
	limits, err := z.maxSize.of(n)
	if err != nil {
		return out, err
	}
	how := sizing{mode: z.mode, limits: limits, subpixel: z.subpixel, round: math.Round}
	return how.targets(out, want[:n], lo[:n], hi[:n], in), nil
}

// maxSpatial is the largest number of resized axes. maxRank is the largest number of all axes.
const (
	maxSpatial = 3
	maxRank    = 8
)

// request returns the requested sizes, or 0 for an axis without a request.
func (z *resizeSize) request(b *op.Block, s int, want []float64) (err error) {
	switch {
	case z.hasList:
		var buf [maxSpatial]float64
		v, err := z.list.At(b, s, buf[:])
		if err != nil {
			return err
		}
		if len(v) != len(want) && len(v) != 1 {
			return &errs.Error{Kind: errs.Invalid, Subject: "argument size", Want: fmt.Sprintf("1 or %d values", len(want)), Got: fmt.Sprint(len(v))}
		}
		for i := range want {
			want[i] = v[i%len(v)]
		}
	case z.hasSeparate:
		for i := range want {
			if want[i], err = z.separate[maxSpatial-len(want)+i].At(b, s); err != nil {
				return err
			}
		}
	default:
		v, err := z.bySide.At(b, s)
		if err != nil {
			return err
		}
		for i := range want {
			want[i] = v
		}
	}
	for i := range want {
		want[i] = float64(float32(want[i]))
		if !(math.Abs(want[i]) <= math.MaxInt32) {
			return &errs.Error{Kind: errs.Invalid, Subject: "size", Want: "a number of pixels", Got: fmt.Sprint(want[i])}
		}
	}
	return nil
}

// sizeLimits is the argument max_size.
type sizeLimits struct {
	given []float64
	same  [maxRank]float64 // used if one value stands for all axes
}

func readLimits(c *op.Config) sizeLimits {
	var l sizeLimits
	for _, v := range op.Get[[]float64](c, "max_size") {
		l.given = append(l.given, float64(float32(v)))
	}
	if len(l.given) == 1 {
		for i := range l.same {
			l.same[i] = l.given[0]
		}
	}
	return l
}

// of returns the largest extents of n axes, or nil.
func (l *sizeLimits) of(n int) ([]float64, error) {
	switch len(l.given) {
	case 0, n:
		return l.given, nil
	case 1:
		return l.same[:n], nil
	}
	return nil, &errs.Error{Kind: errs.Invalid, Subject: "argument max_size", Want: fmt.Sprintf("1 or %d values", n), Got: fmt.Sprint(l.given)}
}

// leastROI is the least extent in pixels of a part that is resized.
const leastROI = float32(1e-3)

// at computes the part of sample s that is resized. in holds the extents of the image.
func (r *roi) at(b *op.Block, s int, in []int, lo, hi []float64) error {
	for i := range in {
		lo[i], hi[i] = 0, float64(in[i])
	}
	if !r.given {
		return nil
	}
	for _, edge := range [...]struct {
		name   string
		vector *op.Vector[float64]
		to     []float64
	}{{"roi_start", &r.start, lo}, {"roi_end", &r.end, hi}} {
		var buf [maxRank]float64
		v, err := edge.vector.At(b, s, buf[:])
		if err != nil {
			return err
		}
		if len(v) != len(in) && len(v) != 1 {
			return &errs.Error{Kind: errs.Invalid, Subject: "argument " + edge.name, Want: fmt.Sprintf("1 or %d values", len(in)), Got: fmt.Sprint(len(v))}
		}
		for i := range edge.to {
			edge.to[i] = float64(float32(v[i%len(v)]))
			if r.relative {
				edge.to[i] = float64(float32(v[i%len(v)]) * float32(in[i]))
			}
			if !(math.Abs(edge.to[i]) <= 1e9) {
				return &errs.Error{Kind: errs.Invalid, Subject: "argument " + edge.name, Want: "a position", Got: fmt.Sprint(edge.to[i])}
			}
		}
	}
	for i := range lo {
		widen(&lo[i], &hi[i])
	}
	return nil
}

// widen makes a part larger if it is too small to compute with.
func widen(lo, hi *float64) {
	from, to := float32(*lo), float32(*hi)
	if d := to - from; d > -leastROI && d < leastROI {
		mid, half := (from+to)/2, leastROI/2
		if d < 0 {
			half = -half
		}
		*lo, *hi = float64(mid-half), float64(mid+half)
	}
}

// sizing says how sizes become targets.
type sizing struct {
	mode     scaleMode
	limits   []float64 // largest extents, or nil
	subpixel bool
	round    func(float64) float64 // of sizes
	align    []float64             // the fixed point of each part when the part is adjusted to a rounded size; nil: its middle
}

// targets computes the targets of axes with the requested sizes want, for the part from lo to hi.
func (z sizing) targets(out []target, want, lo, hi []float64, in []int) []target {
	var extent [maxRank]float64
	empty := false
	for i := range want {
		if extent[i] = float64(float32(hi[i]) - float32(lo[i])); extent[i] < 0 {
			lo[i], hi[i], extent[i], want[i] = hi[i], lo[i], -extent[i], -want[i]
		}
		empty = empty || in[i] == 0
	}
	adjustSizes(want, extent[:len(want)], z.limits, z.mode)
	for i, w := range want {
		size := z.round(math.Abs(w))
		if !empty {
			size = max(1, size)
		}
		from, to := lo[i], hi[i]
		if w < 0 {
			from, to = to, from
		}
		if asked := math.Abs(w); z.subpixel && asked != size {
			grow := 10.0
			if asked > 0 {
				grow = min(grow, size/asked)
			}
			at := 0.5
			if z.align != nil {
				at = z.align[i]
			}
			fixed := from + (to-from)*at
			from = min(max(fixed+(from-fixed)*grow, -1e9), 1e9)
			to = min(max(fixed+(to-fixed)*grow, -1e9), 1e9)
		}
		out = append(out, target{size: int(size), lo: float64(float32(from)), hi: float64(float32(to))})
	}
	return out
}

// adjustSizes fills in sizes that are missing in want, and applies the mode and the limits.
func adjustSizes(want, in, limits []float64, mode scaleMode) {
	var scale [maxRank]float64
	var given [maxRank]bool
	count := 0
	for i := range want {
		given[i] = want[i] != 0 && in[i] != 0
		if scale[i] = 1; in[i] != 0 {
			scale[i] = float64(float32(want[i]) / float32(in[i]))
		}
		if given[i] {
			count++
		}
	}
	if count == 0 {
		copy(want, in)
		return
	}
	switch mode {
	case scaleDefault, scaleStretch:
		mean := 1.0
		if mode == scaleDefault && count < len(want) {
			for i := range want {
				if given[i] {
					mean *= math.Abs(scale[i])
				}
			}
			if count > 1 {
				mean = math.Pow(mean, 1/float64(count))
			}
		}
		for i := range want {
			if !given[i] {
				want[i] = float64(float32(in[i] * mean))
			}
			if limits != nil && limits[i] > 0 && math.Abs(want[i]) > limits[i] {
				want[i] = math.Copysign(limits[i], want[i])
			}
		}
	default:
		common := commonScale(scale[:len(want)], given[:len(want)], in, limits, mode)
		for i := range want {
			if !given[i] || math.Abs(scale[i]) != common {
				want[i] = float64(float32(in[i] * math.Copysign(common, scale[i])))
			}
		}
	}
}

// commonScale returns the largest or smallest scale, within the limits.
func commonScale(scale []float64, given []bool, in, limits []float64, mode scaleMode) float64 {
	common := -1.0
	for i, s := range scale {
		if s = math.Abs(s); given[i] && (common < 0 || mode == scaleNotSmaller && s > common || mode == scaleNotLarger && s < common) {
			common = s
		}
	}
	for i := range limits {
		if limits[i] > 0 && in[i] > 0 {
			common = min(common, limits[i]/in[i])
		}
	}
	return common
}
