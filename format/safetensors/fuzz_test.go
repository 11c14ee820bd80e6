package safetensors

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzFile opens a file and reads all of it; what opens must be consistent, and
// its header must come out again the same.
func FuzzFile(f *testing.F) {
	for _, v := range recorded(f) {
		f.Add(v.content)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, _, err := open(t, b, Options{})
		if err != nil {
			return
		}
		h := m.Parts()[0].Header
		if h.FileSize() != int64(len(b)) {
			t.Fatalf("a file of %d bytes is said to have %d", len(b), h.FileSize())
		}
		var all []byte
		for _, e := range m.Entries() {
			raw, err := m.Packed(t.Context(), e.Name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, raw...)
			if spec, err := e.Spec(); err == nil && int64(spec.Shape.Len()*spec.DType.Bits()) != 8*e.Size() {
				t.Fatalf("%v has %d bytes", spec, e.Size())
			}
			if _, err := e.Spec(); err == nil {
				if _, err := m.Tensor(t.Context(), e.Name); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !bytes.Equal(all, b[h.DataStart:]) {
			t.Fatal("the tensors are not the data")
		}
		again, _, err := open(t, append(h.Append(nil), all...), Options{Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		opts := []cmp.Option{cmpopts.IgnoreUnexported(Header{}), cmpopts.IgnoreFields(Header{}, "DataStart", "Duplicates"), cmpopts.EquateEmpty()}
		if diff := cmp.Diff(h, again.Parts()[0].Header, opts...); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"metadata":{"total_size":24},"weight_map":{"a":"model-00001-of-00002.safetensors"}}`))
	f.Add([]byte(`{"metadata":null,"weight_map":{"\u00e9\ud83d\ude00":"d/f"},"x":[1e9,{"y":false}]}`))
	f.Add([]byte(`{"weight_map":{"a":"../f"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := ParseIndex(b, "i")
		if err != nil {
			return
		}
		again, err := ParseIndex(x.JSON(), "i")
		if err != nil {
			t.Fatalf("%v in %q", err, x.JSON())
		}
		if diff := cmp.Diff(x.Files, again.Files); diff != "" {
			t.Fatal(diff)
		}
	})
}
