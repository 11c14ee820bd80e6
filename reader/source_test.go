package reader_test

import (
	"context"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// dataset is an open reader with the specs of its outputs.
type dataset struct {
	reader.Source
	specs []tensor.Spec
}

// caller is a test of this package or of rapid.
type caller interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// try opens a reader.
func try(t caller, name string, args op.Args) (*dataset, error) {
	t.Helper()
	s, err := op.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	_, set, err := op.Arguments(args)
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := op.Resolve(s, "test", 0, set)
	if err != nil {
		return nil, err
	}
	o, err := reader.Lookup(s)
	if err != nil {
		t.Fatal(err)
	}
	specs, err := o.Outputs(c)
	if err != nil {
		return nil, err
	}
	src, err := o.Open(context.Background(), c)
	if err != nil {
		return nil, err
	}
	if s.OutputCount != nil {
		if n, err := s.OutputCount(c); err != nil || n != len(specs) {
			t.Errorf("%s: %d outputs, %v; it has %d specs", name, n, err, len(specs))
		}
	}
	if c, ok := t.(interface{ Cleanup(f func()) }); ok {
		c.Cleanup(func() { src.Close() }) //nolint:errcheck // only read
	}
	return &dataset{src, specs}, nil
}

// must opens a reader.
func must(t caller, name string, args op.Args) *dataset {
	t.Helper()
	d, err := try(t, name, args)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// sample fetches one sample.
func (d *dataset) sample(id int64) ([]tensor.Tensor, error) {
	var b op.Block
	var local any
	x := b.Binding()
	x.Memory, x.Positions, x.Specs, x.Local = memory{}, []int64{id}, d.specs, &local
	for range d.specs {
		x.Out = append(x.Out, make([]tensor.Tensor, 1))
	}
	if err := d.Fetch(context.Background(), []int64{id}, &b); err != nil {
		return nil, err
	}
	if err := x.Errors[0]; err != nil {
		return nil, err
	}
	var out []tensor.Tensor
	for o := range d.specs {
		out = append(out, x.Out[o][0])
	}
	return out, nil
}

// get fetches one sample that must be there and have the specs.
func (d *dataset) get(t caller, id int64) []tensor.Tensor {
	t.Helper()
	out, err := d.sample(id)
	if err != nil {
		t.Fatalf("%s: %v", d.Describe(id), err)
	}
	for o, x := range out {
		if err := x.Check(); err != nil || x.DType != d.specs[o].DType || len(x.Shape) != len(d.specs[o].Shape) {
			t.Fatalf("%s: output %d is %s, %v; want %v", d.Describe(id), o, x, err, d.specs[o])
		}
		for i, n := range d.specs[o].Shape {
			if n >= 0 && x.Shape[i] != n {
				t.Fatalf("%s: output %d is %s, want %v", d.Describe(id), o, x, d.specs[o])
			}
		}
	}
	return out
}

// putText makes a file and returns its path.
func putText(t caller, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}
