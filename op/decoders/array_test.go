package decoders

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestArrayVectors(t *testing.T) { dalivec.RunCommitted(t, "detection", "decoders.numpy") }

// What numpy writes comes back, in every order and version, whatever header came before.
func TestNumpyLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 4).Draw(t, "shape")
		x := tensor.New(tensor.Int32, shape...)
		for i := range x.Len() {
			x.Data[4*i], x.Data[4*i+1] = byte(i), byte(i>>8)
		}
		y := tensor.FromSlice([]int32{1, 2, 3}, 3)
		o := &npy.WriteOptions{Fortran: rapid.Bool().Draw(t, "fortran"), BigEndian: rapid.Bool().Draw(t, "big")}
		file, err := npy.Encode(x, o)
		if err != nil {
			t.Fatal(err)
		}
		other, err := npy.Encode(y, nil)
		if err != nil {
			t.Fatal(err)
		}
		all := []tensor.Tensor{tensor.FromSlice(file), tensor.FromSlice(other), tensor.FromSlice(file)}
		for i := range all {
			all[i].Shape = tensor.Shape{len(all[i].Data)}
		}
		r, err := optest.Run(optest.Case{Op: "decoders.numpy", Args: op.Args{"dtype": tensor.Int32},
			Inputs: [][]tensor.Tensor{all}})
		if err != nil || len(r.Errors) > 0 {
			t.Fatal(err, r.Errors)
		}
		for i, want := range []tensor.Tensor{x, y, x} {
			if got := r.Outputs[0][i]; !got.Shape.Equal(want.Shape) || !bytes.Equal(got.Data, want.Data) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	})
}

// blocks are texts and their LZ4 blocks: literal bytes alone, a copy that overlaps itself, long
// lengths.
func blocks() map[string][]byte {
	long := bytes.Repeat([]byte("a"), 300)
	return map[string][]byte{
		"":                        {0x00},
		"abc":                     {0x30, 'a', 'b', 'c'},
		"abababababab12345":       {0x26, 'a', 'b', 2, 0, 0x50, '1', '2', '3', '4', '5'},
		string(long) + "12345":    {0x1f, 'a', 1, 0, 255, 25, 0x50, '1', '2', '3', '4', '5'},
		"0123456789abcdefghij":    append([]byte{0xf0, 5}, "0123456789abcdefghij"...),
		"xyzxyzxyz" + "endendend": append([]byte{0x32, 'x', 'y', 'z', 3, 0, 0x32, 'e', 'n', 'd', 3, 0}, 0x00)[:12],
	}
}

func inflateOf(data []byte, args op.Args) (tensor.Tensor, error) {
	in := tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{len(data)}, Data: data}
	r, err := optest.Run(optest.Case{Op: "decoders.inflate", Args: args, Inputs: optest.Inputs(in)})
	if err == nil {
		err = r.Errors[0]
	}
	if err != nil {
		return tensor.Tensor{}, err
	}
	return r.Outputs[0][0], nil
}

func TestInflate(t *testing.T) {
	for text, block := range blocks() {
		got, err := inflateOf(block, op.Args{"shape": len(text)})
		if text == "xyzxyzxyzendendend" { // it ends with a copy, which LZ4 does not allow
			if !errors.Is(err, errs.Corrupt) {
				t.Errorf("a block that ends with a copy: %v", err)
			}
			continue
		}
		if err != nil || string(got.Data) != text {
			t.Errorf("%q: %q %v", text, got.Data, err)
		}
		for _, wrong := range []int{len(text) + 1, max(len(text)-1, 0)} {
			if _, err := inflateOf(block, op.Args{"shape": wrong}); wrong != len(text) && !errors.Is(err, errs.Corrupt) {
				t.Errorf("%q into %d bytes: %v", text, wrong, err)
			}
		}
		for n := range block {
			if _, err := inflateOf(block[:n], op.Args{"shape": len(text)}); n > 0 && !errors.Is(err, errs.Corrupt) {
				t.Errorf("%d bytes of %q: %v", n, text, err)
			}
		}
	}
}

// A copy must come from bytes that were written.
func TestInflateRefusesDistances(t *testing.T) {
	for _, distance := range []byte{0, 2, 255} {
		if _, err := inflateOf([]byte{0x10, 'a', distance, 0, 0x00}, op.Args{"shape": 5}); !errors.Is(err, errs.Corrupt) {
			t.Errorf("distance %d after 1 byte: %v", distance, err)
		}
	}
}

// Chunks become the first axis, given by their sizes, their beginnings, or both.
func TestInflateChunks(t *testing.T) {
	a, b := []byte{0x40, 1, 2, 3, 4}, []byte{0x40, 5, 6, 7, 8}
	data := slices.Concat(a, b)
	for _, args := range []op.Args{
		{"chunk_sizes": []int{5, 5}}, {"chunk_offsets": []int{0, 5}}, {"chunk_offsets": []int{0, 5}, "chunk_sizes": []int{5, 5}},
		{"chunk_sizes": optest.Samples{tensor.FromSlice([]int32{5, 5}, 2)}},
	} {
		args["shape"], args["dtype"], args["layout"] = []int{2, 1}, tensor.Int16, "XY"
		got, err := inflateOf(data, args)
		if err != nil || !got.Shape.Equal(tensor.Shape{2, 2, 1}) || got.Layout != "FXY" ||
			!bytes.Equal(got.Data, []byte{1, 2, 3, 4, 5, 6, 7, 8}) {
			t.Errorf("%v: %v %q %v %v", args, got, got.Layout, got.Data, err)
		}
	}
	got, err := inflateOf(data, op.Args{"chunk_offsets": []int{5}, "shape": []int{4}, "layout": "W",
		"sequence_axis_name": "D"})
	if err != nil || got.Layout != "DW" || !bytes.Equal(got.Data, b[1:]) {
		t.Errorf("a chunk that does not begin at 0: %v %v", got, err)
	}
	for _, args := range []op.Args{
		{"chunk_sizes": []int{5, 6}}, {"chunk_offsets": []int{-1}}, {"chunk_offsets": []int{0, 99}}, {"chunk_sizes": []int{1 << 62, 1 << 62}},
		{"chunk_offsets": []int{0, 5}, "chunk_sizes": []int{5}}, {"chunk_sizes": []int{0}}, {"algorithm": "zip"}, {"sequence_axis_name": ""}, {"layout": "XY"},
	} {
		args["shape"] = 4
		if _, err := inflateOf(data, args); !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Mismatch) &&
			!errors.Is(err, errs.Unsupported) {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, err := op.Lookup("experimental.inflate"); err != nil {
		t.Error(err)
	}
}

// No bytes make the decoder panic or write beyond its output.
func TestInflateNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SliceOf(rapid.Byte()).Draw(t, "block")
		memory := make([]byte, rapid.IntRange(0, 64).Draw(t, "size")+1)
		dst := memory[: len(memory)-1 : len(memory)-1]
		if err := inflateLZ4(dst, src); err != nil && !errors.Is(err, errs.Corrupt) {
			t.Fatal(err)
		}
		if memory[len(memory)-1] != 0 {
			t.Fatal("a byte behind the output was written")
		}
	})
}

func TestArraysAllocateNothing(t *testing.T) {
	file, err := npy.Encode(tensor.New(tensor.Float64, 3, 4), &npy.WriteOptions{Fortran: true})
	if err != nil {
		t.Fatal(err)
	}
	f := tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{len(file)}, Data: file}
	block := tensor.FromSlice([]byte{0x40, 1, 2, 3, 4}, 5)
	optest.CheckAllocations(t, []optest.Case{
		{Op: "decoders.numpy", Args: op.Args{"dtype": tensor.Float32}, Inputs: [][]tensor.Tensor{{f, f, f}}},
		{Op: "decoders.inflate", Args: op.Args{"shape": 4, "chunk_sizes": 5}, Inputs: [][]tensor.Tensor{{block, block}}},
	})
}
