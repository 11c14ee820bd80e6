package checkpoint_test

import (
	"context"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

func TestLeafHandlers(t *testing.T) {
	leaves := &handler.LeafRegistry{}
	if err := leaves.Add(handler.Leaf(tokens{}), false); err != nil {
		t.Fatal(err)
	}
	plain := context.Background()
	ctx := options.With(plain, options.Options{PyTree: options.PyTree{LeafHandlers: leaves}})
	st := local.New(vfstest.NewMem(), "/", nil)
	state := map[string]any{"x": []float32{1}, "a": Tokens{[]string{"p"}},
		"b": map[string]any{"c": Tokens{[]string{"q", "r"}}}}
	if err := checkpoint.Save(ctx, "c", state, &checkpoint.SaveOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	n, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	if got := n.Get("b").Get("c").Value.(Tokens); len(got.List) != 2 {
		t.Errorf("%+v", got)
	}
	if _, err := checkpoint.Load(plain, "c", &checkpoint.LoadOptions{Store: st}); errs.KindOf(err) != errs.Unsupported ||
		!strings.Contains(err.Error(), "example.Tokens") {
		t.Errorf("without the handler: %v", err)
	}
	if r, err := integrity.Verify(plain, "c", &integrity.VerifyOptions{Store: st}); err != nil || len(r.Problems) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	// What was loaded is saved again, by the same handler; a state without such leaves needs none.
	if err := checkpoint.Save(ctx, "d", n, &checkpoint.SaveOptions{Store: st}); err != nil {
		t.Errorf("what was loaded: %v", err)
	}
	in, err := checkpoint.Metadata(plain, "c", &checkpoint.LoadOptions{Store: st})
	if err != nil || in.Items[0].Leaves[0].Kind != checkpoint.HandledLeaf ||
		in.Items[0].Leaves[0].ValueType != "example.Tokens" {
		t.Errorf("%+v, %v", in, err)
	}
}
