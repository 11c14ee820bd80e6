package checkpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
)

// Tokens is a vocabulary: a leaf of a type of its own.
type Tokens struct{ List []string }

// tokens keeps all vocabularies of a tree in one file.
type tokens struct{}

func (tokens) TypeString() string { return "example.Tokens" }

func (tokens) Serialize(_ context.Context, leaves []handler.Saved[Tokens]) (handler.Commit, error) {
	all := map[string][]string{}
	for _, l := range leaves {
		all[l.Name()] = l.Value.List
	}
	b, err := json.Marshal(all)
	return func(ctx context.Context, dir handler.Writer) error { return dir.Put(ctx, "tokens.json", b) }, err
}

func (tokens) Deserialize(ctx context.Context, dir handler.Reader, leaves []handler.Wanted[int]) ([]Tokens, error) {
	b, err := dir.ReadFile(ctx, "tokens.json")
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	out := make([]Tokens, len(leaves))
	for i, l := range leaves {
		out[i] = Tokens{all[l.Name()]}
	}
	return out, nil
}

// Metadata is how many tokens each has.
func (h tokens) Metadata(ctx context.Context, dir handler.Reader, leaves []handler.Wanted[int]) ([]int, error) {
	all, err := h.Deserialize(ctx, dir, leaves)
	out := make([]int, len(all))
	for i, t := range all {
		out[i] = len(t.List)
	}
	return out, err
}

func (tokens) Finalize(context.Context, handler.Writer) error { return nil }

func ExampleLoad_leafHandler() {
	dir, err := os.MkdirTemp("", "leaf")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	at := filepath.Join(dir, "model")
	leaves := &handler.LeafRegistry{}
	if err := leaves.Add(handler.Leaf(tokens{}), false); err != nil {
		fmt.Println(err)
		return
	}
	ctx := options.With(context.Background(), options.Options{PyTree: options.PyTree{LeafHandlers: leaves}})
	state := map[string]any{"w": []float32{1, 2}, "vocab": Tokens{[]string{"a", "b"}}}
	if err := checkpoint.Save(ctx, at, state, nil); err != nil {
		fmt.Println(err)
		return
	}
	n, err := checkpoint.Load(ctx, at, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(n.Get("vocab").Value)
	// A reader without the handler refuses the leaf, or passes over it.
	_, err = checkpoint.Load(context.Background(), at, nil)
	fmt.Println(err != nil)
	n, err = checkpoint.Load(context.Background(), at, &checkpoint.LoadOptions{
		Want: func(l checkpoint.LeafInfo) checkpoint.Want {
			return checkpoint.Want{Skip: l.Kind == checkpoint.HandledLeaf}
		},
	})
	fmt.Println(n.Get("vocab").Value, err)
	// Output:
	// {[a b]}
	// true
	// {} <nil>
}
