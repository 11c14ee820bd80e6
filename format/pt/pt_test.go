package pt

import (
	"archive/zip"
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/pickle"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

const recorded = "../../testdata/dcp/"

func openBytes(b []byte) (*Archive, error) { return Open(bytes.NewReader(b), int64(len(b))) }

func recordedFile(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(recorded + name)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// Views of one storage have their places in it.
func TestViews(t *testing.T) {
	b := recordedFile(t, "files/views.pt")
	a, err := openBytes(b)
	if err != nil || !a.Checked {
		t.Fatal(a, err)
	}
	model := a.Root.Get("model")
	head, tail := model.Get("head").Value.(*Tensor), model.Get("tail").Value.(*Tensor)
	if head.Storage != tail.Storage || head.First != 0 || tail.First != 10 || !head.Plain() {
		t.Errorf("%+v, %+v", head, tail)
	}
	turned, column := model.Get("turned").Value.(*Tensor), model.Get("column").Value.(*Tensor)
	if turned.Plain() || column.Plain() {
		t.Error("a transposed tensor and a column do not lie in C order")
	}
	for _, x := range []*Tensor{head, tail, turned, column} {
		storage := b[x.Storage.Offset : x.Storage.Offset+x.Storage.Size]
		if err := x.Storage.Verify(storage); err != nil {
			t.Error(err)
		}
		if err := x.Storage.Verify(append(slices.Clone(storage[:79]), storage[79]^1)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("a changed storage: %v", err)
		}
	}
	first, length := column.Extent()
	dst := make([]byte, 16)
	column.Gather(dst, b[column.Storage.Offset+first:][:length])
	if want := tensor.FromSlice([]float32{1, 6, 11, 16}); !bytes.Equal(dst, want.Data) {
		t.Errorf("column: %v", dst)
	}
	if a.Root.Get("epoch").Value != int64(3) || !a.Root.Get("empty").IsEmpty() || a.Root.Get("none").Kind != tree.List {
		t.Error("values")
	}
}

func TestArchiveWithoutChecksums(t *testing.T) {
	a, err := openBytes(recordedFile(t, "files/unchecked.pt"))
	if err != nil || a.Checked {
		t.Fatal(a, err)
	}
	if err := a.Root.Get("w").Value.(*Tensor).Storage.Verify(nil); err != nil {
		t.Errorf("nothing to compare with: %v", err)
	}
}

// gather works like Gather, element by element.
func gather(x *Tensor, extent []byte) []byte {
	var out []byte
	var walk func(axis, at int)
	walk = func(axis, at int) {
		if axis == len(x.Shape) {
			out = append(out, extent[at])
			return
		}
		for i := range x.Shape[axis] {
			walk(axis+1, at+i*x.Strides[axis])
		}
	}
	walk(0, 0)
	return out
}

func TestGatherLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 4).Draw(t, "rank")
		x := &Tensor{DType: tensor.Uint8}
		for range rank {
			x.Shape = append(x.Shape, rapid.IntRange(0, 4).Draw(t, "extent"))
			x.Strides = append(x.Strides, rapid.IntRange(0, 9).Draw(t, "stride"))
		}
		_, length := x.Extent()
		extent := make([]byte, length)
		for i := range extent {
			extent[i] = byte(i)
		}
		dst := make([]byte, x.Shape.Len())
		x.Gather(dst, extent)
		if want := gather(x, extent); !bytes.Equal(dst, want) {
			t.Fatalf("%v, want %v", dst, want)
		}
		if x.Plain() && !bytes.Equal(dst, extent) {
			t.Fatalf("plain, and not in order: %v", dst)
		}
	})
}

// member is a file of an archive that a test makes.
type member struct {
	name, data string
	deflate    bool
}

func archiveOf(tb testing.TB, members ...member) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Store}
		if m.deflate {
			h.Method = zip.Deflate
		}
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(f, m.data)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// rebuild is the pickle of a tensor of float32. rest are the instructions for offset, shape and
// strides.
func rebuild(count, rest string) string {
	return "ctorch._utils\n_rebuild_tensor_v2\n((Vstorage\nctorch\nFloatStorage\nV0\nVcpu\nI" + count + "\ntQ" + rest +
		"I00\nccollections\nOrderedDict\n)RtR."
}

// Archives that are not of torch.save, or whose value is not what its storages are.
func TestRefusals(t *testing.T) {
	data := member{"a/data/0", strings.Repeat("x", 16), false}
	good := rebuild("4", "I0\n(I2\nI2\nt(I2\nI1\nt")
	a, err := openBytes(archiveOf(t, member{"a/data.pkl", good, false}, data))
	if err != nil || a.Root.Value.(*Tensor).First != 0 {
		t.Fatal("the case without a fault:", err)
	}
	with := func(pickle string) []byte { return archiveOf(t, member{"a/data.pkl", pickle, false}, data) }
	for name, c := range map[string]struct {
		b    []byte
		kind errs.Kind
		want string
	}{
		"nothing":             {nil, errs.Corrupt, "archive of torch.save"},
		"no archive":          {[]byte("PK\x03\x04 and no more"), errs.Corrupt, "archive of torch.save"},
		"no value":            {archiveOf(t, data), errs.Corrupt, "data.pkl"},
		"a deflated value":    {archiveOf(t, member{"a/data.pkl", "N.", true}), errs.Unsupported, "compression"},
		"a deflated storage":  {archiveOf(t, member{"a/data.pkl", good, false}, member{"a/data/0", data.data, true}), errs.Unsupported, "compression"},
		"two values":          {archiveOf(t, member{"a/data.pkl", "N.", false}, member{"a/data.pkl", "N.", false}), errs.Corrupt, "two files"},
		"big-endian":          {archiveOf(t, member{"a/data.pkl", "N.", false}, member{"a/byteorder", "big", false}), errs.Unsupported, "little"},
		"no storage":          {archiveOf(t, member{"a/data.pkl", good, false}), errs.Corrupt, "data/0"},
		"a storage elsewhere": {archiveOf(t, member{"a/data.pkl", strings.Replace(good, "V0\n", "V../../b\n", 1), false}, data), errs.Corrupt, "no such file"},
		"a smaller storage":   {with(rebuild("9", "I0\n(I2\nI2\nt(I2\nI1\nt")), errs.Corrupt, "9 elements"},
		"too many elements":   {with(rebuild("4", "I0\n(I5\nt(I1\nt")), errs.Corrupt, "beyond its storage"},
		"an offset beyond":    {with(rebuild("4", "I9\n(I1\nt(I1\nt")), errs.Corrupt, "beyond its storage"},
		"a negative offset":   {with(rebuild("4", "I-1\n(I1\nt(I1\nt")), errs.Corrupt, "arguments"},
		"a negative stride":   {with(rebuild("4", "I0\n(I2\nt(I-1\nt")), errs.Corrupt, "arguments"},
		"a negative extent":   {with(rebuild("4", "I0\n(I-2\nt(I1\nt")), errs.Corrupt, "arguments"},
		"too few strides":     {with(rebuild("4", "I0\n(I2\nI2\nt(I1\nt")), errs.Corrupt, "strides"},
		"a huge shape":        {with(rebuild("4", "I0\n(L4611686018427387904L\nL4611686018427387904L\nt(I0\nI0\nt")), errs.Corrupt, "shape"},
		"a huge stride":       {with(rebuild("4", "I0\n(I3\nI3\nt(L9223372036854775807L\nL9223372036854775807L\nt")), errs.Corrupt, "strides"},
		"a bomb of strides":   {with(rebuild("4", "I0\n(L1099511627776L\nt(I0\nt")), errs.Unsupported, "contiguous()"},
		"no arguments":        {with("ctorch._utils\n_rebuild_tensor_v2\n)R."), errs.Corrupt, "arguments"},
		"calls of calls":      {with(strings.Repeat("ctorch._utils\n_rebuild_parameter\n(", 9) + strings.Repeat("tR", 9) + "."), errs.Corrupt, "arguments"},
		"an unknown storage":  {with(strings.Replace(good, "FloatStorage", "QInt8Storage", 1)), errs.Unsupported, "QInt8Storage"},
		"a type":              {with("ctorch\nfloat32\n."), errs.Unsupported, "torch.float32"},
		"a storage by itself": {with("(Vstorage\nctorch\nFloatStorage\nV0\nVcpu\nI4\ntQ."), errs.Unsupported, "persistent"},
		"a key of None":       {with("}NNs."), errs.Unsupported, "keys"},
		"1 and the text 1":    {with("}(I1\nNV1\nNu."), errs.Unsupported, "twice"},
		"another encoding":    {with("c_codecs\nencode\n(Vx\nVutf-8\ntR."), errs.Unsupported, "encode"},
		"a deep list":         {with(strings.Repeat("]", 500) + strings.Repeat("a", 499) + "."), errs.Exhausted, "levels"},
		"a list of itself":    {with("]q\x00h\x00a."), errs.Exhausted, "levels"},
		"an array of objects": {with("cnumpy\ndtype\n(VO8\nI00\nI01\ntR(I3\nV|\nNNNI-1\nI-1\nI0\ntb0cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(VO8\nI00\nI01\ntR(I3\nV|\nNNNI-1\nI-1\nI0\ntbVx\ntR."), errs.Unsupported, "|O8"},
	} {
		_, err := openBytes(c.b)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.kind, c.want)
		}
	}
}

// A value that refers to one list twice, forty times over, does not become 2^40 nodes.
func TestSharedValuesAreBounded(t *testing.T) {
	var s strings.Builder
	s.WriteString("]")
	for i := range 40 {
		s.WriteString("q" + string(rune(i)) + "0(h" + string(rune(i)) + "h" + string(rune(i)) + "l")
	}
	b := archiveOf(t, member{"a/data.pkl", s.String() + ".", false})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := openBytes(b)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, errs.Exhausted) || after.TotalAlloc-before.TotalAlloc > 8<<20 {
		t.Errorf("%v after %d bytes", err, after.TotalAlloc-before.TotalAlloc)
	}
	n, err := openBytes(archiveOf(t, member{"a/data.pkl", "](]q\x00h\x00h\x00e.", false}))
	if err != nil || n.Root.Len() != 3 {
		t.Errorf("a value that is shared a few times: %v", err)
	}
}

// counting counts the bytes that are read.
type counting struct {
	r io.ReaderAt
	n int
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.n += len(p)
	return c.r.ReadAt(p, off)
}

// Open reads the ends of a large archive, and no elements.
func TestOpenReadsNoElements(t *testing.T) {
	n := 16 << 20
	b := archiveOf(t, member{"a/data.pkl", rebuild("4194304", "I0\n(I4194304\nt(I1\nt"), false},
		member{"a/data/0", strings.Repeat("x", n), false})
	c := &counting{r: bytes.NewReader(b)}
	a, err := Open(c, int64(len(b)))
	if err != nil || c.n > 64<<10 {
		t.Fatalf("%d bytes were read: %v", c.n, err)
	}
	s := a.Root.Value.(*Tensor).Storage
	if s.CRC != crc32.ChecksumIEEE(b[s.Offset:s.Offset+s.Size]) || s.Size != int64(n) {
		t.Errorf("%+v", s)
	}
}

func TestDTypes(t *testing.T) {
	if d, ok := DType("bfloat16"); !ok || d != tensor.BFloat16 {
		t.Error(d, ok)
	}
	if _, ok := DType("qint8"); ok || !IsType("qint8") || IsType("device") {
		t.Error("types without a counterpart are types")
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(archiveOf(f, member{"a/data.pkl", rebuild("4", "I0\n(I2\nI2\nt(I2\nI1\nt"), false},
		member{"a/data/0", strings.Repeat("x", 16), false}))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := openBytes(b)
		if err != nil {
			return
		}
		for _, e := range tree.Flatten(a.Root) {
			x, ok := e.Node.Value.(*Tensor)
			if !ok {
				continue
			}
			first, length := x.Extent()
			if first+length > x.Storage.Size || x.Storage.Offset+x.Storage.Size > int64(len(b)) {
				t.Fatalf("a tensor outside of its storage: %+v %+v", x, x.Storage)
			}
			dst := make([]byte, x.Shape.Len()*x.DType.Size())
			x.Gather(dst, b[x.Storage.Offset+first:][:length])
		}
	})
}

// FuzzValue tries pickles by themselves, which the checksums of an archive would hide.
func FuzzValue(f *testing.F) {
	f.Add([]byte(rebuild("4", "I0\n(I2\nI2\nt(I2\nI1\nt")))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := pickle.Parse(b, pickle.Options{Listed: listed})
		if err != nil {
			return
		}
		root, err := build(v, len(b), func(string) (*Storage, error) { return &Storage{Size: 64, Checked: true}, nil })
		if err != nil {
			if errs.KindOf(err) == errs.Other {
				t.Errorf("an error without a kind: %v", err)
			}
			return
		}
		nodes := tree.Flatten(root)
		if len(nodes) > freeNodes+nodesPerByte*len(b) {
			t.Errorf("%d nodes of %d bytes", len(nodes), len(b))
		}
		for _, e := range nodes {
			x, ok := e.Node.Value.(*Tensor)
			if !ok {
				continue
			}
			if first, length := x.Extent(); first < 0 || length < 0 || first+length > 64 {
				t.Fatalf("a tensor outside of its storage: %+v", x)
			}
			x.Gather(make([]byte, x.Shape.Len()*x.DType.Size()), make([]byte, 64))
			for i, o := range x.Origin {
				if o < 0 || o+x.Shape[i] > x.Whole[i] {
					t.Fatalf("a part outside of the whole: %+v", x)
				}
			}
		}
	})
}
