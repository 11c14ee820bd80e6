package safetensors

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// drawTensor makes a tensor whose elements are valid and fill whole bytes.
func drawTensor(t *rapid.T) tensor.Tensor {
	d := rapid.SampledFrom(order[:]).Draw(t, "dtype")
	shape := rapid.SliceOfN(rapid.IntRange(0, 6), 0, 4).Draw(t, "shape")
	if d.Bits()%8 != 0 {
		shape = append(shape, 4) // 4 elements of 6 bits, or 8 of 4, are whole bytes
	}
	x := tensor.New(d, shape...)
	mask := byte(1)<<min(7, d.Bits()) - 1
	if d.Bits() >= 8 && d != tensor.Bool {
		mask = 0xff
	}
	if d == tensor.Bool {
		mask = 1
	}
	for i := range x.Data {
		x.Data[i] = rapid.Byte().Draw(t, "byte") & mask
	}
	return x
}

func drawTensors(t *rapid.T) map[string]tensor.Tensor {
	return rapid.MapOfN(rapid.String().Filter(func(s string) bool { return s != metadataKey }), rapid.Custom(drawTensor), 0, 6).Draw(t, "tensors")
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensors := drawTensors(t)
		metadata := rapid.OneOf(rapid.Just(map[string]string(nil)), rapid.MapOfN(rapid.String(), rapid.String(), 0, 3)).Draw(t, "metadata")
		var b bytes.Buffer
		if err := Write(&b, tensors, metadata); err != nil {
			t.Fatal(err)
		}
		m, err := Open(context.Background(), FromReader(bytes.NewReader(b.Bytes()), int64(b.Len())), "f", Options{Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(metadata, m.Parts()[0].Header.Metadata); diff != "" {
			t.Fatal(diff)
		}
		if len(m.Entries()) != len(tensors) {
			t.Fatalf("%d tensors, want %d", len(m.Entries()), len(tensors))
		}
		for _, e := range m.Entries() {
			want := tensors[e.Name]
			got, err := m.Tensor(context.Background(), e.Name)
			if err != nil || !got.Equal(want) {
				t.Fatalf("%q: %v, %v, want %v", e.Name, err, got, want)
			}
			into := tensor.New(want.DType, want.Shape...)
			if err := m.ReadInto(context.Background(), e.Name, into); err != nil || !into.Equal(want) {
				t.Fatalf("%q into: %v", e.Name, err)
			}
			raw, err := m.Packed(context.Background(), e.Name)
			if err != nil || !bytes.Equal(raw, tensor.Pack(nil, want.DType, want.Data)) {
				t.Fatalf("%q packed: %v", e.Name, err)
			}
			if size := int64(want.DType.Bits() / 8); size > 1 && (e.Offset%size != 0 || e.Offset%8 != 0 && size == 8) {
				t.Fatalf("%q of %v lies at %d", e.Name, want.DType, e.Offset)
			}
		}
	})
}

func TestABoxIsAPartOfTheTensor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawTensor(t)
		var b bytes.Buffer
		if err := Write(&b, map[string]tensor.Tensor{"pad": tensor.New(tensor.Uint64, 1), "x": x}, nil); err != nil {
			t.Fatal(err)
		}
		gap := rapid.SampledFrom([]int64{-1, 1, 7, 0}).Draw(t, "gap")
		m, err := Open(context.Background(), FromReader(bytes.NewReader(b.Bytes()), int64(b.Len())), "f", Options{MaxGap: gap})
		if err != nil {
			t.Fatal(err)
		}
		origin, shape := make([]int, len(x.Shape)), make([]int, len(x.Shape))
		for i, n := range x.Shape {
			origin[i] = rapid.IntRange(0, n).Draw(t, "origin")
			shape[i] = rapid.IntRange(0, n-origin[i]).Draw(t, "extent")
		}
		got := make([]byte, tensor.Shape(shape).Len()*x.DType.Size())
		if err := m.ReadBox(context.Background(), "x", origin, shape, got); err != nil {
			t.Fatal(err)
		}
		if want := part(x, origin, shape); !bytes.Equal(got, want) {
			t.Fatalf("%v at %v of %v: got %x, want %x", shape, origin, x, got, want)
		}
	})
}

// part cuts a box out of a tensor, axis by axis.
func part(x tensor.Tensor, origin, shape []int) []byte {
	if len(origin) == 0 {
		return x.Data
	}
	var out []byte
	for i := range shape[0] {
		out = append(out, part(x.Index(origin[0]+i), origin[1:], shape[1:])...)
	}
	return out
}

func TestBoxReadsNoMoreThanItMust(t *testing.T) {
	x := tensor.New(tensor.Float32, 100, 100)
	file := mustWrite(t, map[string]tensor.Tensor{"x": x}, nil)
	for _, c := range []struct {
		origin, shape []int
		gap           int64
		calls         int
		bytes         int64
	}{
		{[]int{10, 0}, []int{30, 100}, -1, 1, 30 * 400},
		{[]int{0, 10}, []int{100, 1}, -1, 100, 100 * 4},
		{[]int{0, 10}, []int{100, 1}, 1000, 1, 99*400 + 4 + 28}, // from a boundary of 8 elements to another
		{[]int{5, 5}, []int{1, 1}, 0, 1, 4},
		{[]int{5, 5}, []int{0, 1}, 0, 0, 0},
	} {
		m, files, err := open(t, file, Options{MaxGap: c.gap})
		if err != nil {
			t.Fatal(err)
		}
		files.calls, files.bytes = 0, 0
		if err := m.ReadBox(t.Context(), "x", c.origin, c.shape, make([]byte, tensor.Shape(c.shape).Len()*4)); err != nil {
			t.Fatal(err)
		}
		if files.calls != c.calls || files.bytes > c.bytes {
			t.Errorf("%v at %v: %d calls, %d bytes; want %d, %d", c.shape, c.origin, files.calls, files.bytes, c.calls, c.bytes)
		}
	}
}

// The file that the reference library wrote comes out byte for byte.
func TestWritesWhatTheReferenceWrites(t *testing.T) {
	for _, name := range []string{"lib-mixed", "lib-mixed-nometa", "lib-empty", "lib-empty-meta"} {
		want, err := os.ReadFile(filepath.Join(vectors, "valid", name+".safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := open(t, want, Options{})
		if err != nil {
			t.Fatal(err)
		}
		tensors := map[string]tensor.Tensor{}
		for _, e := range m.Entries() {
			if tensors[e.Name], err = m.Tensor(t.Context(), e.Name); err != nil {
				t.Fatal(err)
			}
		}
		if got := mustWrite(t, tensors, m.Parts()[0].Header.Metadata); !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
}

func TestOrderHasEveryType(t *testing.T) {
	for _, d := range tensor.DTypes() {
		if _, ok := d.Safetensors(); ok != slices.Contains(order[:], d) {
			t.Errorf("%v: %v", d, ok)
		}
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	for name, c := range map[string]struct {
		name     string
		t        tensor.Tensor
		metadata map[string]string
		kind     errs.Kind
	}{
		"dtype":         {"a", tensor.New(tensor.Complex128, 1), nil, errs.Unsupported},
		"int4":          {"a", tensor.New(tensor.Int4, 2), nil, errs.Unsupported},
		"odd fp4":       {"a", tensor.New(tensor.Float4E2M1FN, 3), nil, errs.Invalid},
		"reserved name": {metadataKey, tensor.New(tensor.Int8, 1), nil, errs.Invalid},
		"name":          {"\xff", tensor.New(tensor.Int8, 1), nil, errs.Invalid},
		"metadata":      {"a", tensor.New(tensor.Int8, 1), map[string]string{"k": "\xff"}, errs.Invalid},
		"data":          {"a", tensor.Tensor{DType: tensor.Int8, Shape: tensor.Shape{2}, Data: []byte{1}}, nil, errs.Mismatch},
		"shape":         {"a", tensor.Tensor{DType: tensor.Int8, Shape: tensor.Shape{-2}}, nil, errs.Invalid},
		"overflow":      {"a", tensor.Tensor{DType: tensor.Int8, Shape: tensor.Shape{1 << 62, 8, 0}}, nil, errs.Invalid},
	} {
		var b bytes.Buffer
		if err := Write(&b, map[string]tensor.Tensor{c.name: c.t}, c.metadata); !errors.Is(err, c.kind) || b.Len() > 0 {
			t.Errorf("%s: %v, %d bytes written; want kind %v", name, err, b.Len(), c.kind)
		}
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	m, _, err := open(t, mustWrite(t, map[string]tensor.Tensor{"x": tensor.New(tensor.Int16, 2, 3)}, nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	_, missing := m.Tensor(ctx, "y")
	for name, c := range map[string]struct {
		err  error
		kind errs.Kind
	}{
		"name":       {missing, errs.NotFound},
		"range":      {m.ReadAt(ctx, "x", make([]byte, 2), 11), errs.Invalid},
		"start":      {m.ReadAt(ctx, "x", nil, -1), errs.Invalid},
		"dtype":      {m.ReadInto(ctx, "x", tensor.New(tensor.Uint16, 2, 3)), errs.Mismatch},
		"shape":      {m.ReadInto(ctx, "x", tensor.New(tensor.Int16, 3, 2)), errs.Mismatch},
		"box":        {m.ReadBox(ctx, "x", []int{1, 1}, []int{2, 1}, make([]byte, 4)), errs.Invalid},
		"rank":       {m.ReadBox(ctx, "x", []int{1}, []int{1}, make([]byte, 2)), errs.Invalid},
		"box memory": {m.ReadBox(ctx, "x", []int{1, 1}, []int{1, 1}, make([]byte, 3)), errs.Invalid},
	} {
		if !errors.Is(c.err, c.kind) {
			t.Errorf("%s: %v, want kind %v", name, c.err, c.kind)
		}
	}
}
