package segmentation

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "random_object_bbox", Module: module,
		Doc: "Draws an object of a mask and returns the box around it. It draws a class, then one of the connected blobs of this class. " +
			"A mask without a suitable blob, and a sample that is not drawn as foreground, have the whole mask as their box.",
		Inputs: []op.Port{{Name: "mask", Doc: "a label for each pixel, of 1 to 6 axes", DTypes: maskTypes}},
		Outputs: []op.Port{
			{Name: "start", Doc: `start of the box along every axis, int32; with format "box" its starts and its ends`},
			{Name: "extent", Doc: `size of the box, or with format "start_end" its end; not with format "box"`},
			{Name: "class", Doc: "with output_class: the label of the object, or of the background"},
		},
		Params: []op.Parameter{
			{Name: "background", Type: op.Int, Default: 0, PerSample: true, Doc: "The label of the background. By default 0, or a label that is not in classes."},
			{Name: "cache_objects", Type: op.Bool, Default: false, Tuning: true, Doc: "Accepted, but has no effect: blobs are found in one pass over the mask."},
			{Name: "class_weights", Type: op.Floats, PerSample: true, Doc: "How likely each class is, relative to the others. Without classes, they are for the labels from 0 on, without the background."},
			{Name: "classes", Type: op.Ints, PerSample: true, Doc: "The labels of objects. By default all labels but the background."},
			{Name: "foreground_prob", Type: op.Float, Default: 1.0, PerSample: true, Doc: "How likely it is that an object is drawn."},
			{Name: "format", Type: op.String, Default: "anchor_shape", Doc: `What is returned: "anchor_shape", "start_end" or "box".`},
			{Name: "ignore_class", Type: op.Bool, Default: false, Doc: "Whether all blobs are equally likely, whatever their class. Not together with classes, class_weights and output_class."},
			{Name: "k_largest", Type: op.Int, Doc: "Number of the largest boxes among which one is drawn. By default all."},
			{Name: "output_class", Type: op.Bool, Default: false, Doc: "Whether the class is one more output."},
			{Name: "threshold", Type: op.Ints, PerSample: true, Doc: "The least size of a box along each axis, or one number for all axes. Smaller boxes do not count."},
			seedParam,
		},
		Random: true,
		OutputCount: func(c *op.Config) (int, error) {
			n := 2
			if op.Get[string](c, "format") == "box" {
				n = 1
			}
			if op.Get[bool](c, "output_class") {
				n++
			}
			return n, nil
		},
		New: newObjectBox,
	})
}

type objectBox struct {
	config                         *op.Config
	format                         string
	ignore, class                  bool
	largest                        int // 0: all
	background                     op.Scalar[int]
	fixed                          bool // the background was given
	classes, threshold             op.Vector[int]
	weights                        op.Vector[float64]
	probability                    op.Scalar[float64]
	hasClasses, hasWeights, bounds bool
}

func newObjectBox(c *op.Config) (op.Kernel, error) {
	k := &objectBox{
		config: c, format: op.Get[string](c, "format"), ignore: op.Get[bool](c, "ignore_class"), class: op.Get[bool](c, "output_class"),
		largest: op.Get[int](c, "k_largest"), background: op.GetScalar[int](c, "background"), fixed: c.Given("background"),
		classes: op.GetVector[int](c, "classes"), threshold: op.GetVector[int](c, "threshold"), weights: op.GetVector[float64](c, "class_weights"),
		probability: op.GetScalar[float64](c, "foreground_prob"),
		hasClasses:  c.Has("classes"), hasWeights: c.Has("class_weights"), bounds: c.Has("threshold"),
	}
	if !slices.Contains([]string{"anchor_shape", "start_end", "box"}, k.format) {
		return nil, c.Invalid("format", `"anchor_shape", "start_end" or "box"`, fmt.Sprintf("%q", k.format), "")
	}
	if c.Given("k_largest") && k.largest < 1 {
		return nil, c.Invalid("k_largest", "1 or more", fmt.Sprint(k.largest), "")
	}
	if k.ignore && (k.hasClasses || k.hasWeights || k.class) {
		return nil, c.Invalid("ignore_class", "ignore_class, or classes, class_weights and output_class", "both", "")
	}
	return k, nil
}

func (k *objectBox) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if !slices.Contains(maskTypes, in[0].DType) || rank(in[0]) > mostAxes || rank(in[0]) == 0 {
		return nil, k.config.InvalidInput(0, "a mask of bools or of integers of up to 32 bits, of 1 to 6 axes",
			in[0].DType.String()+in[0].Shape.String(), "cast it")
	}
	one := tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{rank(in[0])}}
	out := []tensor.Spec{one, one}
	if k.format == "box" {
		if out = out[:1]; rank(in[0]) >= 0 {
			out[0].Shape = tensor.Shape{2 * rank(in[0])}
		}
	}
	if k.class {
		out = append(out, tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{}})
	}
	return out, nil
}

// chooser is a worker's state.
type chooser struct {
	drawer
	runs
	background         int32
	classes            []int32
	weights, sums      []float32
	list, least, lists []int
	floats             []float64
	order              []int32
	volumes            []int64
}

func (k *objectBox) Run(b *op.Block) error {
	c := op.PerWorker[chooser](b)
	return b.Each(func(s int) error { return k.sample(b, s, c) })
}

func (k *objectBox) sample(b *op.Block, s int, c *chooser) error {
	mask := b.In(0, s)
	axes := len(mask.Shape)
	if axes < 1 || axes > mostAxes || mask.Len() > math.MaxInt32 {
		return &errs.Error{Kind: errs.Invalid, Subject: "input mask",
			Want: "1 to 6 axes and fewer than 2^31 pixels", Got: mask.String()}
	}
	probability, err := k.probability.At(b, s)
	if err != nil {
		return err
	}
	if err := k.arguments(b, s, c, axes); err != nil {
		return err
	}
	c.begin(b, s)
	found, label := -1, c.background
	if libstdcxx.Canonical[float64](c.source) < float64(float32(probability)) && mask.Len() > 0 {
		found, label = k.choose(mask, c)
	}
	return k.write(b, s, mask.Shape, c, found, label)
}

// arguments reads the arguments of a sample: background, classes with weights, and threshold.
func (k *objectBox) arguments(b *op.Block, s int, c *chooser, axes int) error {
	background, err := k.background.At(b, s)
	if err != nil {
		return err
	}
	c.background, c.classes, c.weights, c.least = int32(background), c.classes[:0], c.weights[:0], c.least[:0]
	if k.hasClasses {
		if c.list, err = values(&k.classes, b, s, c.list); err != nil {
			return err
		}
		for _, label := range c.list {
			c.classes, c.weights = append(c.classes, int32(label)), append(c.weights, 1)
		}
		if slices.Contains(c.classes, c.background) {
			if k.fixed {
				return &errs.Error{Kind: errs.Invalid, Subject: "argument background",
					Want: "a label that is not in classes", Got: fmt.Sprint(c.background)}
			}
			c.background = other(c.classes)
		}
	}
	if k.hasWeights {
		if c.floats, err = values(&k.weights, b, s, c.floats); err != nil {
			return err
		}
		if k.hasClasses && len(c.floats) != len(c.classes) {
			return &errs.Error{Kind: errs.Mismatch, Subject: "argument class_weights",
				Want: fmt.Sprintf("%d numbers, as in classes", len(c.classes)), Got: fmt.Sprint(len(c.floats))}
		}
		c.weights = c.weights[:0]
		label := int32(0)
		for _, w := range c.floats {
			if c.weights = append(c.weights, float32(w)); k.hasClasses {
				continue
			}
			if label == c.background {
				label++
			}
			c.classes = append(c.classes, label)
			label++
		}
	}
	if k.bounds {
		if c.lists, err = values(&k.threshold, b, s, c.lists); err != nil {
			return err
		}
		for axis := range axes {
			switch len(c.lists) {
			case 1:
				c.least = append(c.least, c.lists[0])
			case axes:
				c.least = append(c.least, c.lists[axis])
			default:
				return &errs.Error{Kind: errs.Mismatch, Subject: "argument threshold",
					Want: fmt.Sprintf("%d numbers, or one", axes), Got: fmt.Sprint(len(c.lists))}
			}
		}
	}
	return nil
}

// values returns a copy of the values of a sample in the memory of buf.
func values[T int | float64](p *op.Vector[T], b *op.Block, s int, buf []T) ([]T, error) {
	v, err := p.At(b, s, buf)
	if _, constant := p.Const(); constant && err == nil {
		v = append(buf[:0], v...)
	}
	return v, err
}

// other returns a label that is not in classes.
func other(classes []int32) int32 {
	if least := slices.Min(classes); least > math.MinInt32 {
		return least - 1
	}
	free := int32(math.MaxInt32)
	for slices.Contains(classes, free) {
		free--
	}
	return free
}

// choose draws an object. found is the number of its box, or -1 if no blob suits.
func (k *objectBox) choose(mask tensor.Tensor, c *chooser) (found int, label int32) {
	c.read(mask)
	if k.ignore {
		background := labelOf(mask.DType, c.background)
		n := c.blobs(mask.Shape, func(label int32) bool { return label != background })
		return k.pick(c, n, len(mask.Shape)), c.background
	}
	if !k.hasClasses && !k.hasWeights {
		for _, label := range c.labels {
			if label != c.background {
				c.classes, c.weights = append(c.classes, label), append(c.weights, 1)
			}
		}
	} else {
		for i, label := range c.classes {
			if _, there := slices.BinarySearch(c.labels, label); !there || label == c.background {
				c.weights[i] = 0
			}
		}
	}
	for {
		class, ok := c.drawClass()
		if !ok {
			return -1, c.background
		}
		want := c.classes[class]
		n := c.blobs(mask.Shape, func(label int32) bool { return label == want })
		if found := k.pick(c, n, len(mask.Shape)); found >= 0 {
			return found, want
		}
		c.weights[class] = 0 // no blob of this class suits
	}
}

// labelOf returns an argument as a label of a mask of the given dtype: its low bits. A bool is
// whether the argument is not zero. DALI does the same.
func labelOf(d tensor.DType, v int32) int32 {
	switch d {
	case tensor.Bool:
		return int32(min(uint32(v), 1))
	case tensor.Uint8:
		return int32(uint8(v))
	case tensor.Int8:
		return int32(int8(v))
	case tensor.Uint16:
		return int32(uint16(v))
	case tensor.Int16:
		return int32(int16(v))
	}
	return v
}

// drawClass draws a class. ok is false if no class has a weight.
func (c *chooser) drawClass() (class int, ok bool) {
	c.sums = c.sums[:0]
	sum := 0.0
	for _, w := range c.weights {
		sum += float64(w)
		c.sums = append(c.sums, float32(sum))
	}
	if !(sum > 0) {
		return 0, false
	}
	at := libstdcxx.Canonical[float64](c.source) * float64(c.sums[len(c.sums)-1])
	i := sort.Search(len(c.sums), func(i int) bool { return float64(c.sums[i]) >= at })
	for i < len(c.weights) && c.weights[i] == 0 {
		i++
	}
	return i, i < len(c.weights)
}

// pick draws one of n blobs among those that are large enough, and of these among the largest.
func (k *objectBox) pick(c *chooser, n, axes int) int {
	c.order, c.volumes = c.order[:0], c.volumes[:0]
	for i := range n {
		box, ok, volume := c.boxes[i*2*axes:], true, int64(1)
		for axis := range axes {
			extent := box[axes+axis] - box[axis]
			ok = ok && (len(c.least) == 0 || int(extent) >= c.least[axis])
			volume *= int64(extent)
		}
		if c.volumes = append(c.volumes, volume); ok {
			c.order = append(c.order, int32(i))
		}
	}
	if n = len(c.order); n == 0 {
		return -1
	}
	if k.largest > 0 && k.largest < n {
		sort.Stable(byVolume{c})
		n = k.largest
	}
	return int(c.order[libstdcxx.UniformInt(c.source, 0, int64(n-1))])
}

// byVolume sorts the blobs of order, the largest first.
type byVolume struct{ *chooser }

func (v byVolume) Len() int           { return len(v.order) }
func (v byVolume) Less(i, j int) bool { return v.volumes[v.order[i]] > v.volumes[v.order[j]] }
func (v byVolume) Swap(i, j int)      { v.order[i], v.order[j] = v.order[j], v.order[i] }

// write writes the box with a number, or the whole mask.
func (k *objectBox) write(b *op.Block, s int, shape tensor.Shape, c *chooser, found int, label int32) error {
	axes := len(shape)
	out, size := [2][]int32{}, axes
	if k.format == "box" {
		size *= 2
	}
	var err error
	if out[0], err = tensor.Of[int32](b.Out(0, s, size)); err != nil {
		return err
	}
	last := 1
	if k.format == "box" {
		out[0], out[1] = out[0][:axes], out[0][axes:]
	} else {
		if out[1], err = tensor.Of[int32](b.Out(1, s, axes)); err != nil {
			return err
		}
		last = 2
	}
	for axis, extent := range shape {
		lo, hi := int32(0), int32(extent)
		if found >= 0 {
			box := c.boxes[found*2*axes:]
			lo, hi = box[axis], box[axes+axis]
		}
		if out[0][axis], out[1][axis] = lo, hi; k.format == "anchor_shape" {
			out[1][axis] = hi - lo
		}
	}
	if !k.class {
		return nil
	}
	class, err := tensor.Of[int32](b.Out(last, s))
	if err == nil {
		class[0] = label
	}
	return err
}
