package caffe

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

// TestDatumIsReadAsWritten: a record of Caffe is read as it was written.
func TestDatumIsReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Datum{
			Channels: rapid.Int32().Draw(t, "c"), Height: rapid.Int32().Draw(t, "h"), Width: rapid.Int32().Draw(t, "w"),
			Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data"), Floats: rapid.SliceOfN(rapid.Float32(), 1, 5).Draw(t, "floats"),
			HasLabel: rapid.Bool().Draw(t, "has label"), HasEncoded: rapid.Bool().Draw(t, "has encoded"),
		}
		if want.HasLabel {
			want.Label = rapid.Int32().Draw(t, "label")
		}
		want.Encoded = want.HasEncoded && rapid.Bool().Draw(t, "encoded")
		got, err := ParseDatum(append(AppendDatum(nil, want), number(nil, 99, 7)...)) // with a field of a newer version
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v %v, want %+v", got, err, want)
		}
	})
}

// TestTensorsAreReadAsWritten: a record of Caffe2 is read as it was written, into the memory of
// another one.
func TestTensorsAreReadAsWritten(t *testing.T) {
	want := []Tensor{
		{Type: String, Dims: []int64{1}, Strings: [][]byte{[]byte("a file")}, Floats: []float32{}, Ints: []int32{}},
		{Type: Int32, Dims: []int64{2, 1}, Ints: []int32{-1, 1 << 30}, Floats: []float32{}, Strings: [][]byte{}},
		{Type: Float, Dims: []int64{}, Floats: []float32{1, 0.5}, Ints: []int32{}, Strings: [][]byte{}},
		{Type: Byte, Dims: []int64{0}, Bytes: []byte{}, Floats: []float32{}, Ints: []int32{}, Strings: [][]byte{}},
	}
	used, err := ParseTensors(AppendTensors(nil, Tensor{Type: Byte, Dims: []int64{9}, Ints: []int32{5},
		Floats: []float32{5}, Strings: [][]byte{{1}}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseTensors(AppendTensors(nil, want...), used[:0])
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d tensors, %v", len(got), err)
	}
	for i := range want {
		g, w := got[i], want[i]
		if g.Type != w.Type || len(g.Dims) != len(w.Dims) || len(g.Floats) != len(w.Floats) ||
			len(g.Ints) != len(w.Ints) || len(g.Strings) != len(w.Strings) ||
			len(g.Ints) > 0 && !reflect.DeepEqual(g.Ints, w.Ints) || len(g.Dims) > 0 && !reflect.DeepEqual(g.Dims, w.Dims) ||
			string(g.Bytes) != string(w.Bytes) ||
			len(g.Strings) > 0 && string(g.Strings[0]) != string(w.Strings[0]) || len(g.Floats) > 0 &&
			!reflect.DeepEqual(g.Floats, w.Floats) {
			t.Errorf("tensor %d: got %+v, want %+v", i, g, w)
		}
	}
}

// TestNumbersThatAreNotPacked: repeated numbers may come one by one.
func TestNumbersThatAreNotPacked(t *testing.T) {
	m := number(number(number(nil, 2, uint64(Int32)), 4, 5), 4, 6)
	m = append(m, 3<<3|5, 0, 0, 0x80, 0x3f)
	list, err := ParseTensors(block(nil, 1, m), nil)
	if err != nil || !reflect.DeepEqual(list[0].Ints, []int32{5, 6}) || !reflect.DeepEqual(list[0].Floats, []float32{1}) {
		t.Fatalf("got %+v %v", list, err)
	}
}

// TestDamage: damaged records are refused with the message and the offset.
func TestDamage(t *testing.T) {
	whole := AppendDatum(nil, Datum{Data: []byte("abc"), Label: 3, HasLabel: true})
	for name, b := range map[string][]byte{
		"cut": whole[:len(whole)-1], "cut data": whole[:3], "field 0": {0, 1}, "a long number": {0x28, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"a length beyond": {0x22, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, "a group": {0x23}, "a label of bytes": {0x2a, 0}, "data of a number": {0x20, 1},
		"floats of 3 bytes": {0x32, 3, 1, 2, 3},
	} {
		if _, err := ParseDatum(b); errs.KindOf(err) != errs.Corrupt || !strings.Contains(err.Error(), "offset") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseTensors([]byte{0x0a, 2, 0x22, 1}, nil); errs.KindOf(err) != errs.Corrupt ||
		!strings.Contains(err.Error(), "tensor 0") {
		t.Errorf("a damaged tensor: %v", err)
	}
	if _, err := ParseTensors([]byte{0x08, 2}, nil); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("a tensor of a number: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(AppendDatum(nil, Datum{Channels: 3, Height: 2, Width: 1, Data: []byte("pixels"), Label: 7, HasLabel: true,
		HasEncoded: true}))
	f.Add(AppendTensors(nil, Tensor{Type: String, Dims: []int64{1}, Strings: [][]byte{[]byte("x")}},
		Tensor{Type: Int32, Ints: []int32{1, 2}}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if d, err := ParseDatum(b); err == nil {
			again, err := ParseDatum(AppendDatum(nil, d))
			if err != nil || again.Label != d.Label || string(again.Data) != string(d.Data) ||
				len(again.Floats) != len(d.Floats) {
				t.Fatalf("got %+v %v, want %+v", again, err, d)
			}
		}
		if list, err := ParseTensors(b, nil); err == nil {
			if again, err := ParseTensors(AppendTensors(nil, list...), nil); err != nil || len(again) != len(list) {
				t.Fatalf("%d tensors, want %d: %v", len(again), len(list), err)
			}
		}
	})
}
