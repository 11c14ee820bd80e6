package layout

import (
	"context"
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/flax"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// A checkpoint of Flax is one file, checkpoint_<step> or *.msgpack, with the whole tree. Orbax
// before 2023 wrote such a file, named checkpoint, beside the arrays: there the larger arrays are
// "PLACEHOLDER://<parameter>", and lie in zarr directories or an OCDBT database. Neither has
// checksums.

const (
	flaxFile    = "checkpoint"
	flaxSuffix  = ".msgpack"
	placeholder = "PLACEHOLDER://"
)

// isFlax reports whether the file has a name that Flax gives.
func isFlax(name string) bool {
	step, ok := strings.CutPrefix(name, flaxFile+"_")
	return name == flaxFile || strings.HasSuffix(name, flaxSuffix) || ok && step != "" &&
		strings.Trim(step, "0123456789") == ""
}

// flax returns the name of the file, which lies alone or beside arrays, or "" if there is no such
// file.
func (e entries) flax() string {
	if e.file(flaxFile) {
		return flaxFile
	}
	for n, dir := range e {
		if len(e) == 1 && !dir && isFlax(n) {
			return n
		}
	}
	return ""
}

func (c *Checkpoint) flaxTree(ctx context.Context, _ Item) (*OpenTree, error) {
	b, err := store.ReadAll(ctx, c.st, c.path(c.parts[0]))
	if err != nil {
		return nil, err
	}
	root, err := flax.Parse(b)
	if err != nil {
		return nil, errs.Wrap("", c.path(c.parts[0]), err)
	}
	t := &OpenTree{files: newFiles(c, "")}
	if err := c.fillFlax(ctx, t, tree.Flatten(root)); err != nil {
		return nil, errs.Wrap("", c.path(c.parts[0]), joinClose(err, t))
	}
	return t, nil
}

func (c *Checkpoint) fillFlax(ctx context.Context, t *OpenTree, entries []tree.Entry) error {
	if err := tree.Collisions(entries); err != nil {
		return err
	}
	_, err := c.st.Stat(ctx, c.path("manifest.ocdbt"))
	t.UseOCDBT = err == nil
	var (
		values *stored
		arrays *zarr.Opener
	)
	t.Leaves = make([]Leaf, len(entries))
	for i, e := range entries {
		l := &t.Leaves[i]
		*l = Leaf{Path: e.Path, Param: e.Path.Param(), Form: new(Form)}
		param, elsewhere := elsewhere(e.Node)
		if !elsewhere {
			if err := l.fromMemory(e.Node); err != nil {
				return errs.Wrap("", e.Path.String(), err)
			}
			continue
		}
		if values == nil {
			if values, err = c.openStored(ctx, t, true); err != nil {
				return err
			}
			arrays = zarr.NewOpener(values.values)
		}
		l.Kind, l.Param, l.ValueType = Array, param, orbax.TypeNumpy
		if err := c.openArray(ctx, t, l, values, arrays); err != nil {
			return err
		}
	}
	return nil
}

// elsewhere returns the parameter that a leaf refers to; ok is false if it refers to none.
func elsewhere(n *tree.Node) (param string, ok bool) {
	s, _ := n.Value.(string)
	return strings.CutPrefix(s, placeholder)
}

// fromMemory makes a leaf from a value in the file itself.
func (l *Leaf) fromMemory(n *tree.Node) error {
	l.ValueType = orbax.TypeScalar
	switch v := n.Value.(type) {
	case tensor.Tensor:
		l.Kind, l.ValueType = Array, orbax.TypeNumpy
		l.setMemory(v)
	case bool:
		l.setMemory(tensor.ScalarOf(v))
	case int64:
		l.setMemory(tensor.ScalarOf(v))
	case uint64:
		l.setMemory(tensor.ScalarOf(v))
	case float64:
		l.setMemory(tensor.ScalarOf(v))
	case string:
		l.Kind, l.ValueType, l.Text = String, orbax.TypeString, v
	case nil:
		l.Kind, l.ValueType = emptyKinds[n.Kind], orbax.TypeNone
	default:
		return &errs.Error{Kind: errs.Unsupported, Got: fmt.Sprintf("a leaf of type %T", v)}
	}
	return nil
}

var emptyKinds = map[tree.Kind]Kind{tree.Leaf: None, tree.Dict: EmptyDict, tree.List: EmptyList, tree.Tuple: EmptyTuple}

func (l *Leaf) setMemory(t tensor.Tensor) {
	if l.ValueType == orbax.TypeScalar {
		l.Kind = Scalar
	}
	l.DType, l.Shape, l.ChunkShape, l.ReadShape, l.array = t.DType, t.Shape, t.Shape, t.Shape, memory(t)
}

// memory is an array that was read with its document.
type memory tensor.Tensor

// unit implements source.
func (m memory) unit() []int { return m.Shape.Clone() }

// readRegion implements source.
func (m memory) readRegion(_ context.Context, region, box zarr.Box, dst []byte, w *worker) error {
	size := m.DType.Size()
	b := w.take(&w.whole, region.Len()*size)
	zarr.CopyBox(region, b, zarr.WholeBox(m.Shape), m.Data, size)
	zarr.CopyBox(box, dst, region, b, size)
	return nil
}

// checkBox implements source: there is no checksum.
func (m memory) checkBox(zarr.Box, []byte) error { return nil }

// entire implements source.
func (m memory) entire() bool { return false }
