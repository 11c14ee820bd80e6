package decoders

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	s := inflateSchema()
	s.Module = []string{"decoders"}
	op.Register(s)
	s.Module, s.Deprecated = []string{"experimental"}, "use decoders.inflate"
	op.Register(s)
}

func inflateSchema() op.Schema {
	return op.Schema{
		Name: "inflate",
		Doc: "Decompresses data of a known shape. A sample is one compressed chunk, or several chunks one behind the other. " +
			"Several chunks make a tensor with one more axis, the first.",
		Inputs:  []op.Port{{Name: "compressed", Doc: "compressed bytes", DTypes: []tensor.DType{tensor.Uint8}}},
		Outputs: []op.Port{{Name: "inflated", Doc: "the data"}},
		Params: []op.Parameter{
			{Name: "algorithm", Type: op.String, Default: "LZ4", Doc: "How the data is compressed: LZ4, as blocks without a frame."},
			{Name: "check_output_size", Type: op.Bool, Default: false, Tuning: true, Doc: "Accepted, but has no effect: sizes are always checked."},
			{Name: "chunk_offsets", Type: op.Ints, PerSample: true, Doc: "Where each chunk begins. By default each chunk begins where the chunk before it ends."},
			{Name: "chunk_sizes", Type: op.Ints, PerSample: true, Doc: "Bytes of each chunk. By default each chunk ends where the next chunk begins."},
			{Name: "dtype", Type: op.DType, Default: tensor.Uint8, Doc: "Type of the data."},
			{Name: "layout", Type: op.String, Default: "", Doc: "Layout of a chunk after decompression."},
			{Name: "sequence_axis_name", Type: op.String, Default: "F", Doc: "The letter of the axis of chunks. It has no effect without a layout or without chunks."},
			{Name: "shape", Type: op.Ints, Required: true, PerSample: true, Doc: "Shape of a chunk after decompression."},
		},
		New: newInflate,
	}
}

type inflate struct {
	config                *op.Config
	dtype                 tensor.DType
	layout                string
	shape, offsets, sizes op.Vector[int]
	byOffset, bySize      bool
}

func newInflate(c *op.Config) (op.Kernel, error) {
	k := &inflate{config: c, dtype: op.Get[tensor.DType](c, "dtype"), layout: op.Get[string](c, "layout"),
		shape: op.GetVector[int](c, "shape"), offsets: op.GetVector[int](c, "chunk_offsets"), sizes: op.GetVector[int](c, "chunk_sizes"),
		byOffset: c.Has("chunk_offsets"), bySize: c.Has("chunk_sizes")}
	if a := op.Get[string](c, "algorithm"); a != "LZ4" {
		return nil, c.Unsupported("algorithm", "LZ4", fmt.Sprintf("%q", a))
	}
	axis := op.Get[string](c, "sequence_axis_name")
	if len(axis) != 1 {
		return nil, c.Invalid("sequence_axis_name", "one letter", fmt.Sprintf("%q", axis), "")
	}
	if !k.dtype.Valid() || k.dtype.Bits() < 8 {
		return nil, c.Unsupported("dtype", "a type whose elements are whole bytes", k.dtype.String())
	}
	if shape, constant := k.shape.Const(); constant && k.layout != "" && len(k.layout) != len(shape) {
		return nil, c.Invalid("layout", fmt.Sprintf("%d letters, as many as axes in shape", len(shape)),
			fmt.Sprintf("%q", k.layout), "")
	}
	if k.layout != "" && k.chunked() {
		k.layout = axis + k.layout
	}
	return k, nil
}

// chunked reports whether samples are several chunks.
func (k *inflate) chunked() bool { return k.byOffset || k.bySize }

// Infer implements op.Kernel.
func (k *inflate) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if in[0].DType != tensor.Uint8 {
		return nil, k.config.InvalidInput(0, "compressed bytes, uint8", in[0].DType.String(), "")
	}
	out := tensor.Spec{DType: k.dtype, Layout: k.layout}
	if shape, constant := k.shape.Const(); constant {
		out.Shape = tensor.Shape{}
		if k.chunked() {
			out.Shape = append(out.Shape, -1)
		}
		out.Shape = append(out.Shape, shape...)
	} else if k.layout != "" {
		for range len(k.layout) {
			out.Shape = append(out.Shape, -1)
		}
	}
	return []tensor.Spec{out}, checkEncoded(k.config, in[0])
}

// chunks is a worker's state: the arguments of a sample.
type chunks struct{ shape, offsets, sizes, full []int }

// Run implements op.Kernel.
func (k *inflate) Run(b *op.Block) error {
	c := op.PerWorker[chunks](b)
	return b.Each(func(s int) error { return k.sample(b, s, c) })
}

func (k *inflate) sample(b *op.Block, s int, c *chunks) error {
	data := b.In(0, s).Data
	if err := k.place(b, s, len(data), c); err != nil {
		return err
	}
	c.full = c.full[:0]
	if k.chunked() {
		c.full = append(c.full, len(c.offsets))
	}
	c.full = append(c.full, c.shape...)
	if k.layout != "" && len(k.layout) != len(c.full) {
		return &errs.Error{Kind: errs.Mismatch, Subject: "argument layout",
			Want: fmt.Sprintf("a letter for each axis of %v", c.full),
			Got:  fmt.Sprintf("%q", k.layout)}
	}
	size, err := tensor.Shape(c.shape).Bytes(k.dtype)
	if err != nil {
		return err
	}
	out := b.Out(0, s, c.full...).Data
	for i, from := range c.offsets {
		if err := inflateLZ4(out[i*size:(i+1)*size], data[from:from+c.sizes[i]]); err != nil {
			return errs.Wrap("", fmt.Sprintf("chunk %d", i), err)
		}
	}
	return nil
}

// place sets where the chunks of a sample of n bytes are.
func (k *inflate) place(b *op.Block, s, n int, c *chunks) (err error) {
	for _, list := range []struct {
		v   *op.Vector[int]
		dst *[]int
	}{{&k.shape, &c.shape}, {&k.offsets, &c.offsets}, {&k.sizes, &c.sizes}} {
		got, err := list.v.At(b, s, *list.dst)
		if err != nil {
			return err
		}
		if _, constant := list.v.Const(); constant {
			got = append((*list.dst)[:0], got...)
		}
		*list.dst = got
	}
	switch {
	case !k.chunked():
		c.offsets, c.sizes = append(c.offsets[:0], 0), append(c.sizes[:0], n)
	case !k.byOffset:
		at := 0
		for _, size := range c.sizes {
			c.offsets = append(c.offsets, at)
			at += max(size, 0)
		}
	case !k.bySize:
		for i, from := range c.offsets {
			end := n
			if i+1 < len(c.offsets) {
				end = c.offsets[i+1]
			}
			c.sizes = append(c.sizes, end-from)
		}
	}
	if len(c.offsets) != len(c.sizes) {
		return &errs.Error{Kind: errs.Mismatch, Subject: "argument chunk_sizes",
			Want: fmt.Sprintf("%d numbers, as in chunk_offsets", len(c.offsets)),
			Got:  fmt.Sprint(len(c.sizes))}
	}
	for i, from := range c.offsets {
		if size := c.sizes[i]; from < 0 || size < 1 || from > n || size > n-from {
			return &errs.Error{Kind: errs.Invalid, Subject: fmt.Sprintf("chunk %d", i),
				Want: fmt.Sprintf("a part of the %d bytes of the sample", n),
				Got:  fmt.Sprintf("%d bytes from %d on", size, from)}
		}
	}
	return nil
}
