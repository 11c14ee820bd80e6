package dynamic_test

import (
	"context"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func prepare(constants op.Args, names ...string) func(...dynamic.Value) any {
	return (&dynamic.Call{Args: constants}).Prepare(names...)
}

// TestPrepared is that calls with prepared arguments give what calls with plain ones give, with and
// without values, in every mode, and in a loop.
func TestPrepared(t *testing.T) {
	image := dynamic.TensorOf(tensor.New(tensor.Uint8, 4, 6, 3), dynamic.Form{Layout: "HWC"})
	crop := op.Args{"crop_w": float64(3), "crop_h": float64(2)}
	at := dynamic.TensorOf(float32(0.25))
	plain := op.Args{"crop_pos_x": at}
	for name, v := range crop {
		plain[name] = v
	}
	for _, mode := range []dynamic.Mode{dynamic.Deferred, dynamic.Eager, dynamic.Sync} {
		ctx := dynamic.WithMode(context.Background(), mode)
		for i, args := range [][2]any{
			{crop, prepare(crop)()},
			{plain, prepare(crop, "crop_pos_x")(at)},
		} {
			var got [2]tensor.Tensor
			for k, a := range args {
				v := dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "crop", Args: a, Inputs: []dynamic.Value{image}})
				var err error
				if got[k], err = v.Tensor(ctx); err != nil {
					t.Fatal(mode, i, k, err)
				}
			}
			if !got[0].Equal(got[1]) {
				t.Errorf("%v: %v, want %v", mode, got[1], got[0])
			}
		}
	}
	ctx := context.Background()
	loop, err := dynamic.Compile(ctx, nil, func(ctx context.Context, _ []dynamic.Value) []dynamic.Value {
		return dynamic.Invoke(ctx, dynamic.Call{Op: "crop", Args: prepare(crop, "crop_pos_x")(at),
			Inputs: []dynamic.Value{image}})
	}, dynamic.LoopOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer loop.Close()
	if _, err := loop.Next(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestPreparedErrors is that a wrong argument and a wrong value are errors, which name the place of
// the call.
func TestPreparedErrors(t *testing.T) {
	ctx := context.Background()
	for _, args := range []any{
		prepare(op.Args{"corp": 1})(),
		prepare(nil, "crop_pos_x")(),
		prepare(nil, "crop_pos_x")(nil),
	} {
		v := dynamic.Invoke(ctx, dynamic.Call{Op: "crop", Args: args, Site: "train.py:42",
			Inputs: []dynamic.Value{dynamic.TensorOf(tensor.New(tensor.Uint8, 4, 6, 3))}})[0]
		err := v.Evaluate(ctx)
		if err == nil || !strings.Contains(err.Error(), "call at train.py:42") {
			t.Errorf("%v", err)
		}
	}
}
