package segmentation

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "select_masks", Module: module,
		Doc: "Chooses masks that are polygons by their numbers. The masks come out in the order in which they were chosen. " +
			"If several polygons have one number, the last one is the mask.",
		Inputs: []op.Port{
			{Name: "mask_ids", Doc: "the numbers of the masks, each at most once", DTypes: []tensor.DType{tensor.Int32}},
			{Name: "polygons", Doc: "for each polygon the number of its mask, its first vertex, and the vertex after its last", DTypes: []tensor.DType{tensor.Int32}},
			{Name: "vertices", Doc: "a row of coordinates for each vertex"},
		},
		Outputs: []op.Port{
			{Name: "chosen", Doc: "the polygons of the chosen masks"},
			{Name: "chosen_vertices", Doc: "their vertices"},
		},
		Params: []op.Parameter{
			{Name: "reindex_masks", Type: op.Bool, Default: false, Doc: "Whether masks get their places in mask_ids as new numbers."},
		},
		New: func(c *op.Config) (op.Kernel, error) {
			return op.Each(&selectMasks{config: c, reindex: op.Get[bool](c, "reindex_masks")}), nil
		},
	})
}

type selectMasks struct {
	config  *op.Config
	reindex bool
}

func (k *selectMasks) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	for i, axes := range []int{1, 2, 2} {
		if i < 2 && in[i].DType != tensor.Int32 || rank(in[i]) >= 0 && rank(in[i]) != axes {
			return nil, k.config.InvalidInput(i, []string{"int32 numbers", "int32 rows of 3 numbers",
				"rows of coordinates"}[i], in[i].DType.String()+in[i].Shape.String(), "")
		}
	}
	n, dims := -1, -1
	if in[0].Shape != nil {
		n = in[0].Shape[0]
	}
	if in[2].Shape != nil {
		dims = in[2].Shape[1]
	}
	return []tensor.Spec{{DType: tensor.Int32, Shape: tensor.Shape{n, 3}},
		{DType: in[2].DType, Shape: tensor.Shape{-1, dims}}}, nil
}

func (k *selectMasks) Sample(b *op.Block, s int) error {
	ids, err := tensor.Of[int32](b.In(0, s))
	if err != nil {
		return err
	}
	polygons, vertices := b.In(1, s), b.In(2, s)
	if len(polygons.Shape) != 2 || polygons.Shape[1] != 3 || len(vertices.Shape) != 2 || len(b.In(0, s).Shape) != 1 {
		return &errs.Error{Kind: errs.Mismatch, Subject: "inputs", Want: "a list, rows of 3 numbers, and rows of coordinates",
			Got: b.In(0, s).String() + ", " + polygons.String() + ", " + vertices.String()}
	}
	table, err := tensor.Of[int32](polygons)
	if err != nil {
		return err
	}
	st := op.PerWorker[places](b)
	if err := st.find(ids, table, vertices.Shape[0]); err != nil {
		return err
	}
	out, err := tensor.Of[int32](b.Out(0, s, len(ids), 3))
	if err != nil {
		return err
	}
	total := int64(0)
	for i, id := range ids {
		row := table[st.row[id]:][:3]
		if out[3*i] = id; k.reindex {
			out[3*i] = int32(i)
		}
		out[3*i+1] = int32(total)
		if total += int64(row[2] - row[1]); total > math.MaxInt32 {
			return &errs.Error{Kind: errs.Exhausted, Subject: "output chosen_vertices",
				Want: fmt.Sprintf("at most %d vertices, which an int32 counts", math.MaxInt32), Got: "more",
				Remedy: "choose fewer masks"}
		}
		out[3*i+2] = int32(total)
	}
	chosen := b.Out(1, s, int(total), vertices.Shape[1]).Data
	size := vertices.Shape[1] * vertices.DType.Size()
	for _, id := range ids {
		row := table[st.row[id]:][:3]
		chosen = chosen[copy(chosen, vertices.Data[int(row[1])*size:int(row[2])*size]):]
	}
	return nil
}

// places says where the chosen polygons are. A worker reuses it.
type places struct {
	row map[int32]int // of each chosen number its last polygon in the table
}

// find looks for all chosen polygons. It returns an error if a number comes twice or does not
// exist, or if a chosen polygon has vertices that do not exist.
func (p *places) find(ids, table []int32, vertices int) error {
	if p.row == nil {
		p.row = map[int32]int{}
	}
	clear(p.row)
	for _, id := range ids {
		if _, twice := p.row[id]; twice {
			return &errs.Error{Kind: errs.Invalid, Subject: "input mask_ids", Want: "each number once",
				Got: fmt.Sprintf("%d twice", id)}
		}
		p.row[id] = -1
	}
	for r := 0; r < len(table); r += 3 {
		id, from, to := table[r], table[r+1], table[r+2]
		if _, chosen := p.row[id]; !chosen {
			continue
		}
		if from < 0 || to < from || int(to) > vertices {
			return &errs.Error{Kind: errs.Invalid, Subject: fmt.Sprintf("input polygons, mask %d", id),
				Want: fmt.Sprintf("vertices within the %d that there are, the first before the last", vertices),
				Got:  fmt.Sprintf("%d to %d", from, to)}
		}
		p.row[id] = r
	}
	for _, id := range ids {
		if p.row[id] < 0 {
			return &errs.Error{Kind: errs.Invalid, Subject: "input mask_ids", Want: "numbers of masks in polygons",
				Got: fmt.Sprint(id)}
		}
	}
	return nil
}
