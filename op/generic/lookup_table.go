package generic

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// largestKey is the largest index for which a lookup table can have an entry.
const largestKey = 65535

func init() {
	op.Register(op.Schema{
		Name:    "lookup_table",
		Doc:     "Replaces integers by their entries in a table.",
		Inputs:  []op.Port{{Name: "input", Doc: "integers"}},
		Outputs: []op.Port{{Name: "output", Doc: "the entries, in the shape of the input"}},
		Params: []op.Parameter{
			{Name: "default_value", Type: op.Float, Default: 0.0, Doc: "Value for integers that are not keys."},
			{Name: "dtype", Type: op.DType, Default: tensor.Float32, Doc: "Type of the output; values are converted like cast."},
			{Name: "keys", Type: op.Ints, Default: []int{}, Doc: "Keys from 0 to 65535. If a key occurs twice, its last value is used."},
			{Name: "output_dtype", Type: op.DType, Deprecated: "use dtype", Doc: "The older name of dtype."},
			{Name: "values", Type: op.Floats, Default: []float64{}, Doc: "The value of each key."},
		},
		New: newLookupTable,
	})
}

type lookupTable struct {
	config  *op.Config
	dtype   tensor.DType
	entries []byte // the entries of all keys up to the largest, then the default
	keys    int
}

func newLookupTable(c *op.Config) (op.Kernel, error) {
	keys, values := op.Get[[]int](c, "keys"), op.Get[[]float64](c, "values")
	if len(keys) != len(values) {
		return nil, c.Invalid("values", fmt.Sprintf("%d values, one for each key", len(keys)), fmt.Sprint(len(values)), "")
	}
	param := "dtype"
	if c.Given("output_dtype") {
		param = "output_dtype"
	}
	dtype, err := elementType(c, param)
	if err != nil {
		return nil, err
	}
	k := &lookupTable{config: c, dtype: dtype}
	for _, key := range keys {
		if key < 0 || key > largestKey {
			return nil, c.Invalid("keys", fmt.Sprintf("keys of 0 to %d", largestKey), fmt.Sprint(key), "")
		}
		k.keys = max(k.keys, key+1)
	}
	table := make([]float32, k.keys+1)
	for i := range table {
		table[i] = float32(op.Get[float64](c, "default_value"))
	}
	for i, key := range keys {
		table[key] = float32(values[i])
	}
	out := tensor.New(dtype, len(table))
	k.entries = out.Data
	return op.Each(k), element.Convert(out, tensor.FromSlice(table))
}

func (k *lookupTable) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if d := in[0].DType; !element.Known(d) || !d.IsInteger() {
		return nil, k.config.InvalidInput(0, "integers of 8 to 64 bits", d.String(), "cast it")
	}
	out := in[0]
	out.DType = k.dtype
	return []tensor.Spec{out}, nil
}

func (k *lookupTable) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	if err := size(in.Shape, k.dtype); err != nil {
		return err
	}
	return k.look(b.Out(0, s, in.Shape...), in)
}

func (k *lookupTable) look(out, in tensor.Tensor) error {
	switch k.dtype.Size() {
	case 1:
		return lookFrom[uint8](k, out.Data, in)
	case 2:
		return lookFrom[uint16](k, out.Data, in)
	case 4:
		return lookFrom[uint32](k, out.Data, in)
	}
	return lookFrom[uint64](k, out.Data, in)
}

func lookFrom[T any](k *lookupTable, out []byte, in tensor.Tensor) error {
	look := element.Pick(in.DType, look[T, uint8], look[T, int8], look[T, uint16], look[T, int16],
		look[T, uint32], look[T, int32], look[T, uint64], look[T, int64], nil, nil)
	return look(k, out, in)
}

// look copies entries as bits of type T. As an unsigned number, a negative index is a large index.
func look[T any, S op.Integer](k *lookupTable, out []byte, in tensor.Tensor) error {
	indices, err := tensor.Of[S](in)
	if err != nil {
		return err
	}
	dst, table := element.View[T](out), element.View[T](k.entries)
	other := table[k.keys]
	for i, v := range indices {
		if uint64(v) < uint64(k.keys) {
			dst[i] = table[v]
		} else {
			dst[i] = other
		}
	}
	return nil
}
