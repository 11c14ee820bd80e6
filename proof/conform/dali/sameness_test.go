package dali

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// perBatch are the operators whose samples depend on the others of the batch.
var perBatch = []string{"batch_permutation", "multi_paste", "pad", "permute_batch"}

// Dynamic mode gives the bytes of pipelines: each operator and expression of the vectors, in every
// mode, with arguments that differ by sample, on batches and on single samples.
func TestDynamicIsPipeline(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	dir, operators := filepath.Join(root, "..", "shared", "vectors", "dali"), 70
	if _, err := os.Stat(dir); err != nil {
		dir, operators = filepath.Join(root, "testdata", "dali"), 8
	}
	set, err := dalivec.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := set.Groups()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, g := range groups {
		cases, err := set.Cases(g)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(g, func(t *testing.T) {
			for _, c := range cases {
				if !hasBranches(c) && !slices.ContainsFunc(OperatorsOf(c), func(name string) bool { _, err := op.Lookup(name); return err != nil }) {
					same(t, set, c, seen)
				}
			}
		})
	}
	if len(seen) < operators {
		t.Errorf("%d operators only, of at least %d", len(seen), operators)
	}
}

// same compares all ways to compute a case.
func same(t *testing.T, set *dalivec.Set, c *dalivec.Case, seen map[string]bool) {
	t.Helper()
	ctx := suite.WithScratch(t.Context(), t.TempDir())
	want, wantErr := runOps(ctx, set, c)
	for _, mode := range []dynamic.Mode{dynamic.Sync, dynamic.Eager, dynamic.Deferred} {
		got, err := callOps(dynamic.WithMode(ctx, mode), set, c)
		if err := agree(got, want, err, wantErr); err != nil {
			t.Errorf("%s, %v: %v", c.Name, mode, err)
			return
		}
	}
	if wantErr != nil {
		return
	}
	names := OperatorsOf(c)
	random := false
	for _, name := range names {
		seen[name] = true
		s, err := op.Lookup(name)
		random = random || err == nil && s.Random
	}
	batched, _ := c.Args["batch"].(bool)
	if batched || slices.ContainsFunc(names, func(n string) bool { return slices.Contains(perBatch, n) }) {
		return
	}
	for s := range c.Batch {
		if random && s > 0 {
			break // a call of one draws what the first of a batch draws
		}
		got, err := callSamples(dynamic.WithMode(ctx, dynamic.Sync), set, c, s)
		if random {
			got, want = got[:min(1, len(got))], want[:1] // and goes on for one sample
		}
		if err := agree(got, pick(want, s), err, nil); err != nil {
			t.Errorf("%s, sample %d alone: %v", c.Name, s, err)
			return
		}
	}
}

// pick are the results of one sample.
func pick(r dalivec.Results, s int) dalivec.Results {
	var out dalivec.Results
	for _, outputs := range r {
		var one [][]tensor.Tensor
		for _, samples := range outputs {
			one = append(one, samples[s:s+1])
		}
		out = append(out, one)
	}
	return out
}

// agree reports how results or errors differ.
func agree(got, want dalivec.Results, gotErr, wantErr error) error {
	if gotErr != nil || wantErr != nil {
		var a, b *errs.Error
		if (gotErr == nil) != (wantErr == nil) || errors.As(gotErr, &a) != errors.As(wantErr, &b) {
			return fmt.Errorf("error %v, that of the pipeline %v", gotErr, wantErr)
		}
		return nil
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d runs, not %d", len(got), len(want))
	}
	for i := range want {
		if len(got[i]) != len(want[i]) {
			return fmt.Errorf("%d outputs, not %d", len(got[i]), len(want[i]))
		}
		for o := range want[i] {
			if len(got[i][o]) != len(want[i][o]) {
				return fmt.Errorf("output %d: %d samples, not %d", o, len(got[i][o]), len(want[i][o]))
			}
			for s, w := range want[i][o] {
				g := got[i][o][s]
				if g.DType != w.DType || !g.Shape.Equal(w.Shape) || g.Layout != w.Layout || !bytes.Equal(g.Data, w.Data) {
					return fmt.Errorf("run %d, output %d, sample %d: %v, that of the pipeline %v", i, o, s, g, w)
				}
			}
		}
	}
	return nil
}
