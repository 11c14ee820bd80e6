package geometry

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// coordTypes returns the dtypes of coordinates.
func coordTypes() []tensor.DType {
	return []tensor.DType{tensor.Uint8, tensor.Uint16, tensor.Int16, tensor.Int32, tensor.Float32}
}

func init() {
	matrixDoc := " is one number, which multiplies all coordinates, or a matrix row by row with one column per coordinate"
	op.Register(op.Schema{
		Name:    "coord_transform",
		Doc:     "Multiplies points by a matrix and adds an offset: M * x + T, in float32; integers are rounded half away from zero and saturated.",
		Inputs:  []op.Port{{Name: "points", Doc: "points; the last axis holds the coordinates", DTypes: coordTypes()}},
		Outputs: []op.Port{{Name: "output", Doc: "the points, with one coordinate per row of the matrix"}},
		Params: []op.Parameter{
			{Name: "M", Type: op.Floats, PerSample: true, PerFrame: true,
				Doc: "The matrix; by default the identity. It" + matrixDoc + "."},
			{Name: "MT", Type: op.Floats, PerSample: true, PerFrame: true,
				Doc: "Matrix and offset together, in place of M and T. It" + matrixDoc + " and one more column, the " +
					"offset."},
			{Name: "T", Type: op.Floats, PerSample: true, PerFrame: true,
				Doc: "The offset: a number for each row of the matrix, or one for all."},
			{Name: "dtype", Type: op.DType, Default: tensor.Float32, Doc: "Type of the output: float32 or the input's type."},
		},
		Precision: op.Tolerance,
		Spread:    true,
		New:       newCoordTransform,
	})
}

type coordTransform struct {
	config   *op.Config
	matrix   vector
	combined bool // matrix has the offset as its last column
	offset   vector
	dtype    tensor.DType
}

func newCoordTransform(c *op.Config) (op.Kernel, error) {
	k := &coordTransform{config: c, matrix: readVector(c, "M"), offset: readVector(c, "T"), dtype: op.Get[tensor.DType](c, "dtype")}
	if c.Given("MT") {
		if k.matrix.given || k.offset.given {
			return nil, c.Invalid("MT", "MT, or M and T", "both", "leave out MT, or M and T")
		}
		k.matrix, k.combined = readVector(c, "MT"), true
	}
	return op.Each(k), nil
}

func (k *coordTransform) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if !slices.Contains(coordTypes(), in[0].DType) {
		return nil, k.config.InvalidInput(0, fmt.Sprint(coordTypes()), in[0].DType.String(), "cast it")
	}
	if k.dtype != tensor.Float32 && k.dtype != in[0].DType {
		return nil, k.config.Unsupported("dtype", "float32 or the type of the input, "+in[0].DType.String(), k.dtype.String())
	}
	out := in[0]
	out.DType = k.dtype
	if in[0].Shape == nil {
		return []tensor.Spec{out}, nil
	}
	if len(in[0].Shape) < 2 {
		return nil, k.config.InvalidInput(0, "data of two axes or more", in[0].Shape.String(), "")
	}
	out.Shape = slices.Clone(in[0].Shape)
	last := len(out.Shape) - 1
	columns := out.Shape[last]
	out.Shape[last] = -1
	if columns >= 0 && k.matrix.constant() && k.offset.constant() {
		var p points
		if err := k.read(nil, 0, columns, &p); err != nil {
			return nil, k.config.Invalid(subject(err), "a transform of the coordinates", err.Error(), "")
		}
		out.Shape[last] = p.rows
	}
	return []tensor.Spec{out}, nil
}

// points is a transform of points. It may change the number of coordinates.
type points struct {
	rows, columns int
	matrix        [mostDims * mostDims]float32
	offset        [mostDims]float32
}

// read reads the transform of points with the given number of coordinates.
func (k *coordTransform) read(b *op.Block, s, columns int, p *points) error {
	if columns < 1 || columns > mostDims {
		return &errs.Error{Kind: errs.Invalid, Want: fmt.Sprintf("points of 1 to %d coordinates", mostDims), Got: fmt.Sprint(columns)}
	}
	*p = points{rows: columns, columns: columns}
	if err := k.readMatrix(b, s, p); err != nil {
		return err
	}
	if !k.offset.given {
		return nil
	}
	var offset [mostDims * mostDims]float32
	if err := k.offset.each(b, s, p.rows, &offset); err != nil {
		return err
	}
	copy(p.offset[:], offset[:])
	return nil
}

func (k *coordTransform) readMatrix(b *op.Block, s int, p *points) error {
	if !k.matrix.given {
		return p.multiply(1)
	}
	if i, ok := k.config.ArgumentInput(k.matrix.name); ok {
		if shape := b.Arg(i, s).Shape; len(shape) == 2 && shape[1] != p.columns+btoi(k.combined) {
			return &errs.Error{Kind: errs.Mismatch, Subject: k.matrix.name, Want: fmt.Sprintf("a matrix of %d columns", p.columns+btoi(k.combined)), Got: shape.String()}
		}
	}
	var buf [mostDims * (mostDims + 1)]float64
	values, err := k.matrix.values.At(b, s, buf[:0])
	if err != nil {
		return err
	}
	columns := p.columns + btoi(k.combined)
	switch {
	case len(values) == 1:
		return p.multiply(float32(values[0]))
	case len(values) == 0 || len(values)%columns != 0 || len(values)/columns > mostDims:
		return k.matrix.wrong(fmt.Sprintf("1 to %[2]d rows of %[1]d values", columns, mostDims), len(values))
	}
	p.rows = len(values) / columns
	for i := range p.rows {
		row := values[i*columns : (i+1)*columns]
		for j := range p.columns {
			p.matrix[i*p.columns+j] = float32(row[j])
		}
		if k.combined {
			p.offset[i] = float32(row[p.columns])
		}
	}
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// multiply makes p multiply all coordinates by v.
func (p *points) multiply(v float32) error {
	for i := range p.rows {
		p.matrix[i*p.columns+i] = v
	}
	return nil
}

func (k *coordTransform) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	if len(in.Shape) < 2 {
		return &errs.Error{Kind: errs.Mismatch, Want: "data of two axes or more", Got: in.String()}
	}
	last := len(in.Shape) - 1
	var p points
	if err := k.read(b, s, in.Shape[last], &p); err != nil {
		return err
	}
	var buf [8]int
	shape := append(append(tensor.Shape(buf[:0]), in.Shape[:last]...), p.rows)
	if _, err := shape.Bytes(tensor.Float32); err != nil {
		return err
	}
	floats, err := element.Floats(b, in)
	if err != nil {
		return err
	}
	out := b.Out(0, s, shape...)
	if k.dtype == tensor.Float32 {
		p.apply(element.View[float32](out.Data), floats)
		return nil
	}
	moved := op.Scratch[float32](b, shape.Len())
	p.apply(moved, floats)
	return element.Convert(out, tensor.Tensor{DType: tensor.Float32, Shape: shape, Data: element.Bytes(moved)})
}

// apply transforms points one after the other.
func (p *points) apply(out, in []float32) {
	for ; len(out) >= p.rows && len(in) >= p.columns; out, in = out[p.rows:], in[p.columns:] {
		for i := range p.rows {
			var v float32
			for j, m := range p.matrix[i*p.columns : (i+1)*p.columns] {
				v += float32(m * in[j])
			}
			out[i] = v + p.offset[i]
		}
	}
}
