package safetensors

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/bivouac-ml/bivouac/tensor"
)

func BenchmarkOpen(b *testing.B) {
	tensors := map[string]tensor.Tensor{}
	for i := range 1500 {
		tensors[fmt.Sprintf("model.layers.%d.self_attn.q_proj.weight", i)] = tensor.New(tensor.Float32, 2, 3)
	}
	file := mustWrite(b, tensors, nil)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Open(b.Context(), FromReader(bytes.NewReader(file), int64(len(file))), "f", Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float4E2M1FN, tensor.Float6E3M2FN} {
		b.Run(d.String(), func(b *testing.B) {
			x := tensor.New(d, 16<<20/d.Size())
			file := mustWrite(b, map[string]tensor.Tensor{"x": x}, nil)
			m, err := Open(b.Context(), FromReader(bytes.NewReader(file), int64(len(file))), "f", Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(x.Data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := m.ReadInto(b.Context(), "x", x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadBox(b *testing.B) {
	x := tensor.New(tensor.Float32, 2048, 2048)
	file := mustWrite(b, map[string]tensor.Tensor{"x": x}, nil)
	m, err := Open(b.Context(), FromReader(bytes.NewReader(file), int64(len(file))), "f", Options{})
	if err != nil {
		b.Fatal(err)
	}
	dst := make([]byte, 2048*512*4)
	b.SetBytes(int64(len(dst)))
	b.ReportAllocs()
	for b.Loop() {
		if err := m.ReadBox(b.Context(), "x", []int{0, 512}, []int{2048, 512}, dst); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	x := map[string]tensor.Tensor{"x": tensor.New(tensor.Float32, 4<<20)}
	b.SetBytes(16 << 20)
	b.ReportAllocs()
	for b.Loop() {
		if err := Write(io.Discard, x, nil); err != nil {
			b.Fatal(err)
		}
	}
}
