package npy

import (
	"bytes"
	"testing"

	"github.com/bivouac-ml/bivouac/tensor"
)

func BenchmarkRead(b *testing.B) {
	x := tensor.New(tensor.Float32, 2048, 2048)
	for name, o := range map[string]*WriteOptions{"plain": nil, "fortran": {Fortran: true}, "big-endian": {BigEndian: true}} {
		b.Run(name, func(b *testing.B) {
			file, err := Encode(x, o)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(x.Data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(file); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkArchive(b *testing.B) {
	x := tensor.New(tensor.Float32, 1<<20)
	for i := range x.Data {
		x.Data[i] = byte(i * i >> 9)
	}
	for name, deflate := range map[string]bool{"stored": false, "deflated": true} {
		b.Run(name, func(b *testing.B) {
			file := archive(b, deflate, map[string]tensor.Tensor{"x": x})
			b.SetBytes(int64(len(x.Data)))
			b.ReportAllocs()
			for b.Loop() {
				a, err := OpenArchive(bytes.NewReader(file), int64(len(file)), Options{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := a.Read("x"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkHeader(b *testing.B) {
	file, err := Encode(tensor.New(tensor.Float32, 3, 224, 224), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadHeader(bytes.NewReader(file), int64(len(file))); err != nil {
			b.Fatal(err)
		}
	}
}
