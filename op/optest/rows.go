package optest

import (
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Row is a row of a table: an operator, one sample for each of its inputs, and the expected output
// or refusal.
type Row struct {
	Op     string
	Args   op.Args
	Inputs []tensor.Tensor
	Count  int // of samples, for operators without inputs; 0 is 1
	Want   tensor.Tensor
	Fails  bool
}

// CheckRows runs each row twice: with shapes that are known before the data, and with shapes that
// are known only from the data. It checks that both runs refuse the mistakes, and that the output
// agrees with what the kernel promised. same compares an output with the expected output.
func CheckRows(t *testing.T, rows []Row, same func(got, want tensor.Tensor) bool) {
	t.Helper()
	for _, r := range rows {
		r.check(t, false, same)
		r.check(t, true, same)
	}
}

func (r *Row) check(t *testing.T, static bool, same func(got, want tensor.Tensor) bool) {
	t.Helper()
	res, err := Run(Case{Op: r.Op, Args: r.Args, Inputs: Inputs(r.Inputs...), Count: max(r.Count, 1), Static: static})
	if err == nil {
		err = res.Errors[0]
	}
	if r.Fails {
		if !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Mismatch) && !errors.Is(err, errs.Unsupported) {
			t.Errorf("%s %v of %v: %v, want a refusal", r.Op, r.Args, r.Inputs, err)
		}
		return
	}
	if err != nil {
		t.Errorf("%s %v of %v: %v", r.Op, r.Args, r.Inputs, err)
		return
	}
	got, spec := res.Outputs[0][0], res.Specs[0]
	if !same(got, r.Want) {
		t.Errorf("%s %v of %v: %v %q %v, want %v %q %v", r.Op, r.Args, r.Inputs,
			got, got.Layout, got.Data, r.Want, r.Want.Layout, r.Want.Data)
	}
	if spec.DType != got.DType ||
		spec.Shape != nil && (spec.Layout != got.Layout || len(spec.Shape) != len(got.Shape)) {
		t.Errorf("%s %v of %v: promised %v, gave %v %q", r.Op, r.Args, r.Inputs, spec, got, got.Layout)
	}
	for i, d := range spec.Shape {
		if d >= 0 && i < len(got.Shape) && d != got.Shape[i] {
			t.Errorf("%s %v of %v: promised the shape %v, gave %v", r.Op, r.Args, r.Inputs, spec.Shape, got.Shape)
		}
	}
}

// Of returns a tensor of a shape and layout.
func Of[T tensor.Element](layout string, shape []int, values ...T) tensor.Tensor {
	t := tensor.FromSlice(values, shape...)
	t.Layout, t.Shape = layout, append(tensor.Shape{}, shape...)
	return t
}

// Inputs returns the inputs of a Case of one sample.
func Inputs(samples ...tensor.Tensor) [][]tensor.Tensor {
	var all [][]tensor.Tensor
	for _, s := range samples {
		all = append(all, []tensor.Tensor{s})
	}
	return all
}

// MustRun works like Run. An error of the case or of a sample ends the test.
func MustRun(t testing.TB, c Case) Result {
	t.Helper()
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	for s, err := range r.Errors {
		t.Fatalf("sample %d: %v", s, err)
	}
	return r
}

// CheckAllocations runs each case repeatedly. It checks that later runs allocate nothing, and that
// no sample fails. A case without inputs must have at least one sample.
func CheckAllocations(t *testing.T, cases []Case) {
	t.Helper()
	for _, c := range cases {
		c.Count = max(c.Count, 1)
		r, err := New(c)
		if err != nil {
			t.Fatalf("%s: %v", c.Op, err)
		}
		if n := testing.AllocsPerRun(20, func() {
			if err := r.Run(); err != nil || len(r.Result.Errors) > 0 {
				t.Fatalf("%s %v: %v %v", c.Op, c.Args, err, r.Result.Errors)
			}
		}); n > 0 {
			t.Errorf("%s %v: %g allocations", c.Op, c.Args, n)
		}
	}
}

// Bench measures runs of a case, and the bytes of its first sample.
func Bench(b *testing.B, c Case) {
	r, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	if len(c.Inputs) > 0 {
		b.SetBytes(int64(len(c.Inputs[0][0].Data)))
	}
	for b.Loop() {
		if err := r.Run(); err != nil {
			b.Fatal(err)
		}
	}
}
