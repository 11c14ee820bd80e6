package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// A case of kind "handled" has an item for each handler: what is built in, which
// Orbax resolves by its type string and reads; and a leaf and an item of handlers
// of our own, which it refuses by their type strings or passes over. Its leaves are the leaves of
// the item "state", except "note", which a leaf handler wrote.

// note is a leaf of a type of its own.
type note string

// ourNote is the note in a case.
const ourNote note = "of our own"

// notes keeps each in a file.
type notes struct{}

func (notes) TypeString() string { return "interop.Note" }

func (notes) Serialize(_ context.Context, leaves []handler.Saved[note]) (handler.Commit, error) {
	return func(ctx context.Context, dir handler.Writer) error {
		for _, l := range leaves {
			if err := dir.Put(ctx, "notes/"+l.Name(), []byte(l.Value)); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func (notes) Deserialize(ctx context.Context, dir handler.Reader, leaves []handler.Wanted[*note]) ([]note, error) {
	out := make([]note, len(leaves))
	for i, l := range leaves {
		b, err := dir.ReadFile(ctx, "notes/"+l.Name())
		if err != nil {
			return nil, err
		}
		out[i] = note(b)
	}
	return out, nil
}

func (notes) Metadata(_ context.Context, _ handler.Reader, leaves []handler.Wanted[*note]) ([]*note, error) {
	return make([]*note, len(leaves)), nil
}

func (notes) Finalize(context.Context, handler.Writer) error { return nil }

// counter is an object that saves itself.
type counter int

func (c *counter) Save(context.Context) (handler.Commit, error) {
	text := strconv.Itoa(int(*c))
	return func(ctx context.Context, dir handler.Writer) error { return dir.Put(ctx, "count", []byte(text)) }, nil
}

func (c *counter) Load(ctx context.Context, dir handler.Reader) error {
	b, err := dir.ReadFile(ctx, "count")
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(b))
	*c = counter(n)
	return err
}

// own saves notes as items, by a type string that only we know.
type own struct{ handler.Proto }

func (own) TypeString() string { return "interop.Own" }

func (own) Handles(v any) bool { _, ok := v.(note); return ok }

func (own) HandlesAbstract(any) handler.Verdict { return handler.No }

func (own) Save(_ context.Context, v any) (handler.Commit, error) {
	return func(ctx context.Context, dir handler.Writer) error { return dir.Put(ctx, "note.txt", []byte(v.(note))) }, nil
}

// writeHandled writes such a case.
func writeHandled(ctx context.Context, dir string, t *trees, l options.Layout, s storage) (testCase, error) {
	o := s.options(l)
	items, err := handler.Local(nil, true)
	if err == nil {
		err = items.Add(own{}, "")
	}
	var leaves *handler.LeafRegistry
	if err == nil {
		leaves, err = noteHandlers()
	}
	if err != nil {
		return testCase{}, err
	}
	o.PyTree.LeafHandlers, o.Checkpointables.Registry = leaves, items
	n := t.tree()
	c := testCase{Path: "checkpoint", Leaves: describe(n), Data: json.RawMessage(dataItem)}
	count := counter(7)
	err = checkpoint.SaveCheckpointables(ctx, filepath.Join(dir, c.Path), map[string]any{
		"state":    n.Set("note", &tree.Node{Value: ourNote}),
		"array":    tensor.FromSlice([]float32{1.5, -2}, 1, 2, 1), // of as many axes as storage options name
		"data":     c.Data,
		"pipeline": state.Document{Version: 1, Kind: "pipeline", Position: 12},
		"text":     checkpoint.ProtoText("seconds: 5\nnanos: 7\n"),
		"count":    &count,
		"own":      note("an item"),
	}, &checkpoint.SaveOptions{Options: o})
	return c, errs.Wrap("handled", "", err)
}

func noteHandlers() (*handler.LeafRegistry, error) {
	r := &handler.LeafRegistry{}
	return r, r.Add(handler.Leaf(notes{}), false)
}

// loadHandled loads the tree of such a case, and takes the note away, which has to be ours.
func loadHandled(ctx context.Context, path string) (*tree.Node, error) {
	leaves, err := noteHandlers()
	if err != nil {
		return nil, err
	}
	o := &checkpoint.LoadOptions{}
	o.PyTree.LeafHandlers = leaves
	got, err := checkpoint.Load(ctx, path, o)
	if err != nil {
		return nil, err
	}
	rest := tree.NewDict()
	for i, child := range got.Items {
		switch key := got.Key(i).Name; {
		case key != "note":
			rest.Set(key, child)
		case child.Value != ourNote:
			return nil, fmt.Errorf("the note is %v", child.Value)
		}
	}
	if rest.Len() != got.Len()-1 {
		return nil, errors.New("there is no note")
	}
	return rest, nil
}
