package serve

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// loadOptions reads the options that all loads have. Arrays are read into the result.
func (k *call) loadOptions(to *result) *checkpoint.LoadOptions {
	o := &checkpoint.LoadOptions{
		Options: k.args.context(), LossyCast: k.args.flag("lossy_cast"), Salvage: k.args.flag("salvage"),
		AllowNoManifest: k.args.flag("allow_no_manifest"), Report: &checkpoint.LoadReport{}, Allocate: to.allocate,
	}
	o.PyTree.LeafHandlers = k.leafLoaders()
	if to.reach = k.reachOf("memory"); to.reach != nil {
		to.ask, o.Final = k.askRoom, to.final
	}
	return o
}

// offered is memory that the client offers.
type offered struct {
	Address uint64 `json:"address"`
	Token   string `json:"token"`
}

// reachOf reads an argument that offers the memory of the client. It returns nil without the
// argument, and if the memory cannot be reached.
func (k *call) reachOf(name string) *reach {
	var o offered
	k.args.into(name, &o)
	return k.newReach(o.Address, o.Token)
}

// askRoom has the client make a room of memory, which begins at offset of the result.
func (k *call) askRoom(offset, size int64) (address uint64, err error) {
	text, err := k.askUntil(k.ctx, map[string]any{"op": "room", "id": k.id, "offset": offset, "bytes": size})
	if err != nil {
		return 0, err
	}
	var room struct {
		Address uint64 `json:"address"`
	}
	if err := json.Unmarshal(text, &room); err != nil || room.Address == 0 || room.Address%alignment != 0 {
		return 0, &errs.Error{Kind: errs.Invalid, Op: "serve.load", Subject: "answer to room",
			Want: "an address that is a multiple of " + strconv.Itoa(alignment), Got: clipped(text)}
	}
	return room.Address, nil
}

// abstract reads the tree that a load asks for, or nil.
func (k *call) abstract() (*tree.Node, error) {
	text := k.args.raw("abstract")
	if text == nil {
		return nil, nil
	}
	n, err := readTree(text, nil)
	return n, errs.Wrap("", "argument abstract", err)
}

// load loads a tree.
func load(k *call) (reply, error) {
	return k.loadTree(func(o *checkpoint.LoadOptions) (*tree.Node, error) {
		path := k.args.path()
		if err := k.args.finish(); err != nil {
			return nil, err
		}
		return checkpoint.Load(k.ctx, path, o)
	})
}

// loadTree loads a tree with read, and answers with it.
func (k *call) loadTree(read func(*checkpoint.LoadOptions) (*tree.Node, error)) (reply, error) {
	to := &result{}
	defer to.drop()
	o := k.loadOptions(to)
	o.Name = k.args.text("item")
	abstract, err := k.abstract()
	if err != nil {
		return reply{}, err
	}
	if abstract != nil {
		o.Abstract = abstract
	}
	n, err := read(o)
	if err != nil {
		return reply{}, err
	}
	return k.loaded(to, o.Report, func(b []byte) ([]byte, error) {
		return appendTree(append(b, `"tree":`...), n, abstract, to)
	})
}

// loaded answers with what add appends, the directories of leaf handlers, the step of a load by a
// checkpointer, the report and the memory.
func (k *call) loaded(to *result, report *checkpoint.LoadReport, add func([]byte) ([]byte, error)) (reply, error) {
	b, err := add([]byte("{"))
	if err != nil {
		return reply{}, err
	}
	f, size, err := to.finish()
	if err != nil {
		return reply{}, err
	}
	b = append(b, `,"bytes":`...)
	b = strconv.AppendInt(b, size, 10)
	if to.reach != nil {
		b = append(b, `,"rooms":true`...)
	}
	b = append(b, `,"report":`...)
	told, err := answer(newReport(report))
	b = append(b, told.json...)
	if err == nil && len(k.leaves.trees) > 0 {
		b = append(b, `,"leaves":`...)
		told, err = answer(k.leaves.trees)
		b = append(b, told.json...)
		err = cmp.Or(err, k.ctx.Err())
	}
	if report.Layout != "" {
		b = append(b, `,"layout":`...)
		b = appendText(b, report.Layout)
	}
	if k.step != nil {
		b = append(b, `,"step":`...)
		b = strconv.AppendInt(b, *k.step, 10)
	}
	return reply{json: append(b, '}'), files: filesOf(f)}, err
}

// leafReport is checkpoint.LeafReport as it travels.
type leafReport struct {
	Item      string `json:"item"`
	Path      string `json:"path"`
	Saved     *spec  `json:"saved"`
	Given     *spec  `json:"given"`
	Cast      bool   `json:"cast,omitempty"`
	Padded    bool   `json:"padded,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
	Skipped   bool   `json:"skipped,omitempty"`
	Filled    bool   `json:"filled,omitempty"`
	Missing   bool   `json:"missing,omitempty"`
	Lost      *fault `json:"lost,omitempty"`
}

// spec describes an array.
type spec struct {
	DType string       `json:"dtype"`
	Shape tensor.Shape `json:"shape"`
}

func newSpec(s tensor.Spec) *spec {
	if !s.DType.Valid() {
		return nil
	}
	return &spec{s.DType.String(), append(tensor.Shape{}, s.Shape...)}
}

func newReport(r *checkpoint.LoadReport) []leafReport {
	out := make([]leafReport, 0, len(r.Leaves))
	for _, l := range r.Leaves {
		t := leafReport{l.Item, l.Path.Param(), newSpec(l.Saved), newSpec(l.Given), l.Cast, l.Padded, l.Truncated, l.Skipped,
			l.Filled, l.Missing, nil}
		if l.Lost != nil {
			t.Lost = newFault(l.Lost)
		}
		out = append(out, t)
	}
	return out
}
