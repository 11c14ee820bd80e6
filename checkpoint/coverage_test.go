package checkpoint_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// filesOf reads all files below a directory.
func filesOf(t testing.TB, dir string) content {
	t.Helper()
	out := content{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out[name], err = os.ReadFile(filepath.Join(dir, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// foreignCases are checkpoints that Orbax and others wrote.
var foreignCases = []string{"v1-scalars", "v1-containers", "v1-keys", "v1-shapes", "v1-noocdbt-zarr2",
	"v1-noocdbt-zarr3", "v1-two-processes", "st-single", "v0-standard"}

func foreignDir(t testing.TB, name string) string {
	t.Helper()
	root := filepath.Join("../testdata/orbax", name)
	for _, below := range []string{"checkpoint", "ckpt", "run/1", "."} {
		if dir := filepath.Join(root, below); checkpoint.IsCheckpoint(context.Background(), dir, nil) {
			return dir
		}
	}
	t.Skipf("%s holds no single checkpoint", name)
	return ""
}

// leafBytes loads every array, by item and parameter.
func leafBytes(ctx context.Context, files content) (map[string]string, error) {
	o := &checkpoint.LoadOptions{Store: contentStore{files: files}}
	all, err := checkpoint.LoadCheckpointables(ctx, "c", o)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for item, v := range all {
		root, ok := v.(*tree.Node)
		if !ok {
			continue
		}
		for _, e := range tree.Flatten(root) {
			if x, ok := e.Node.Value.(tensor.Tensor); ok {
				out[item+"/"+e.Path.Param()] = x.String() + string(x.Data)
			}
		}
	}
	return out, nil
}

// TestWhatIsCoveredIsNoticed: of a leaf that Verify calls covered no byte can change in a
// data file without Verify finding it, in checkpoints that others wrote.
func TestWhatIsCoveredIsNoticed(t *testing.T) {
	ctx := t.Context()
	for _, name := range foreignCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := filesOf(t, foreignDir(t, name))
			verify := func(files content) (*integrity.Report, error) {
				return integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: contentStore{files: files}})
			}
			r, err := verify(files)
			if err != nil || r.Verdict() != integrity.Readable {
				t.Fatalf("%v, %v", r.Verdict(), err)
			}
			want, err := leafBytes(ctx, files)
			if err != nil {
				t.Fatal(err)
			}
			documents := map[string]bool{}
			for _, p := range r.Parts {
				documents[p.Path] = documents[p.Path] || p.Document
			}
			covered := func(key string) bool {
				for _, p := range r.Parts {
					if !p.Document && path.Join(p.Item, p.Path) == key {
						return p.Covered == p.Bytes
					}
				}
				return false
			}
			tried := 0
			for file, b := range files {
				if documents[file] {
					continue
				}
				step := 1 + len(b)/25
				if sampled() {
					step = 1 + len(b)/6
				}
				for at := 0; at < len(b); at += step {
					changed := append([]byte{}, b...)
					changed[at] ^= 1 << (at % 8)
					damaged := files.with(file, changed)
					got, err := verify(damaged)
					if err != nil || !got.OK() {
						continue
					}
					tried++
					is, err := leafBytes(ctx, damaged)
					if err != nil {
						t.Errorf("byte %d of %s: no damage found, but %v", at, file, err)
						continue
					}
					for key, w := range want {
						if is[key] != w && covered(key) {
							t.Errorf("byte %d of %s changes %s, which is covered, and no damage is found", at, file, key)
						}
					}
				}
			}
			t.Logf("%d changes that no checksum covers", tried)
		})
	}
}

// TestVerdicts: the three words, and what each is said of.
func TestVerdicts(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		name   string
		change func(content)
		want   integrity.Verdict
		orbax  bool // it would be refused
	}{
		{"v1-scalars", func(content) {}, integrity.Readable, false},
		{"v1-scalars", func(f content) { delete(f, "state/_METADATA") }, integrity.Damaged, false},
		{"v1-scalars", func(f content) { dropBelow(f, "state/") }, integrity.Damaged, false},
		{"v1-noocdbt-zarr2", func(f content) { delete(f, "state/_METADATA") }, integrity.Damaged, false},
		{"v1-noocdbt-zarr3", func(f content) { delete(f, "state/_METADATA") }, integrity.Damaged, false},
		{"v1-containers", func(f content) { delete(f, "state/_METADATA") }, integrity.Damaged, false},
		{"v1-two-processes", func(f content) { delete(f, "state/manifest.ocdbt") }, integrity.Readable, true},
		{"v0-standard", func(f content) { delete(f, "_METADATA") }, integrity.Damaged, false},
		{"v0-standard", func(f content) { f["sub/_METADATA"] = []byte("{}") }, integrity.Readable, true},
		{"v0-standard", func(f content) { f["sub/_METADATA/file"] = []byte("{}") }, integrity.Readable, true},
		{"st-single", func(content) {}, integrity.Readable, false},
	} {
		dir := foreignDir(t, c.name)
		files := filesOf(t, dir)
		c.change(files)
		r, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: contentStore{files: files}})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if r.Verdict() != c.want || len(r.Orbax) > 0 != c.orbax {
			t.Errorf("%s: %v, %v, Orbax %v; want %v", c.name, r.Verdict(), r.Problems, r.Orbax, c.want)
		}
		if c.name == "v0-standard" && c.want == integrity.Damaged &&
			!strings.Contains(fmt.Sprint(r.Problems), "integrity.Verify: _METADATA: ") {
			t.Errorf("%s: the document that is gone is not told: %v", c.name, r.Problems)
		}
		size := int64(0)
		for _, b := range files {
			size += int64(len(b))
		}
		if r.Files != len(files) || r.Bytes != size {
			t.Errorf("%s: %d files of %d bytes, want %d of %d", c.name, r.Files, r.Bytes, len(files), size)
		}
		if share := r.Share(); c.want == integrity.Readable && (share >= 1 || share < 0) {
			t.Errorf("%s: a share of %v", c.name, share)
		}
	}
}

func dropBelow(f content, prefix string) {
	for name := range f {
		if strings.HasPrefix(name, prefix) {
			delete(f, name)
		}
	}
}

// TestSoundCountsOnce: of a checkpoint of ours every file and byte is counted once, and
// all is covered.
func TestSoundCountsOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	root := tree.NewDict().Set("w", tree.NewLeaf(tensor.FromSlice(make([]float32, 3000), 30, 100))).Set("s",
		tree.NewLeaf("text")).Set("n", tree.NewLeaf(int64(3)))
	if err := checkpoint.Save(t.Context(), dir, root, nil); err != nil {
		t.Fatal(err)
	}
	files := filesOf(t, dir)
	size := int64(0)
	for _, b := range files {
		size += int64(len(b))
	}
	r, err := integrity.Verify(t.Context(), dir, nil)
	if err != nil || r.Verdict() != integrity.Sound || r.Share() != 1 {
		t.Fatalf("%v, share %v, %v", r.Verdict(), r.Share(), err)
	}
	if r.Files != len(files) || r.Bytes != size || r.Leaves != 2 {
		t.Errorf("%d files, %d bytes, %d leaves; want %d, %d, 2", r.Files, r.Bytes, r.Leaves, len(files), size)
	}
}

// TestStrangeLeaf: a leaf that cannot be read is described with its error, and the
// others as ever; what asks for it fails, and the others are read.
func TestStrangeLeaf(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		name string
		kind errs.Kind
		make func(content)
	}{
		{"no metadata", errs.Corrupt, func(f content) { delete(f, "state/n/.zarray") }},
		{"codec of another world", errs.Unsupported, func(f content) {
			f["state/n/.zarray"] = []byte(strings.Replace(string(f["state/n/.zarray"]), `"zstd"`, `"zstx"`, 1))
		}},
		{"type of another world", errs.Unsupported, func(f content) {
			f["state/n/.zarray"] = []byte(strings.Replace(string(f["state/n/.zarray"]), `"dtype":`, `"dtype":"<M8[ns]","was":`, 1))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := filesOf(t, foreignDir(t, "v1-noocdbt-zarr2"))
			o := &checkpoint.LoadOptions{Store: contentStore{files: files}}
			before, err := checkpoint.Metadata(ctx, "c", o)
			if err != nil {
				t.Fatal(err)
			}
			c.make(files)
			after, err := checkpoint.Metadata(ctx, "c", o)
			if err != nil {
				t.Fatal(err)
			}
			strange := 0
			for i, l := range after.Items[0].Leaves {
				was := before.Items[0].Leaves[i]
				if l.Err != nil {
					strange++
					continue
				}
				if l.Param != was.Param || l.DType != was.DType || !l.Shape.Equal(was.Shape) {
					t.Errorf("%s is %v%v, was %v%v", l.Param, l.DType, l.Shape, was.DType, was.Shape)
				}
			}
			if strange != 1 {
				t.Errorf("%d strange leaves", strange)
			}
			if _, err := checkpoint.Load(ctx, "c", o); err == nil {
				t.Error("a load of everything succeeds")
			}
		})
	}
}
