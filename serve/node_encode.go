package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// nodeWriter writes trees as JSON nodes. Arrays are in the result.
type nodeWriter struct {
	b   []byte
	to  *result
	err error
}

// appendTree appends a tree that was loaded. abstract, which may be nil, is what was asked for: it
// says where boxes lie.
func appendTree(b []byte, n, abstract *tree.Node, to *result) ([]byte, error) {
	w := &nodeWriter{b: b, to: to}
	w.node(n, abstract)
	return w.b, w.err
}

func (w *nodeWriter) node(n, abstract *tree.Node) {
	switch n.Kind {
	case tree.Dict:
		w.raw(`["d",`)
		w.keys(n.Keys)
		w.raw(",")
	case tree.List:
		w.raw(`["l",`)
	case tree.Tuple:
		w.raw(`["t",`)
	case tree.Named:
		w.raw(`["n",`)
		w.text(n.Type)
		w.raw(",")
		w.keys(n.Keys)
		w.raw(",")
	default:
		w.leaf(n.Value, abstract)
		return
	}
	w.raw("[")
	for i, c := range n.Items {
		if i > 0 {
			w.raw(",")
		}
		var wanted *tree.Node
		if abstract != nil {
			wanted = abstract.Get(n.Key(i).Name)
		}
		w.node(c, wanted)
	}
	w.raw("]]")
}

func (w *nodeWriter) leaf(v any, abstract *tree.Node) {
	switch v := v.(type) {
	case nil:
		w.raw("null")
	case bool:
		w.b = strconv.AppendBool(w.b, v)
	case int64:
		w.b = strconv.AppendInt(w.b, v, 10)
	case uint64:
		w.unsigned(v)
	case float64:
		w.float(v)
	case string:
		w.text(v)
	case tensor.Tensor:
		if boxes := boxesOf(abstract); boxes != nil {
			w.parts(checkpoint.Parts{v}, boxes, abstract)
			return
		}
		w.array(v)
	case checkpoint.Bytes:
		w.raw(`["b",`)
		w.b = strconv.AppendInt(w.b, int64(len(v)), 10)
		w.raw(",")
		w.offset(v)
		w.raw("]")
	case checkpoint.Parts:
		w.parts(v, boxesOf(abstract), abstract)
	case checkpoint.Key:
		w.raw(`["k",`)
		w.text(v.Impl)
		w.place(v.Data)
	case clientLeaf:
		w.client(v)
	case leafSketch:
		w.describe(v)
	case checkpoint.Placeholder:
		w.raw(`["x"]`)
	default:
		w.fail(&errs.Error{Kind: errs.Unsupported, Subject: fmt.Sprintf("leaf of type %T", v),
			Want: "a leaf that can be sent"})
	}
}

func (w *nodeWriter) unsigned(v uint64) {
	if v <= math.MaxInt64 {
		w.b = strconv.AppendUint(w.b, v, 10)
		return
	}
	w.raw(`["u","`)
	w.b = strconv.AppendUint(w.b, v, 10)
	w.raw(`"]`)
}

// float writes a number that has a point or an exponent.
func (w *nodeWriter) float(v float64) {
	switch {
	case math.IsNaN(v):
		w.raw(`["f","nan"]`)
	case math.IsInf(v, 1):
		w.raw(`["f","inf"]`)
	case math.IsInf(v, -1):
		w.raw(`["f","-inf"]`)
	default:
		from := len(w.b)
		w.b = strconv.AppendFloat(w.b, v, 'g', -1, 64)
		if !isFloat(string(w.b[from:])) {
			w.raw(".0")
		}
	}
}

func (w *nodeWriter) array(t tensor.Tensor) {
	w.raw(`["a",`)
	w.text(t.DType.String())
	w.place(t)
}

// place writes shape and offset, and ends the node.
func (w *nodeWriter) place(t tensor.Tensor) {
	w.raw(",")
	w.extents(t.Shape)
	w.raw(",")
	w.offset(t.Data)
	w.raw("]")
}

func (w *nodeWriter) offset(b []byte) {
	at, err := w.to.offset(b)
	w.fail(err)
	w.b = strconv.AppendInt(w.b, at, 10)
}

// parts writes the boxes that were asked for, with the shape of the whole that was asked for.
func (w *nodeWriter) parts(p checkpoint.Parts, boxes []checkpoint.Box, abstract *tree.Node) {
	if len(p) != len(boxes) {
		w.fail(&errs.Error{Kind: errs.Mismatch, Subject: "boxes", Want: strconv.Itoa(len(boxes)),
			Got: strconv.Itoa(len(p))})
		return
	}
	a := abstract.Value.(checkpoint.Abstract)
	d := a.DType
	if len(p) > 0 {
		d = p[0].DType
	}
	w.raw(`["m",`)
	if d.Valid() {
		w.text(d.String())
	} else {
		w.raw("null")
	}
	w.raw(",")
	if a.Shape == nil {
		w.raw("null")
	} else {
		w.extents(a.Shape)
	}
	w.raw(",[")
	for i, t := range p {
		if i > 0 {
			w.raw(",")
		}
		w.raw("[")
		w.extents(boxes[i].Origin)
		w.place(t)
	}
	w.raw("]]")
}

// boxesOf returns the boxes that were asked for of a leaf, or nil if the whole was.
func boxesOf(abstract *tree.Node) []checkpoint.Box {
	if abstract == nil {
		return nil
	}
	a, _ := abstract.Value.(checkpoint.Abstract)
	return a.Boxes
}

func (w *nodeWriter) keys(keys []string) {
	w.raw("[")
	for i, k := range keys {
		if i > 0 {
			w.raw(",")
		}
		w.text(k)
	}
	w.raw("]")
}

func (w *nodeWriter) extents(shape []int) {
	w.raw("[")
	for i, n := range shape {
		if i > 0 {
			w.raw(",")
		}
		w.b = strconv.AppendInt(w.b, int64(n), 10)
	}
	w.raw("]")
}

func (w *nodeWriter) raw(s string) { w.b = append(w.b, s...) }

func (w *nodeWriter) text(s string) { w.b = appendText(w.b, s) }

// appendText appends a JSON string.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7F || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) //nolint:errcheck // a string is always JSON
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func (w *nodeWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}
