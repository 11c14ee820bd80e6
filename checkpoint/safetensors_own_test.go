package checkpoint_test

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

const safetensorsFile = "model.safetensors"

// ours is a safetensors checkpoint of ours, taken apart.
type ours struct {
	header map[string]json.RawMessage
	meta   map[string]string
	data   []byte
	m      *manifest.Manifest
}

func takeApart(t *testing.T, files content) *ours {
	t.Helper()
	b := files[safetensorsFile]
	n := int(binary.LittleEndian.Uint64(b))
	o := &ours{header: map[string]json.RawMessage{}, data: b[8+n:]}
	if err := json.Unmarshal(b[8:8+n], &o.header); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(o.header["__metadata__"], &o.meta); err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(files[manifest.Name])
	if err != nil {
		t.Fatal(err)
	}
	o.m = &manifest.Manifest{Files: m.Files, Leaves: m.Leaves, Heads: m.Heads}
	return o
}

// file is the file that the header and the data make, listed by the manifest.
func (o *ours) file(t *testing.T) []byte {
	t.Helper()
	raw, err := json.Marshal(o.meta)
	if err != nil {
		t.Fatal(err)
	}
	o.header["__metadata__"] = raw
	header, err := json.Marshal(o.header)
	if err != nil {
		t.Fatal(err)
	}
	b := append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), o.data...)
	o.m.Heads = []manifest.File{{Name: safetensorsFile, Size: int64(8 + len(header)), CRC: crc.Sum(b[:8+len(header)])}}
	for i := range o.m.Files {
		if o.m.Files[i].Name == safetensorsFile {
			o.m.Files[i] = manifest.File{Name: safetensorsFile, Size: int64(len(b)), CRC: crc.Sum(b)}
		}
	}
	return b
}

// A file and a manifest of which each is intact, and which do not belong together,
// or say what no save of ours does.
func TestSafetensorsOfAnotherManifest(t *testing.T) {
	o := checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.SafetensorsLayout}},
		Store: local.New(vfstest.NewMem(), "/", nil), Custom: map[string]int{"epoch": 3}}
	if err := checkpoint.Save(t.Context(), "c", map[string]any{"a": []float32{1, 2}, "b": []float32{3}, "c": []float32{4},
		"s": "text"}, &o); err != nil {
		t.Fatal(err)
	}
	saved := allFiles(t, o)
	for _, c := range []struct {
		name   string
		file   func(*ours) // changes what is in the file
		listed func(*ours) // changes the manifest alone
		sound  bool
	}{
		{name: "as it was", sound: true},
		{name: "made again", file: func(*ours) {}, sound: true},
		{name: "the header is not listed", listed: func(o *ours) { o.m.Heads = nil }},
		{name: "a longer header is listed", listed: func(o *ours) { o.m.Heads[0].Size = 1 << 60 }},
		{name: "another header is listed", listed: func(o *ours) { o.m.Heads[0].CRC ^= 1 }},
		{name: "no tree", file: func(o *ours) { delete(o.meta, orbax.TreeMember) }},
		{name: "metadata that is no JSON", file: func(o *ours) { o.meta[orbax.CustomMember] = "{" }},
		{name: "a tensor less", file: func(o *ours) {
			delete(o.header, "c")
			o.data = o.data[:len(o.data)-4]
		}},
		{name: "a tensor less, that is not listed either", file: func(o *ours) {
			delete(o.header, "c")
			o.data = o.data[:len(o.data)-4]
			o.m.Leaves = slices.DeleteFunc(o.m.Leaves, func(l manifest.Leaf) bool { return l.Param == "c" })
		}},
		{name: "a string less", file: func(o *ours) { o.meta[orbax.StringsMember] = "{}" }},
		{name: "a tensor more", file: func(o *ours) {
			o.header["d"] = json.RawMessage(`{"dtype":"F32","shape":[1],"data_offsets":[16,20]}`)
			o.data = append(o.data[:len(o.data):len(o.data)], 0, 0, 0, 0)
			o.m.Leaves = append(o.m.Leaves, manifest.Leaf{Item: orbax.StateItem, Param: "d", Size: 4, CRC: crc.Sum(make([]byte, 4))})
		}},
		{name: "a tensor is not listed", listed: func(o *ours) { o.m.Leaves = o.m.Leaves[1:] }},
		{name: "a tensor is listed as longer", listed: func(o *ours) { o.m.Leaves[0].Size++ }},
		{name: "a tensor has another sum", listed: func(o *ours) { o.m.Leaves[0].CRC ^= 1 }},
	} {
		o := takeApart(t, saved)
		files := saved
		if c.file != nil {
			c.file(o)
			files = files.with(safetensorsFile, o.file(t))
		}
		if c.listed != nil {
			c.listed(o)
		}
		files = files.with(manifest.Name, o.m.Append(nil))
		if err := load(files); (err == nil) != c.sound || err != nil && errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
