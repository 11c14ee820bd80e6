package checkpoint_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Tests that make mutate asked for: each fails when one line of the save or
// verify path is taken out.

// A read that fails is an error, and never a value: each call of the file
// system fails in turn.
func TestEveryReadFails(t *testing.T) {
	ctx := context.Background()
	mem := vfstest.NewMem()
	large := tensor.New(tensor.Uint8, 3, 3<<20)
	for i := range large.Data {
		large.Data[i] = byte(i>>9 ^ i)
	}
	state := map[string]any{"large": large, "w": slices.Repeat([]float32{1.5}, 700), "n": int64(3), "name": "text"}
	if err := checkpoint.Save(ctx, "c", state, &checkpoint.SaveOptions{Store: local.New(mem, "/", nil)}); err != nil {
		t.Fatal(err)
	}
	want, err := tree.From(state)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		f := vfstest.NewFault(mem, vfstest.Plan{N: n, Err: syscall.EIO})
		got, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: local.New(f, "/", nil)})
		call, hits := f.Hit()
		switch {
		case err == nil && !tree.Equal(want, got):
			t.Fatalf("call %d, %v, failed: wrong values, and no error", n, call)
		case err != nil && !errors.Is(err, syscall.EIO):
			t.Errorf("call %d, %v, failed: the error says something else: %v", n, call, err)
		case err == nil && hits > 0 && call.Op != vfstest.OpClose:
			t.Errorf("call %d, %v, failed, and there is no error", n, call)
		}
		if hits == 0 {
			break
		}
	}
	for n := 1; ; n++ {
		f := vfstest.NewFault(mem, vfstest.Plan{N: n, Err: syscall.EIO,
			Only: func(c vfstest.Call) bool { return c.Op != vfstest.OpClose }})
		r, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: local.New(f, "/", nil)})
		if call, hits := f.Hit(); hits == 0 {
			if err != nil || !r.OK() {
				t.Fatalf("undamaged: %v", err)
			}
			break
		} else if err == nil && (r.OK() || !errors.Is(errors.Join(r.Problems...), syscall.EIO)) || err != nil &&
			!errors.Is(err, syscall.EIO) {
			t.Errorf("Verify: call %d, %v, failed: %v", n, call, err)
		}
	}
}

// rewritten returns the files with another manifest.
func rewritten(t *testing.T, files content, change func(*manifest.Manifest)) content {
	t.Helper()
	m, err := manifest.Parse(files[manifest.Name])
	if err != nil {
		t.Fatal(err)
	}
	fresh := &manifest.Manifest{Files: m.Files, Leaves: m.Leaves, Heads: m.Heads, Nodes: m.Nodes}
	change(fresh)
	return files.with(manifest.Name, fresh.Append(nil))
}

func load(files content) error {
	_, err := checkpoint.LoadCheckpointables(context.Background(), "c",
		&checkpoint.LoadOptions{Store: contentStore{files: files}})
	return err
}

// A manifest that is intact and not the one of this checkpoint.
func TestAnotherManifest(t *testing.T) {
	for _, s := range specimens(t, 21, 21) {
		leaf := func(m *manifest.Manifest, param string) int {
			return slices.IndexFunc(m.Leaves, func(l manifest.Leaf) bool { return l.Param == param })
		}
		for name, change := range map[string]func(*manifest.Manifest){
			"an array is not listed": func(m *manifest.Manifest) { i := leaf(m, "left"); m.Leaves = slices.Delete(m.Leaves, i, i+1) },
			"an inline array is not listed": func(m *manifest.Manifest) {
				if i := leaf(m, "a"); i >= 0 {
					m.Leaves = slices.Delete(m.Leaves, i, i+1)
				}
				m.Nodes = nil
			},
			"an array is larger":       func(m *manifest.Manifest) { m.Leaves[leaf(m, "left")].Size++ },
			"an array has another sum": func(m *manifest.Manifest) { m.Leaves[leaf(m, "left")].CRC ^= 1 },
			"a file more is listed": func(m *manifest.Manifest) {
				m.Files = append(m.Files, manifest.File{Name: "elsewhere/file", Size: 3, CRC: 3})
			},
		} {
			if err := load(rewritten(t, s.files, change)); errs.KindOf(err) != errs.Corrupt {
				t.Errorf("%s: %s: got %v", s.name, name, err)
			}
		}
		listed := rewritten(t, s.files, func(m *manifest.Manifest) {
			m.Files = append(m.Files, manifest.File{Name: "state/file", Size: 3, CRC: 3})
		})
		if found, err := s.verify(listed); !found || err != nil {
			t.Errorf("%s: Verify does not miss a file: %v", s.name, err)
		}
	}
}

// A file that the manifest lists and that is gone is damage, never absence.
func TestMissingFileIsDamage(t *testing.T) {
	for _, s := range specimens(t, 22, 22) {
		for name := range s.files {
			if err := load(s.files.with(name, nil)); err != nil && errs.KindOf(err) != errs.Corrupt {
				t.Errorf("%s: without %s: got %v", s.name, name, err)
			}
		}
	}
}

// The documents beside the arrays are compared with the manifest too.
func TestArraysDocumentDamage(t *testing.T) {
	s := specimens(t, 24, 24)[0]
	const name = "state/array_metadatas/process_0"
	good := []byte(`{"array_metadatas": []}`)
	files := rewritten(t, s.files.with(name, good), func(m *manifest.Manifest) {
		m.Files = append(m.Files, manifest.File{Name: name, Size: int64(len(good)), CRC: crc.Sum(good)})
	})
	if err := load(files); err != nil {
		t.Fatalf("undamaged: %v", err)
	}
	bad := bytes.Replace(good, []byte("[]"), []byte("[ "), 1)
	for what, b := range map[string][]byte{"flipped": bad, "cut": good[:5],
		"of other text": []byte(`{"array_metadatas" :[]}`)} {
		if err := load(files.with(name, b)); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// plain returns a checkpoint whose one array, of three sub-chunks, lies in a
// directory, under a manifest of ours.
func plain(t *testing.T, codecs ...zarr.CodecSpec) (files content, array string) {
	t.Helper()
	x := tensor.New(tensor.Float32, 3, 8<<10)
	rand.NewChaCha8([32]byte{25}).Read(x.Data) //nolint:errcheck // documented never to fail
	s := preserve(t, "plain", writer.V1, 25, map[string]any{"state": map[string]any{"x": x}})
	meta, err := zarr.NewMetadata(x.DType, x.Shape, zarr.Layout{SubChunk: []int{1, 8 << 10}, Codecs: codecs})
	if err != nil {
		t.Fatal(err)
	}
	document, err := meta.JSON()
	if err != nil {
		t.Fatal(err)
	}
	e, err := zarr.NewEncoder(meta, zarr.EncoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	shard, sums := make([]byte, e.MaxChunkSize([]int{0, 0})), make([]uint32, e.SubChunks())
	n, _, err := e.EncodeChunk(shard, []int{0, 0}, zarr.Source{Data: x.Data, Box: zarr.WholeBox(x.Shape)}, sums)
	if err != nil {
		t.Fatal(err)
	}
	array = "state/x/" + e.Key([]int{0, 0})
	files = content{}
	for name, b := range s.files {
		if !strings.Contains(name, "/d/") && name != "state/manifest.ocdbt" {
			files[name] = b
		}
	}
	files["state/_METADATA"] = bytes.Replace(files["state/_METADATA"], []byte(`"use_ocdbt":true`),
		[]byte(`"use_ocdbt":false`), 1)
	files["state/x/zarr.json"], files[array] = document, shard[:n]
	leaf := manifest.Leaf{Item: "state", Param: "x", Size: int64(len(x.Data)), CRC: crc.Sum(x.Data)}
	if len(codecs) > 0 {
		for i := range 3 {
			leaf.Chunks = append(leaf.Chunks, crc.Sum(x.Data[i*32<<10:(i+1)*32<<10]))
		}
	}
	return listing(files, leaf), array
}

// listing gives the files a manifest of what they are now.
func listing(files content, leaves ...manifest.Leaf) content {
	m := &manifest.Manifest{Leaves: leaves}
	for name, b := range files {
		if name != manifest.Name {
			m.Files = append(m.Files, manifest.File{Name: name, Size: int64(len(b)), CRC: crc.Sum(b)})
		}
	}
	return files.with(manifest.Name, m.Append(nil))
}

// An array whose format has no checksums is compared with the manifest's.
func TestPlainArrayDamage(t *testing.T) {
	files, array := plain(t)
	if err := load(files); err != nil {
		t.Fatalf("undamaged: %v", err)
	}
	b := bytes.Clone(files[array])
	b[len(b)/3] ^= 4
	if err := load(files.with(array, b)); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("a flipped bit: %v", err)
	}
}

// failingStore is a store in which one read fails.
type failingStore struct {
	contentStore
	left *atomic.Int64 // reads that succeed
}

type failingReader struct {
	store.Reader
	left *atomic.Int64
}

func (s failingStore) Open(ctx context.Context, name string) (store.Reader, error) {
	r, err := s.contentStore.Open(ctx, name)
	return failingReader{r, s.left}, err
}

func (r failingReader) ReadAt(ctx context.Context, p []byte, off int64) error {
	if r.left.Add(-1) == -1 {
		return &errs.Error{Kind: errs.IO, Op: "store.ReadAt", Err: syscall.EIO}
	}
	return r.Reader.ReadAt(ctx, p, off)
}

// Sub-chunks that are decoded before they have their place.
func TestEveryReadOfCompressedFails(t *testing.T) {
	files, _ := plain(t, zarr.Zstd(1))
	for n := int64(0); ; n++ {
		var left atomic.Int64
		left.Store(n)
		_, err := checkpoint.LoadCheckpointables(context.Background(), "c",
			&checkpoint.LoadOptions{Store: failingStore{contentStore{files: files}, &left}})
		if left.Load() >= 0 {
			if err != nil || n < 5 {
				t.Errorf("%d reads, error %v", n, err)
			}
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("read %d failed: %v", n, err)
		}
	}
}

// A shard, intact by its own checksums, that leaves out a sub-chunk which the
// manifest lists.
func TestSubChunkLeftOut(t *testing.T) {
	files, array := plain(t, zarr.CRC32C())
	if err := load(files); err != nil {
		t.Fatalf("undamaged: %v", err)
	}
	m, err := manifest.Parse(files[manifest.Name])
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(entry []byte){
		"missing":                   func(entry []byte) { copy(entry, bytes.Repeat([]byte{0xff}, 16)) },
		"shorter than its checksum": func(entry []byte) { binary.LittleEndian.PutUint64(entry[8:], 2) },
		"empty":                     func(entry []byte) { binary.LittleEndian.PutUint64(entry[8:], 0) },
	} {
		b := bytes.Clone(files[array])
		index := b[len(b)-3*16-4:]
		change(index[16:32])
		binary.LittleEndian.PutUint32(index[48:], crc.Sum(index[:48]))
		if err := load(listing(files.with(array, b), m.Leaves...)); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Two files that both have a tensor of one name: either could be meant.
func TestTensorInTwoFiles(t *testing.T) {
	file := func(name string) []byte {
		header := `{"` + name + `":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
		return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), 1, 2, 3, 4)
	}
	if err := load(content{"a.safetensors": file("v"), "b.safetensors": file("w")}); err != nil {
		t.Fatalf("undamaged: %v", err)
	}
	both := content{"a.safetensors": file("w"), "b.safetensors": file("w")}
	if err := load(both); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("got %v", err)
	}
	r, err := integrity.Verify(context.Background(), "c", &integrity.VerifyOptions{Store: contentStore{files: both}})
	if err != nil || r.OK() {
		t.Errorf("Verify finds nothing: %v", err)
	}
}

// foreign returns the files as another writer would have left them: without a
// manifest and without the mark that there was one.
func foreign(s specimen) content {
	files := maps.Clone(s.files)
	delete(files, manifest.Name)
	for name, b := range files {
		files[name] = bytes.ReplaceAll(b, []byte(`"bivouac"`), []byte(`"another"`))
	}
	return files
}

// Nor does Verify need checksums for what is no JSON, nor a load for what is not a bool.
func TestForeignValues(t *testing.T) {
	ctx := t.Context()
	o := checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.PlainZarr2}},
		Store: local.New(vfstest.NewMem(), "/", nil)}
	items := map[string]any{"state": map[string]any{"w": []bool{true, false, true}}, "data": json.RawMessage(`{"a": 1}`)}
	if err := checkpoint.SaveCheckpointables(ctx, "c", items, &o); err != nil {
		t.Fatal(err)
	}
	files := foreign(specimen{files: allFiles(t, o)})
	verified := func(files content) int {
		r, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: contentStore{files: files}})
		if err != nil {
			t.Fatal(err)
		}
		return len(r.Problems)
	}
	if n, err := verified(files), load(files); n != 0 || err != nil {
		t.Fatalf("undamaged: %d problems, %v", n, err)
	}
	if n := verified(files.with("data/data.json", []byte("{"))); n != 1 {
		t.Errorf("no JSON: %d problems", n)
	}
	changed := 0
	for name, b := range files {
		if bytes.Equal(b, []byte{1, 0, 1}) {
			changed++
			bad := files.with(name, []byte{1, 2, 1})
			if n, err := verified(bad), load(bad); n != 1 || errs.KindOf(err) != errs.Corrupt {
				t.Errorf("a bool of 2: %d problems, %v", n, err)
			}
		}
	}
	if changed != 1 {
		t.Errorf("%d files of bools", changed)
	}
}

// What no checksum covers is still compared with what it must be.
func TestForeignDamage(t *testing.T) {
	s := specimens(t, 23, 23)[1]
	files := foreign(s)
	if err := errors.Join(s.examine(files), load(files)); err != nil {
		t.Fatalf("undamaged: %v", err)
	}
	replace := func(name, old, fresh string) content {
		b := bytes.ReplaceAll(files[name], []byte(old), []byte(fresh))
		if bytes.Equal(b, files[name]) {
			t.Fatalf("%q is not in %s:\n%s", old, name, b)
		}
		return files.with(name, b)
	}
	for name, damaged := range map[string]content{
		"JSON":                   replace("data/data.json", `}`, ``),
		"a string is gone":       replace("state/_strings.json", `"note"`, `"nope"`),
		"an array is gone":       replace("state/_METADATA", `left`, `lost`),
		"an array for a scalar":  replace("state/_METADATA", `"step"`, `"left"`),
		"the strings are gone":   files.with("state/_strings.json", nil),
		"documents are no JSON":  files.with("state/_strings.json", []byte("[")),
		"the tree is no JSON":    files.with("state/_METADATA", []byte("[")),
		"a scalar of rank 1":     replace("state/_METADATA", `np.ndarray`, `scalar`),
		"two leaves of one name": replace("state/_METADATA", `right`, `left`),
	} {
		if err := load(damaged); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// What cannot be saved is refused before anything is written.
func TestSaveRefusals(t *testing.T) {
	ctx := context.Background()
	if err := checkpoint.Save(ctx, "", 1, &checkpoint.SaveOptions{Store: local.New(vfstest.NewMem(), "/",
		nil)}); errs.KindOf(err) != errs.Invalid {
		t.Errorf("no name: %v", err)
	}
	mem := vfstest.NewMem()
	st := local.New(vfstest.NewFault(mem, vfstest.Plan{N: 1, Forever: true, Err: syscall.EIO,
		Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpStat }}), "/", nil)
	if err := checkpoint.Save(ctx, "c", map[string]any{"a": 1}, &checkpoint.SaveOptions{Store: st}); !errors.Is(err,
		syscall.EIO) {
		t.Errorf("not known whether the name is free: %v", err)
	}
	if _, err := checkpoint.SaveAsync(ctx, "c", map[string]any{"a": 1},
		&checkpoint.SaveOptions{Store: st}); !errors.Is(err, syscall.EIO) {
		t.Errorf("in the background, not known whether the name is free: %v", err)
	}
	if err := checkpoint.Save(ctx, "d", map[string]any{"a": 1},
		&checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{MemoryBudget: -2}},
			Store: local.New(mem, "/", nil)}); errs.KindOf(err) != errs.Invalid {
		t.Errorf("a negative budget: %v", err)
	}
	if _, err := (writer.Handlers{}).Collect(ctx,
		map[string]any{"data": json.RawMessage("{")}); errs.KindOf(err) != errs.Invalid {
		t.Errorf("an item that is no JSON: %v", err)
	}
}
