package serve

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// metadata describes a checkpoint.
func metadata(k *call) (reply, error) {
	path, o := k.args.path(), k.metadataOptions()
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	info, err := checkpoint.Metadata(k.ctx, path, o)
	if err != nil {
		return reply{}, err
	}
	return described(info, nil)
}

// metadataOptions reads the options of a call that describes.
func (k *call) metadataOptions() *checkpoint.LoadOptions {
	return &checkpoint.LoadOptions{Options: k.args.context(), Name: k.args.text("item"),
		Salvage: k.args.flag("salvage"), AllowNoManifest: k.args.flag("allow_no_manifest")}
}

// described answers with metadata and, of a step, its number.
func described(info *checkpoint.Info, step *int64) (reply, error) {
	in, err := newInfo(info)
	if err != nil {
		return reply{}, err
	}
	return answer(struct {
		Info *infoText `json:"info"`
		Step *int64    `json:"step,omitempty"`
	}{in, step})
}

// infoText is checkpoint.Info as it travels.
type infoText struct {
	Path        string            `json:"path"`
	Layout      string            `json:"layout"`
	Began       string            `json:"began,omitempty"`
	Commit      string            `json:"commit,omitempty"`
	BeganNS     int64             `json:"began_ns,omitempty"`
	CommitNS    int64             `json:"commit_ns,omitempty"`
	Custom      json.RawMessage   `json:"custom"`
	Annotations map[string]string `json:"annotations"`
	Manifest    bool              `json:"manifest"`
	Items       []itemText        `json:"items"`
}

type itemText struct {
	Name      string          `json:"name"`
	Kind      string          `json:"kind"`
	Handler   string          `json:"handler"`
	UseOCDBT  bool            `json:"use_ocdbt"`
	UseZarr3  bool            `json:"use_zarr3"`
	RichTypes bool            `json:"rich_types"`
	Tree      json.RawMessage `json:"tree,omitempty"`
}

func newInfo(in *checkpoint.Info) (*infoText, error) {
	t := &infoText{Path: in.Path, Layout: in.Layout, Custom: in.Custom, Annotations: in.Annotations, Manifest: in.Manifest,
		Items: []itemText{}}
	t.Began, t.BeganNS = timeText(in.Began)
	t.Commit, t.CommitNS = timeText(in.Commit)
	for _, it := range in.Items {
		item := itemText{it.Name, it.Kind, it.Handler, it.UseOCDBT, it.UseZarr3, it.RichTypes, nil}
		if it.Kind == "tree" {
			var err error
			if item.Tree, err = describedTree(it); err != nil {
				return nil, errs.Wrap("", "item "+strconv.Quote(it.Name), err)
			}
		}
		t.Items = append(t.Items, item)
	}
	return t, nil
}

// timeText returns a time as RFC 3339 and in nanoseconds, and nothing for a time that is not known.
func timeText(t time.Time) (string, int64) {
	if t.IsZero() {
		return "", 0
	}
	return t.UTC().Format(time.RFC3339Nano), t.UnixNano()
}

// describedTree returns the tree of an item as a node.
func describedTree(it checkpoint.ItemInfo) (json.RawMessage, error) {
	entries := make([]tree.Entry, len(it.Leaves))
	counts := map[string]int{}
	for i := range it.Leaves {
		l := &it.Leaves[i]
		entries[i] = tree.Entry{Path: l.Path, Node: leafNode(l, counts)}
	}
	n, err := tree.Unflatten(entries)
	if err != nil {
		return nil, err
	}
	return appendTree(nil, n, nil, nil)
}

// leafNode describes a leaf as a node.
func leafNode(l *checkpoint.LeafInfo, counts map[string]int) *tree.Node {
	switch l.Kind {
	case checkpoint.EmptyDict:
		return tree.NewDict()
	case checkpoint.EmptyList:
		return tree.NewList()
	case checkpoint.EmptyTuple:
		return &tree.Node{Kind: tree.Tuple}
	case checkpoint.EmptyNamed:
		return &tree.Node{Kind: tree.Named}
	}
	d := leafSketch{info: l}
	if l.Kind == checkpoint.HandledLeaf {
		d.index = counts[l.ValueType]
		counts[l.ValueType]++
	}
	return &tree.Node{Value: d}
}

// leafSketch is a leaf that metadata describes.
type leafSketch struct {
	info  *checkpoint.LeafInfo
	index int // of a leaf of a leaf handler
}

// leafDetails is what metadata says beyond type and shape.
type leafDetails struct {
	ValueType  string `json:"value_type,omitempty"`
	WriteShape []int  `json:"write_shape,omitempty"`
	ChunkShape []int  `json:"chunk_shape,omitempty"`
	KeyImpl    string `json:"key_impl,omitempty"`
	Error      *fault `json:"error,omitempty"`
}

// describe writes a leaf of metadata.
func (w *nodeWriter) describe(d leafSketch) {
	l := d.info
	switch {
	case l.Err != nil:
	case l.Kind == checkpoint.StringLeaf:
		w.raw(`["y","str"]`)
		return
	case l.Kind == checkpoint.NoneLeaf:
		w.raw("null")
		return
	case l.Kind == checkpoint.HandledLeaf:
		w.raw(`["h",`)
		w.text(l.ValueType)
		w.raw(",")
		w.b = strconv.AppendInt(w.b, int64(d.index), 10)
		w.raw("]")
		return
	case l.Kind == checkpoint.ScalarLeaf && scalarType(l.DType) != "":
		w.raw(`["y",`)
		w.text(scalarType(l.DType))
		w.raw("]")
		return
	}
	w.raw(`["s",`)
	if s := newSpec(tensor.Spec{DType: l.DType, Shape: l.Shape}); s != nil {
		w.text(s.DType)
		w.raw(",")
		w.extents(s.Shape)
	} else {
		w.raw("null,null")
	}
	w.raw(",")
	more := leafDetails{l.ValueType, l.WriteShape, l.ChunkShape, l.KeyImpl, nil}
	if l.Err != nil {
		more.Error = newFault(l.Err)
	}
	text, err := json.Marshal(more)
	w.fail(err)
	w.b = append(w.b, text...)
	w.raw("]")
}

// scalarType is the name of the Python type of a scalar, or "" if Python has none for it.
func scalarType(d tensor.DType) string {
	switch {
	case d == tensor.Bool:
		return "bool"
	case d.IsInteger():
		return "int"
	case d.IsFloat():
		return "float"
	}
	return ""
}
