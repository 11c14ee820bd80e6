package zarr

import (
	"bytes"
	"context"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// inlineMem returns values of at most limit bytes inline.
type inlineMem struct {
	*mem
	limit int
}

func (m inlineMem) Look(ctx context.Context, key string) (int64, []byte, error) {
	n, err := m.Size(ctx, key)
	if err != nil || n > int64(m.limit) {
		return n, nil, err
	}
	return n, m.values[key], nil
}

// atHand encodes an array of one chunk and opens it.
func atHand(t *testing.T, d tensor.DType, shape tensor.Shape, l Layout, data []byte) (*Array, inlineMem) {
	t.Helper()
	m, err := NewMetadata(d, shape, l)
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEncoder(m, EncoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cell := make([]int, len(shape))
	value := make([]byte, e.MaxChunkSize(cell))
	n, _, err := e.EncodeChunk(value, cell, Source{data, WholeBox(shape)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kv := inlineMem{&mem{values: map[string][]byte{"a/" + e.Key(cell): value[:n]}}, 1000}
	a, err := New(kv, "a", m)
	if err != nil {
		t.Fatal(err)
	}
	return a, kv
}

func TestReadAtHand(t *testing.T) {
	data := []byte{1, 0, 1, 1, 0, 1}
	for name, c := range map[string]struct {
		shape tensor.Shape
		l     Layout
		ok    bool
	}{
		"shard":            {tensor.Shape{2, 3}, Layout{}, true},
		"shard, checked":   {tensor.Shape{2, 3}, Layout{Codecs: []CodecSpec{CRC32C()}}, true},
		"plain":            {tensor.Shape{6}, Layout{Plain: true}, true},
		"plain, checked":   {tensor.Shape{6}, Layout{Plain: true, Codecs: []CodecSpec{CRC32C()}}, true},
		"format 2":         {tensor.Shape{6}, Layout{Format: V2}, true},
		"Fortran":          {tensor.Shape{2, 3}, Layout{Plain: true, Fortran: true}, false},
		"padded":           {tensor.Shape{6}, Layout{Chunk: []int{8}}, false},
		"several":          {tensor.Shape{6}, Layout{Chunk: []int{6}, SubChunk: []int{2}}, false},
		"several chunks":   {tensor.Shape{6}, Layout{Chunk: []int{2}}, false},
		"compressed":       {tensor.Shape{6}, Layout{Codecs: []CodecSpec{Zstd(1)}}, false},
		"checked two ways": {tensor.Shape{6}, Layout{Codecs: []CodecSpec{CRC32C(), CRC32C()}}, false},
	} {
		a, kv := atHand(t, tensor.Bool, c.shape, c.l, data)
		dst := bytes.Repeat([]byte{9}, len(data))
		ok, err := a.ReadAtHand(t.Context(), dst)
		if ok != c.ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
			continue
		}
		if want := bytes.Repeat([]byte{9}, len(data)); ok && !bytes.Equal(dst, data) || !ok && !bytes.Equal(dst, want) {
			t.Errorf("%s: %v", name, dst)
		}
		kv.limit = 0
		if b, err := New(kv, "a", a.meta); err != nil {
			t.Fatal(err)
		} else if ok, err := b.ReadAtHand(t.Context(), dst); ok || err != nil {
			t.Errorf("%s, not at hand: %v, %v", name, ok, err)
		}
	}
}

// A fault in a value is an error, or is left to the other way of reading. Only plain elements
// without a checksum may be wrong unnoticed.
func TestReadAtHandDamaged(t *testing.T) {
	data := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	for name, l := range map[string]Layout{
		"shard": {Codecs: []CodecSpec{CRC32C()}}, "plain": {Plain: true, Codecs: []CodecSpec{CRC32C()}},
	} {
		a, kv := atHand(t, tensor.Uint64, nil, l, data)
		value, dst := kv.values["a/c"], make([]byte, 8)
		for i := range value {
			for bit := range 8 {
				value[i] ^= 1 << bit
				ok, err := a.ReadAtHand(t.Context(), dst)
				if ok || err != nil && errs.KindOf(err) != errs.Corrupt || i < 12 && err == nil {
					t.Errorf("%s, byte %d: %v, %v", name, i, ok, err)
				}
				value[i] ^= 1 << bit
			}
		}
		for n := range value {
			kv.values["a/c"] = value[:n]
			if ok, err := a.ReadAtHand(t.Context(), dst); ok || err != nil {
				t.Errorf("%s, %d bytes of it: %v, %v", name, n, ok, err)
			}
		}
		if ok, err := a.ReadAtHand(t.Context(), dst[:4]); ok || err != nil {
			t.Errorf("%s, less memory: %v, %v", name, ok, err)
		}
	}
	a, kv := atHand(t, tensor.Bool, nil, Layout{Plain: true}, []byte{1})
	kv.values["a/c"][0] = 2
	if ok, err := a.ReadAtHand(t.Context(), make([]byte, 1)); ok || errs.KindOf(err) != errs.Corrupt {
		t.Errorf("a bool of 2: %v, %v", ok, err)
	}
}

// An opener gives arrays of the same metadata what it made of the first, and
// each its own name.
func TestOpenerShares(t *testing.T) {
	kv := &mem{values: map[string][]byte{}}
	for i, name := range []string{"a", "b", "c", "d"} {
		m, err := NewMetadata(tensor.Float32, tensor.Shape{1 + i%2}, Layout{})
		if err != nil {
			t.Fatal(err)
		}
		if kv.values[name+"/zarr.json"], err = m.JSON(); err != nil {
			t.Fatal(err)
		}
	}
	o := NewOpener(kv)
	opened := map[string]*Array{}
	for _, name := range []string{"a", "b", "c", "d", "c"} {
		a, err := o.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if a.metadataKey() != name+"/zarr.json" {
			t.Errorf("%s has the key %s", name, a.metadataKey())
		}
		opened[name] = a
	}
	if opened["a"].meta != opened["c"].meta || opened["b"].meta != opened["d"].meta || opened["a"].meta == opened["b"].meta {
		t.Error("arrays of other metadata share, or those of the same do not")
	}
}
