package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

type state struct {
	W [][]float32
	B []float32
	N int64
}

func made(k int) *state {
	s := &state{B: []float32{1, 2, 3}, N: int64(k)}
	for i := range 3 {
		v := make([]float32, 5000)
		for j := range v {
			v[j] = float32(k*i + j)
		}
		s.W = append(s.W, v)
	}
	return s
}

func TestRun(t *testing.T) {
	ctx := context.Background()
	v := simulated.NewServer(0, simulated.Lies{})
	st := object.New(v.Bucket(nil), "team/", object.Options{})
	o := &training.Options{Store: st, Preserve: training.LatestN{N: 3}, Clean: true, Foreground: true,
		Dedup: training.Dedup{On: true}}
	c, err := training.Open(ctx, "run", o)
	if err != nil {
		t.Fatal(err)
	}
	for step := range 6 {
		if ok, err := c.Save(ctx, int64(step), made(step), nil); err != nil || !ok {
			t.Fatal(step, ok, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for _, k := range v.Keys() {
		fmt.Println(k)
	}
	c, err = training.Open(ctx, "run", o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if s := fmt.Sprint(c.Steps()); s != "[3 4 5]" {
		t.Fatal(s)
	}
	got := &state{}
	if err := c.LoadInto(ctx, 5, got, nil); err != nil || fmt.Sprint(got) != fmt.Sprint(made(5)) {
		t.Fatal(err)
	}
	r, err := integrity.Verify(ctx, "run/5", &integrity.VerifyOptions{Store: st})
	if err != nil || !r.OK() {
		t.Fatal(err, r)
	}
	if err := c.Quarantine(ctx, 4, errors.New("why")); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Save(ctx, "one", made(1), &checkpoint.SaveOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Save(ctx, "one", made(2), &checkpoint.SaveOptions{Store: st}); err == nil {
		t.Fatal("overwritten")
	}
	if err := checkpoint.Save(ctx, "one", made(2), &checkpoint.SaveOptions{Store: st, Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.LoadInto(ctx, "one", got, &checkpoint.LoadOptions{Store: st}); err != nil || got.N != 2 {
		t.Fatal(err, got.N)
	}
}
