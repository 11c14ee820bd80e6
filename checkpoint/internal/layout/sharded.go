package layout

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/dcp"
	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// The safetensors writer of torch.distributed.checkpoint writes a file for each rank. A file holds
// parts of tensors, and its header says where they begin:
//
//	"DCP_SHARDING_INFO": "{\"w\":{\"saved_offsets\":[2,0]}, …}"
//
// No file says how large a whole tensor is: it ends where its last part ends. So a lost file at the
// end of a tensor is not noticed, unless the caller says the shape.

const (
	shardingKey     = "DCP_SHARDING_INFO"
	shardingVersion = "DCP_VERSION"
)

// shard is a part of a tensor in a file of safetensors.
type shard struct {
	model *safetensors.Model
	name  string
	size  int // of an element
}

// fillShards makes the leaves of tensors whose parts lie in several files.
func (c *Checkpoint) fillShards(ctx context.Context, t *OpenTree) error {
	type whole struct {
		dtype  tensor.DType
		shape  tensor.Shape
		parts  []*part
		chunks []dcp.Chunk
	}
	all, names := map[string]*whole{}, []string(nil)
	for _, file := range c.parts {
		m, err := safetensors.Open(ctx, t.files, file, safetensors.Options{OverRead: c.opts.OverRead,
			MaxRead: c.opts.ReadBytes})
		if err == nil {
			err = noneTwice(m, file)
		}
		if err != nil {
			return err
		}
		origins, err := originsIn(m, file)
		if err != nil {
			return err
		}
		for _, e := range m.Entries() {
			spec, err := e.Spec()
			if err != nil {
				return err
			}
			fail := func(want, got string) error {
				return &errs.Error{Kind: errs.Corrupt, Subject: file + ": tensor " + strconv.Quote(e.Name), Want: want, Got: got}
			}
			origin, known := origins[e.Name]
			if !known {
				origin = make([]int, len(spec.Shape))
			}
			w := all[e.Name]
			if w == nil {
				w = &whole{dtype: spec.DType, shape: make(tensor.Shape, len(spec.Shape))}
				all[e.Name], names = w, append(names, e.Name)
			}
			if w.dtype != spec.DType || len(origin) != len(spec.Shape) || len(w.shape) != len(spec.Shape) {
				return fail("parts of one type and rank", spec.DType.String()+spec.Shape.String())
			}
			for i, n := range spec.Shape {
				if origin[i] < 0 || origin[i]+n < 0 {
					return fail("offsets of at least 0", strconv.Itoa(origin[i]))
				}
				w.shape[i] = max(w.shape[i], origin[i]+n)
			}
			box := zarr.Box{Origin: origin, Shape: spec.Shape}
			w.parts = append(w.parts, &part{box, shard{m, e.Name, spec.DType.Size()}})
			w.chunks = append(w.chunks, dcp.Chunk{Origin: origin, Shape: spec.Shape, File: file})
		}
	}
	for _, name := range names {
		w := all[name]
		_, err := w.shape.Bytes(w.dtype)
		if err == nil && w.shape.Len() > 0 {
			err = dcp.Tiles(w.shape, w.chunks)
		}
		l := Leaf{Path: tree.Path{{Name: name, Kind: tree.KeyDict}}, Param: name, Kind: Array, Form: &Form{}}
		if err != nil {
			if err := t.tolerate(&l, errs.Wrap("", "tensor "+strconv.Quote(name), err)); err != nil {
				return err
			}
		} else {
			a := newTiled(w.shape, w.dtype.Size(), w.parts, false, false)
			l.array, l.Form = a, a.form(w.dtype)
			l.ValueType = ""
		}
		t.Leaves = append(t.Leaves, l)
	}
	return nil
}

// originsIn returns where the tensors of a file begin.
func originsIn(m *safetensors.Model, file string) (map[string][]int, error) {
	out := map[string][]int{}
	for _, p := range m.Parts() {
		text, ok := p.Header.Metadata[shardingKey]
		if !ok {
			continue
		}
		var info map[string]struct {
			Offsets []int `json:"saved_offsets"`
		}
		if err := json.Unmarshal([]byte(text), &info); err != nil {
			return nil, &errs.Error{Kind: errs.Corrupt, Subject: file, Want: "the metadata " + shardingKey, Err: err}
		}
		for name, at := range info {
			out[name] = at.Offsets
		}
	}
	return out, nil
}

// read implements partSource.
func (s shard) read(ctx context.Context, p *part, region, box zarr.Box, dst []byte, _ bool, w *worker) error {
	rel := p.relative(region)
	if run, ok := box.Run(region, s.size); ok {
		return s.model.ReadBox(ctx, s.name, rel.Origin, rel.Shape, dst[run.Offset:run.Offset+run.Length])
	}
	b := w.take(&w.whole, region.Len()*s.size)
	if err := s.model.ReadBox(ctx, s.name, rel.Origin, rel.Shape, b); err != nil {
		return err
	}
	zarr.CopyBox(box, dst, region, b, s.size)
	return nil
}

// check implements partSource: there is no checksum.
func (s shard) check(context.Context, *part, zarr.Box, []byte) error { return nil }

// prove implements partSource: there is no checksum.
func (s shard) prove(context.Context, *part, *worker) error { return nil }
