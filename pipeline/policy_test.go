package pipeline_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// damaged is a data set of 12 samples of which 5 is no image and 6 is not there
// after vanish, and before restore.
func damaged(t *testing.T) (dir string, vanish, restore func()) {
	dir = dataset(t, 12)
	if err := os.WriteFile(filepath.Join(dir, classes[1], "0004.jpg"), []byte("hello"), 0o666); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(dir, classes[1], "0007.jpg")
	whole, err := os.ReadFile(gone)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	return dir, func() { must(os.Remove(gone)) }, func() { must(os.WriteFile(gone, whole, 0o666)) }
}

// ordered delivers images of one size, of their own sizes, labels and a batch-level view of them.
func ordered(dir string) func(p *pipeline.Builder) []pipeline.Node {
	return func(p *pipeline.Builder) []pipeline.Node {
		jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{Name: "r", FileRoot: dir})
		decoded := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{})
		images := fn.CropMirrorNormalize(p, decoded, fn.CropMirrorNormalizeArgs{Crop: op.Const([]float64{4, 4})})
		padded := p.Op("pad", op.Args{"fill_value": 0.0}, decoded)
		return append([]pipeline.Node{images, decoded, labels, fn.RandomUniform(p, fn.RandomUniformArgs{})}, padded...)
	}
}

func TestErrorPolicies(t *testing.T) {
	dir, vanish, restore := damaged(t)
	for policy, want := range map[faults.Action]struct {
		ids    []int64
		faults []int64 // positions
	}{
		faults.Skip:    {[]int64{4, 7}, []int64{5, 6}},
		faults.Replace: {[]int64{4, 7, 7, 7}, []int64{5, 5, 6}},
		faults.Zero:    {[]int64{4, 5, 6, 7}, []int64{5, 6}},
	} {
		o := pipeline.Options{BatchSize: 4, Seed: 1, OnError: map[string]faults.Action{"r": policy}}
		var reference []string
		var final, middle string
		for threads := 1; threads <= 4; threads++ {
			for _, prefetch := range []int{pipeline.NoPrefetch, 1, 3} {
				o.Workers, o.Prefetch = threads, prefetch
				p := start(t, o, ordered(dir))
				vanish()
				got := []string{digestOf(next(t, p))}
				b := next(t, p)
				if d := cmp.Diff(want.ids, b.IDs); d != "" {
					t.Fatalf("%v: ids (-want +got):\n%s", policy, d)
				}
				for i, out := range b.Outputs {
					if out.NumSamples() != len(want.ids) || out.Check() != nil {
						t.Fatalf("%v: output %d has %d samples: %v", policy, i, out.NumSamples(), out.Check())
					}
				}
				if policy == faults.Zero {
					checkZeros(t, b.Outputs[0].Sample(1))
					if s := b.Outputs[1].Shape(2); s.Len() != 0 {
						t.Errorf("a sample of unknown size is %v", s)
					}
				}
				if policy == faults.Replace && string(b.Outputs[0].Sample(1).Data) != string(b.Outputs[0].Sample(3).Data) {
					t.Error("the sample is not that which follows")
				}
				got = append(got, digestOf(b))
				faults := p.Faults()
				var positions []int64
				for _, f := range faults.Last {
					positions = append(positions, f.Position)
					if f.Reader != "r" || f.Action != policy || !strings.Contains(f.Reason, dir) {
						t.Errorf("%v: %+v", policy, f)
					}
				}
				if d := cmp.Diff(want.faults, positions); d != "" || faults.Count != int64(len(want.faults)) {
					t.Errorf("%v: %d faults (-want +got):\n%s", policy, faults.Count, d)
				}
				st := string(save(t, p))
				got = append(got, digestOf(next(t, p)), digestOf(next(t, p)))
				if reference == nil {
					reference, middle, final = got, st, string(save(t, p))
				}
				if d := cmp.Diff(reference, got); d != "" || st != middle || string(save(t, p)) != final {
					t.Fatalf("%v, %d threads, prefetch %d: (-want +got):\n%s", policy, threads, prefetch, d)
				}
				p.Close()
				restore()
			}
		}
		p := start(t, o, ordered(dir))
		if err := p.SetState([]byte(middle)); err != nil {
			t.Fatal(err)
		}
		if p.Faults().Count != int64(len(want.faults)) || string(save(t, p)) != middle {
			t.Errorf("%v: the state was\n%s\nand is\n%s", policy, middle, save(t, p))
		}
		if d := digestOf(next(t, p)); d != reference[2] {
			t.Errorf("%v: goes on with %s, want %s", policy, d, reference[2])
		}
		plain := start(t, pipeline.Options{BatchSize: 4, Seed: 1}, ordered(dir))
		if err := plain.SetState([]byte(middle)); !errors.Is(err, errs.Mismatch) ||
			!strings.Contains(err.Error(), "on_error r") {
			t.Errorf("another policy: got %v", err)
		}
	}
}

func checkZeros(t *testing.T, s tensor.Tensor) {
	t.Helper()
	for _, b := range s.Data {
		if b != 0 {
			t.Fatalf("%v is not of zeros", s)
		}
	}
}

func TestNothingToReplaceWith(t *testing.T) {
	dir := dataset(t, 3)
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.WriteFile(f, []byte("hello"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, pipeline.Options{BatchSize: 3, OnError: map[string]faults.Action{"": faults.Replace}}, ordered(dir))
	if _, err := p.Next(t.Context()); !errors.Is(err, errs.Corrupt) {
		t.Errorf("got %v", err)
	}
	p = start(t, pipeline.Options{BatchSize: 3, OnError: map[string]faults.Action{"": faults.Skip}}, ordered(dir))
	for range 200 { // faults are bounded
		if b := next(t, p); len(b.IDs) != 0 || b.Outputs[0].NumSamples() != 0 {
			t.Fatalf("a batch of %d damaged samples", len(b.IDs))
		}
	}
	if f := p.Faults(); f.Count != 600 || len(f.Last) != 256 || f.Last[255].Position != 599 {
		t.Errorf("%d of %d faults are kept", len(f.Last), f.Count)
	}
	q := start(t, pipeline.Options{BatchSize: 3, OnError: map[string]faults.Action{"": faults.Skip}}, ordered(dir))
	if err := q.SetState(save(t, p)); err != nil || q.Faults().Count != 600 {
		t.Errorf("%d faults come back, %v", q.Faults().Count, err)
	}
}

func TestPolicyOfUnknownReader(t *testing.T) {
	d, err := pipeline.Define(pipeline.Options{OnError: map[string]faults.Action{"x": faults.Skip}}, ordered(dataset(t, 3)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.New(t.Context(), nil); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "OnError") {
		t.Errorf("got %v", err)
	}
	if _, err := faults.ParseAction("skips"); !errors.Is(err, errs.Invalid) {
		t.Errorf("got %v", err)
	}
}

// A document names actions as every engine does; "error" is the word of earlier ones.
func TestActionsOfDocuments(t *testing.T) {
	o, err := pipeline.ParseOptions([]byte("on_error: {a: fail, b: error, c: replace}"))
	if err != nil || o.OnError["a"] != faults.Fail || o.OnError["b"] != faults.Fail || o.OnError["c"] != faults.Replace {
		t.Errorf("%v, %v", o.OnError, err)
	}
	if _, err := pipeline.ParseOptions([]byte("on_error: {a: pass on}")); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "fail, skip, replace or zero") {
		t.Errorf("a pipeline passes errors on: %v", err)
	}
	d, err := pipeline.Define(pipeline.Options{OnError: map[string]faults.Action{"": faults.PassOn}}, ordered(dataset(t, 3)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.New(t.Context(), nil); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "fail, skip, replace or zero") {
		t.Errorf("a pipeline passes errors on: %v", err)
	}
}
