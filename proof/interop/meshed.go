package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/mesh"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/proof/crewtest"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// writeMeshed writes arrays as the 8 processes of a mesh do, each with its part. Orbax loads them
// as arrays of JAX on 8 devices, cut in the same way.
func writeMeshed(ctx context.Context, dir string, t *trees, l options.Layout, s storage) (testCase, error) {
	m := mesh.Mesh{Axes: []string{"x", "y"}, Sizes: []int{2, 4}}
	layout := mesh.Layout{Mesh: m, JAX: true}
	whole, cuts := map[string]any{}, map[string]mesh.Spec{}
	for i := range 5 {
		name := fmt.Sprint("w", i)
		x := tensor.New([]tensor.DType{tensor.Float32, tensor.Int32, tensor.BFloat16}[t.rnd.IntN(3)],
			8*(1+t.rnd.IntN(4)), 8*(1+t.rnd.IntN(3)))
		for b := range x.Data {
			x.Data[b] = byte(t.rnd.IntN(64)) // no NaN
		}
		cuts[name] = drawSpec(t.rnd)
		layout.Rules = append(layout.Rules, mesh.Rule{Match: name, Spec: cuts[name]})
		whole[name] = x
	}
	var saving options.ArraySaving
	if t.rnd.IntN(2) == 0 { // processes with the same part share the work
		saving = options.ArraySaving{UseReplicaParallel: options.On, MinSliceBytesForReplicaParallel: 1,
			MaxReplicasForReplicaParallel: t.rnd.IntN(5)}
	}
	barrier := crewtest.NewBarrier(m.Len(), nil)
	err := errors.Join(crewtest.Run(m.Len(), func(p int) error {
		has := map[string]any{}
		for name, value := range whole {
			key, x := tree.Path{{Name: name}}, value.(tensor.Tensor)
			box, err := layout.Box(key, x.Shape, p)
			if err != nil {
				return err
			}
			part := tensor.New(x.DType, box.Shape...)
			own := zarr.Box{Origin: box.Origin, Shape: box.Shape}
			zarr.CopyBox(own, part.Data, zarr.WholeBox(x.Shape), x.Data, x.DType.Size())
			if has[name], err = layout.Shards(key, x.Shape, part, p); err != nil {
				return err
			}
		}
		o := options.Options{Bivouac: options.Bivouac{Layout: l, Signing: s.signing}}
		o.Array.Saving = saving
		o.Multiprocessing = options.Multiprocessing{ProcessIndex: new(options.Host(p)), ProcessCount: m.Len(),
			Barrier: barrier.Of(p)}
		return checkpoint.Save(ctx, filepath.Join(dir, "checkpoint"), has, &checkpoint.SaveOptions{Options: o})
	})...)
	n, e := tree.From(whole)
	return testCase{Path: "checkpoint", Leaves: describe(n), Cuts: cuts}, errors.Join(err, e)
}

// drawSpec draws how an array of two axes is cut: each axis of the mesh cuts one of them, or none.
func drawSpec(r *rand.Rand) mesh.Spec {
	s := make(mesh.Spec, 2)
	axes := []string{"x", "y"}
	r.Shuffle(2, func(i, j int) { axes[i], axes[j] = axes[j], axes[i] })
	for _, axis := range axes {
		if at := r.IntN(3); at < 2 {
			s[at] = append(s[at], axis)
		}
	}
	return s
}
