package layout

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tensor"
)

// filed is files by their names in the store.
type filed struct {
	store.Store // the rest is not called
	files       map[string][]byte
}

func (m filed) Open(_ context.Context, name string) (store.Reader, error) {
	if b, ok := m.files[name]; ok {
		return inReader(b), nil
	}
	return nil, &errs.Error{Kind: errs.NotFound, Subject: name}
}

func (m filed) Stat(_ context.Context, name string) (store.Info, error) {
	if b, ok := m.files[name]; ok {
		return store.Info{Name: name, Size: int64(len(b))}, nil
	}
	return store.Info{}, &errs.Error{Kind: errs.NotFound, Subject: name}
}

type inReader []byte

func (r inReader) Size() int64  { return int64(len(r)) }
func (r inReader) Close() error { return nil }

func (r inReader) ReadAt(_ context.Context, p []byte, off int64) error {
	if off < 0 || off > int64(len(r)) || copy(p, r[off:]) < len(p) {
		return &errs.Error{Kind: errs.IO, Got: "the end of the file"}
	}
	return nil
}

// under returns a checkpoint of the files whose manifest is of those listed.
func under(t *testing.T, files, listed map[string][]byte) *Checkpoint {
	t.Helper()
	m := &manifest.Manifest{}
	for name, b := range listed {
		m.Files = append(m.Files, manifest.File{Name: name, Size: int64(len(b)), CRC: crc.Sum(b), Runs: manifest.Runs(b, 0)})
	}
	st := filed{files: map[string][]byte{}}
	for name, b := range files {
		st.files["c/"+name] = b
	}
	parsed, err := manifest.Parse(m.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return &Checkpoint{st: st, raw: st, name: "c", Manifest: parsed}
}

func wantCorrupt(t *testing.T, what string, err error) {
	t.Helper()
	if errs.KindOf(err) != errs.Corrupt {
		t.Errorf("%s: %v", what, err)
	}
}

// A file of a handler is compared with the manifest when it is opened, whether it is kept or read
// again.
func TestDirectoryRefuses(t *testing.T) {
	ctx := t.Context()
	for _, size := range []int{100, checkedBytes + 3} {
		good := make([]byte, size)
		bad, short := bytes.Clone(good), good[:size-1]
		bad[size/2] = 1
		for what, b := range map[string][]byte{"a flipped bit": bad, "a byte less": short,
			"a byte more": append(bytes.Clone(good), 0)} {
			_, err := under(t, map[string][]byte{"x/f": b}, map[string][]byte{"x/f": good}).Directory("x").Open(ctx, "f")
			wantCorrupt(t, what, err)
		}
		f, err := under(t, map[string][]byte{"x/f": good}, map[string][]byte{"x/f": good}).Directory("x").Open(ctx, "f")
		if err != nil || f.Size() != int64(size) {
			t.Errorf("undamaged: %v", err)
		}
	}
	_, err := under(t, nil, map[string][]byte{"x/f": nil}).Directory("x").Open(ctx, "f")
	wantCorrupt(t, "a file that is gone", err)
}

// Of what a key signed, a file that is gone or has another size is damage, and so
// is a read beyond its end.
func TestSealedRefuses(t *testing.T) {
	ctx := t.Context()
	good := bytes.Repeat([]byte("bytes"), 50)
	listed := map[string][]byte{"x/f": good}
	s := under(t, nil, listed).seal()
	_, err := s.Open(ctx, "c/x/f")
	wantCorrupt(t, "open what is gone", err)
	_, err = s.Stat(ctx, "c/x/f")
	wantCorrupt(t, "look at what is gone", err)
	_, err = under(t, map[string][]byte{"x/f": append(bytes.Clone(good), 1)}, listed).seal().Open(ctx, "c/x/f")
	wantCorrupt(t, "a byte more", err)

	r, err := under(t, listed, listed).seal().Open(ctx, "c/x/f")
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 10)
	if err := r.ReadAt(ctx, p, 5); err != nil || !bytes.Equal(p, good[5:15]) {
		t.Errorf("undamaged: %q, %v", p, err)
	}
	for _, off := range []int64{-1, int64(len(good)) - 9, int64(len(good)), 1<<63 - 5} {
		wantCorrupt(t, "a read out of the file", r.ReadAt(ctx, p, off))
	}
}

// Sub-chunks without the checksum that they should end in.
func TestSubChunkRefused(t *testing.T) {
	region := zarr.WholeBox([]int{2})
	s := &sums{leaf: manifest.Leaf{Chunks: []uint32{7}}, tied: true, shape: []int{2}, grid: []int{1}, sub: []int{2},
		size: 4}
	for n := range 4 {
		wantCorrupt(t, "too short", s.suffix(bySuffix, region, make([]byte, n)))
	}
	if err := s.suffix(bySuffix, region, binary.LittleEndian.AppendUint32([]byte("data"), 7)); err != nil {
		t.Error(err)
	}
	wantCorrupt(t, "of another place", s.suffix(bySuffix, region, binary.LittleEndian.AppendUint32([]byte("data"), 8)))
	a := &zarrArray{stored: &stored{fill: true}, sums: s}
	wantCorrupt(t, "missing", a.fillPart(&zarr.Part{Key: "k", Missing: true}, region, make([]byte, 8)))
}

// An array of numpy that has become another one since its file was opened.
func TestNumpyChangedSince(t *testing.T) {
	ctx := t.Context()
	x := tensor.New(tensor.Float32, 2, 3)
	var b bytes.Buffer
	w := npy.NewArchiveWriter(&b, true)
	if err := w.Write("x", x); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := Open(ctx, filed{files: map[string][]byte{"a.npz": b.Bytes()}}, "a.npz")
	if err != nil {
		t.Fatal(err)
	}
	open, err := c.Tree(ctx, "state")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close() //nolint:errcheck // nothing was written
	l := &open.Leaves[0]
	if err := l.Read(ctx, make([]byte, l.Bytes())); err != nil {
		t.Fatalf("undamaged: %v", err)
	}
	a := l.array.(numpyArray)
	a.h.Shape, l.Shape = tensor.Shape{3, 2}, tensor.Shape{3, 2}
	l.array = a
	wantCorrupt(t, "another shape", l.Read(ctx, make([]byte, l.Bytes())))
}
