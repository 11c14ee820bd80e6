package dcp

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

const recorded = "../../testdata/dcp/"

func recordedMetadata(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(recorded + name + "/" + MetadataName)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func parse(tb testing.TB, name string) map[string]Entry {
	tb.Helper()
	m, err := Parse(recordedMetadata(tb, name))
	if err != nil {
		tb.Fatal(name, err)
	}
	out := map[string]Entry{}
	for _, e := range m.Entries {
		out[e.Key] = e
	}
	return out
}

func TestEntries(t *testing.T) {
	m, err := Parse(recordedMetadata(t, "small"))
	if err != nil || m.Version != "1.0.0" || len(m.Entries) != 4 || m.Entries[0].Key != "w" {
		t.Fatal(m, err)
	}
	all := parse(t, "small")
	w := all["w"]
	if w.Err != nil || w.DType != tensor.Float32 || !w.Shape.Equal(tensor.Shape{4, 3}) || len(w.Chunks) != 1 || w.Moved {
		t.Errorf("%+v", w)
	}
	if b := all["m.b"]; !b.Value || b.Path.String() != "m.b" || len(b.Path) != 2 || b.Chunks[0].File != "__0_0.distcp" {
		t.Errorf("%+v", b)
	}
	mesh := parse(t, "mesh")
	both := mesh["model.both"]
	if len(both.Chunks) != 4 || !slices.Equal(both.Chunks[3].Origin, []int{3, 4}) ||
		both.Chunks[3].File != "__3_0.distcp" {
		t.Errorf("%+v", both)
	}
	tiny := mesh["model.tiny"]
	if len(tiny.Chunks) != 2 || tensor.Shape(tiny.Chunks[1].Shape).Len() != 0 || tiny.Err != nil {
		t.Errorf("an empty chunk: %+v", tiny)
	}
	if e := parse(t, "single")["views.transposed"]; !e.Moved {
		t.Error("a transposed tensor lies in another order")
	}
	if p := parse(t, "single")["dotted.key.a.b"].Path; len(p) != 2 || p[0].Name != "dotted.key" {
		t.Errorf("keys with dots: %v", p)
	}
	if e := parse(t, "flat")["n"]; len(e.Path) != 1 || e.Path[0].Name != "n" {
		t.Errorf("without a planner: %+v", e)
	}
	old := parse(t, "old")["w"]
	if old.Err != nil || old.DType != tensor.Float32 || len(old.Path) != 1 {
		t.Errorf("old metadata: %+v", old)
	}
	if c := parse(t, "zstd")["z"].Chunks[0]; !slices.Equal(c.Transforms, []string{"stream.zstd/1"}) {
		t.Errorf("%+v", c)
	}
}

// changed returns recorded metadata in which one text is another of the same length.
func changed(t *testing.T, name, old, with string) []byte {
	t.Helper()
	s := string(recordedMetadata(t, name))
	if len(old) != len(with) || !strings.Contains(s, old) {
		t.Fatalf("%q for %q in %s", with, old, name)
	}
	return []byte(strings.Replace(s, old, with, 1))
}

// Faults of the file are errors of Parse, faults of an entry errors of the entry.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		b    []byte
		kind errs.Kind
		want string
	}{
		"a name of the system": {[]byte("cposix\nsystem\n(Vtouch x\ntR."), errs.Unsupported, "posix.system"},
		"a name of torch":      {[]byte("ctorch.hub\nload\n(Vx\ntR."), errs.Unsupported, "torch.hub.load"},
		"another value":        {[]byte("N."), errs.Corrupt, "None"},
		"nothing":              {nil, errs.Corrupt, "STOP"},
		"no entries":           {changed(t, "small", "state_dict_metadata", "state_dict_metadatx"), errs.Corrupt, "state_dict_metadata"},
		"no places":            {changed(t, "small", "storage_data", "storage_datx"), errs.Corrupt, "storage_data"},
		"another version":      {changed(t, "small", "1.0.0", "2.0.0"), errs.Unsupported, "2.0.0"},
		"another class":        {changed(t, "small", "_StorageInfo", "_StorageInfx"), errs.Unsupported, "_StorageInfx"},
		"another storage":      {changed(t, "small", "_StorageInfo", "_StorageMeta"), errs.Unsupported, "_StorageMeta"},
		"a file outside":       {changed(t, "small", "__0_0.distcp", "../../passwd"), errs.Corrupt, "../../passwd"},
		"an absolute file":     {changed(t, "small", "__0_0.distcp", "/etc/passwdx"), errs.Corrupt, "/etc/passwdx"},
		"a file of a folder":   {changed(t, "small", "__0_0.distcp", "a/../b/c.dis"), errs.Corrupt, "a/../b"},
		"a place without file": {changed(t, "small", "relative_path", "relative_patx"), errs.Corrupt, "without file"},
	} {
		_, err := Parse(c.b)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.kind, c.want)
		}
	}
	for name, c := range map[string]struct {
		b    []byte
		kind errs.Kind
		want string
	}{
		"a quantized type":  {changed(t, "small", "float32", "bits1x8"), errs.Unsupported, "torch.bits1x8"},
		"a lost chunk":      {changed(t, "mesh", "sizes", "sizex"), errs.Corrupt, "offsets and sizes"},
		"a lost property":   {changed(t, "small", "properties", "propertiex"), errs.Corrupt, "properties"},
		"a sparse tensor":   {changed(t, "small", "torch.strided", "torch.sparse_"), errs.Unsupported, "layout"},
		"another transform": {changed(t, "zstd", "stream.zstd/1", "stream.lz4x/1"), errs.Unsupported, "stream.lz4x"},
		"a newer transform": {changed(t, "zstd", "stream.zstd/1", "stream.zstd/2"), errs.Unsupported, "stream.zstd/2"},
		"a place elsewhere": {changed(t, "small", "fqn", "fqm"), errs.Corrupt, "fqn"},
	} {
		m, err := Parse(c.b)
		if err == nil {
			for _, e := range m.Entries {
				if e.Err != nil && err == nil {
					err = e.Err
				}
			}
		}
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) && c.want != "fqn" {
			t.Errorf("%s: %v, want %v with %q", name, err, c.kind, c.want)
		}
	}
}

func TestUndo(t *testing.T) {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(strings.Repeat("an archive ", 1000))
	frames := w.EncodeAll(text, nil)
	two := w.EncodeAll(text, slices.Clone(frames))
	packed, plain := Chunk{Transforms: []string{"stream.zstd/1"}}, Chunk{}
	if b, err := plain.Undo(nil, text, 0); err != nil || &b[0] != &text[0] {
		t.Error("bytes without a transform are themselves:", err)
	}
	for _, c := range []struct {
		stored []byte
		limit  int
		want   string
	}{
		{frames, len(text), string(text)}, {two, 2 * len(text), string(text) + string(text)},
		{frames, len(text) - 1, ""}, {two, len(text), ""}, {frames[:len(frames)-1], 1 << 20, ""},
		{append(slices.Clone(frames), 1), 1 << 20, ""}, {nil, 1 << 20, ""},
	} {
		b, err := packed.Undo(nil, c.stored, c.limit)
		if string(b) != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, errs.Corrupt) {
			t.Errorf("%d bytes with limit %d: %d bytes, %v", len(c.stored), c.limit, len(b), err)
		}
	}
}

// Chunks tile a tensor if and only if each element is in one chunk.
func TestTilesLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 3).Draw(t, "rank")
		shape := make(tensor.Shape, rank)
		for i := range shape {
			shape[i] = rapid.IntRange(1, 5).Draw(t, "extent")
		}
		whole := Chunk{Origin: make([]int, rank), Shape: slices.Clone(shape)}
		chunks := []Chunk{whole}
		for range rapid.IntRange(0, 8).Draw(t, "cuts") {
			chunks = split(t, chunks)
		}
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			i := rapid.IntRange(0, len(chunks)-1).Draw(t, "chunk")
			switch rapid.IntRange(0, 2).Draw(t, "change") {
			case 0:
				chunks = append(chunks, chunks[i])
			case 1:
				if len(chunks) > 1 {
					chunks = slices.Delete(slices.Clone(chunks), i, i+1)
				}
			case 2:
				if rank > 0 {
					c := Chunk{Origin: slices.Clone(chunks[i].Origin), Shape: slices.Clone(chunks[i].Shape)}
					axis := rapid.IntRange(0, rank-1).Draw(t, "axis")
					c.Shape[axis] = rapid.IntRange(0, shape[axis]-c.Origin[axis]).Draw(t, "size")
					chunks[i] = c
				}
			}
		}
		chunks = rapid.Permutation(chunks).Draw(t, "order")
		want := eachOnce(shape, chunks)
		if err := Tiles(shape, chunks); (err == nil) != want {
			t.Fatalf("%v of %v: %v, want %v", chunks, shape, err, want)
		}
	})
}

// split cuts one chunk in two.
func split(t *rapid.T, chunks []Chunk) []Chunk {
	i := rapid.IntRange(0, len(chunks)-1).Draw(t, "chunk")
	c := chunks[i]
	if len(c.Shape) == 0 {
		return chunks
	}
	axis := rapid.IntRange(0, len(c.Shape)-1).Draw(t, "axis")
	at := rapid.IntRange(0, c.Shape[axis]).Draw(t, "at")
	low := Chunk{Origin: slices.Clone(c.Origin), Shape: slices.Clone(c.Shape)}
	high := Chunk{Origin: slices.Clone(c.Origin), Shape: slices.Clone(c.Shape)}
	low.Shape[axis] = at
	high.Origin[axis] += at
	high.Shape[axis] -= at
	return append(append(slices.Clone(chunks[:i]), low, high), chunks[i+1:]...)
}

// eachOnce reports whether each element of an array is in one chunk.
func eachOnce(shape tensor.Shape, chunks []Chunk) bool {
	counts := make([]int, shape.Len())
	for _, c := range chunks {
		for n := range tensor.Shape(c.Shape).Len() {
			place, rest := 0, n
			at := make([]int, len(c.Shape))
			for i := len(c.Shape) - 1; i >= 0; i-- {
				at[i] = rest%c.Shape[i] + c.Origin[i]
				rest /= c.Shape[i]
			}
			for i, a := range at {
				place = place*shape[i] + a
			}
			counts[place]++
		}
	}
	return !slices.ContainsFunc(counts, func(n int) bool { return n != 1 })
}

// The five chunks of a pinwheel tile a square, although no line cuts them apart.
func TestPinwheel(t *testing.T) {
	chunk := func(a, b, h, w int) Chunk { return Chunk{Origin: []int{a, b}, Shape: []int{h, w}} }
	wheel := []Chunk{chunk(0, 0, 1, 2), chunk(0, 2, 2, 1), chunk(2, 1, 1, 2), chunk(1, 0, 2, 1), chunk(1, 1, 1, 1)}
	if err := Tiles(tensor.Shape{3, 3}, wheel); err != nil {
		t.Error(err)
	}
	wheel[4] = chunk(0, 1, 1, 1)
	err := Tiles(tensor.Shape{3, 3}, wheel)
	if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "[0:1, 1:2]") {
		t.Error(err)
	}
}

// Many chunks take time in proportion, whether they tile the tensor or not.
func TestTilesTakesLittleTime(t *testing.T) {
	const n = 200_000
	var line, spiral, same []Chunk
	for i := range n {
		line = append(line, Chunk{Origin: []int{i, 0}, Shape: []int{1, 1}})
		same = append(same, Chunk{Origin: []int{0, 0}, Shape: []int{n, 1}})
		if i%2 == 0 {
			spiral = append(spiral, Chunk{Origin: []int{i / 2, i / 2}, Shape: []int{1, n - i/2}})
		} else {
			spiral = append(spiral, Chunk{Origin: []int{i/2 + 1, i / 2}, Shape: []int{n - i/2 - 1, 1}})
		}
	}
	start := time.Now()
	if err := Tiles(tensor.Shape{n, 1}, line); err != nil {
		t.Error("a line:", err)
	}
	if err := Tiles(tensor.Shape{n, 1}, same); !errors.Is(err, errs.Corrupt) {
		t.Error("the same chunk:", err)
	}
	if err := Tiles(tensor.Shape{n, n}, spiral); err == nil {
		t.Error("a spiral with a hole")
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("%v", d)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(recordedMetadata(f, "attack"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			if errs.KindOf(err) == errs.Other {
				t.Errorf("an error without a kind: %v", err)
			}
			return
		}
		for _, e := range m.Entries {
			if e.Err != nil || e.Value {
				continue
			}
			if _, err := e.Shape.Bytes(e.DType); err != nil {
				t.Errorf("%s: %v", e.Key, err)
			}
			if e.Shape.Len() > 0 && e.Shape.Len() < 1<<12 && !eachOnce(e.Shape, e.Chunks) {
				t.Errorf("%s: chunks that do not tile it", e.Key)
			}
		}
	})
}
