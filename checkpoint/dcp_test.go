package checkpoint_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

const dcpFiles = "../testdata/dcp"

// recordedValue is a value of expect.json.
type recordedValue struct {
	Tensor string              `json:"tensor"`
	Shape  tensor.Shape        `json:"shape"`
	Hex    string              `json:"hex"`
	Bytes  *string             `json:"bytes"`
	Dict   *[][2]recordedValue `json:"dict"`
	List   *[]recordedValue    `json:"list"`
	Tuple  *[]recordedValue    `json:"tuple"`
	Float  *string             `json:"float"`
	Int    *string             `json:"int"`
	Value  any                 `json:"value"`

	key string // of a dict, in place of a value
}

func (r *recordedValue) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, &r.key)
	}
	type plain recordedValue
	return json.Unmarshal(b, (*plain)(r))
}

// node returns the value as a load returns it.
func (r *recordedValue) node(t *testing.T) *tree.Node {
	t.Helper()
	items := func(kind tree.Kind, all []recordedValue) *tree.Node {
		n := &tree.Node{Kind: kind}
		for _, v := range all {
			n.Items = append(n.Items, v.node(t))
		}
		return n
	}
	switch {
	case r.Tensor != "":
		d, err := tensor.ParseDType(r.Tensor)
		b, err2 := hex.DecodeString(r.Hex)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		return tree.NewLeaf(tensor.Tensor{DType: d, Shape: r.Shape, Data: b})
	case r.Bytes != nil:
		b, err := hex.DecodeString(*r.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		return &tree.Node{Value: checkpoint.Bytes(b)}
	case r.Dict != nil:
		n := tree.NewDict()
		for _, pair := range *r.Dict {
			n.Set(pair[0].key, pair[1].node(t))
		}
		return n
	case r.List != nil:
		return items(tree.List, *r.List)
	case r.Tuple != nil:
		return items(tree.Tuple, *r.Tuple)
	case r.Float != nil:
		f, err := strconv.ParseFloat(*r.Float, 64)
		if err != nil {
			t.Fatal(err)
		}
		return tree.NewLeaf(f)
	case r.Int != nil:
		if n, err := strconv.ParseInt(*r.Int, 10, 64); err == nil {
			return tree.NewLeaf(n)
		}
		n, err := strconv.ParseUint(*r.Int, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return tree.NewLeaf(n)
	}
	return tree.NewLeaf(r.Value)
}

// dcpExpected returns what torch loads of each case.
func dcpExpected(t *testing.T) map[string]*tree.Node {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dcpFiles, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]recordedValue
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]*tree.Node, len(all))
	for name, v := range all {
		out[name] = v.node(t)
	}
	return out
}

// asArrays returns a tree in which bytes are arrays, as they are saved.
func asArrays(n *tree.Node) *tree.Node {
	c := *n
	if b, ok := n.Value.(checkpoint.Bytes); ok {
		return tree.NewLeaf(b.TreeLeaf())
	}
	c.Items = nil
	for _, item := range n.Items {
		c.Items = append(c.Items, asArrays(item))
	}
	return &c
}

// What torch saved loads as torch loads it: whole, converted, and with everything verified.
func TestDCP(t *testing.T) {
	ctx := context.Background()
	expected := dcpExpected(t)
	if len(expected) < 15 {
		t.Fatalf("%d cases", len(expected))
	}
	for name, want := range expected {
		t.Run(name, func(t *testing.T) {
			at := filepath.Join(dcpFiles, name)
			var report checkpoint.LoadReport
			got, err := checkpoint.Load(ctx, at, &checkpoint.LoadOptions{Report: &report})
			if err != nil {
				t.Fatal(err)
			}
			layout := "dcp"
			switch {
			case strings.HasPrefix(name, "files/"):
				layout = "pt"
			case strings.HasPrefix(name, "ranks"):
				layout = "pt ranks"
			case name == "hf-sharded":
				layout = "safetensors"
			}
			if report.Layout != layout {
				t.Errorf("layout %q, want %q", report.Layout, layout)
			}
			for _, e := range tree.Flatten(want) {
				_, wanted := e.Node.Value.(checkpoint.Bytes)
				if _, is := got.At(e.Path).Value.(checkpoint.Bytes); is != wanted {
					t.Errorf("%s: bytes %v, want %v", e.Path, is, wanted)
				}
			}
			want, got := asArrays(want), asArrays(got)
			if d := tree.Diff(want, got); len(d) > 0 {
				t.Error(tree.FormatDiff(d))
			}
			r, err := integrity.Verify(ctx, at, nil)
			if err != nil || !r.OK() {
				t.Errorf("verify: %v, %v", r, err)
			}
			if r.Share() == 1 {
				t.Error("verify counts the metadata as covered")
			}
			dst := filepath.Join(t.TempDir(), "converted")
			if err := checkpoint.Convert(ctx, at, dst, nil); err != nil {
				t.Fatal(err)
			}
			if got, err := checkpoint.Load(ctx, dst, nil); err != nil || len(tree.Diff(want, got)) > 0 {
				t.Errorf("converted: %v %s", err, tree.FormatDiff(tree.Diff(want, got)))
			}
		})
	}
}

// Every box of every tensor has the elements that the whole tensor has there.
func TestDCPBoxes(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"mesh", "fsdp", "zstd", "unchecked", "single", "hf-sharded", "ranks-strided",
		"files/views.pt"} {
		at := filepath.Join(dcpFiles, name)
		whole, err := checkpoint.Load(ctx, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := checkpoint.OpenReader(ctx, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		boxes := 0
		for _, l := range r.Info().Leaves {
			x, ok := whole.At(l.Path).Value.(tensor.Tensor)
			if !ok || len(x.Shape) == 0 || x.Shape.Len() > 1024 {
				continue
			}
			for origin, shape := range boxesOfShape(x.Shape) {
				boxes++
				got := make([]byte, tensor.Shape(shape).Len()*x.DType.Size())
				if err := r.ReadBox(ctx, l, origin, shape, got); err != nil {
					t.Fatalf("%s: %s: %v %v: %v", name, l.Param, origin, shape, err)
				}
				if !bytes.Equal(got, boxOf(x, origin, shape)) {
					t.Fatalf("%s: %s: wrong elements of %v %v", name, l.Param, origin, shape)
				}
			}
		}
		if boxes < 5 {
			t.Errorf("%s: %d boxes", name, boxes)
		}
		r.Close() //nolint:errcheck // only read
	}
}

// boxesOfShape yields all boxes with elements along the first two axes, and the whole of the
// others.
func boxesOfShape(shape tensor.Shape) func(yield func(origin, extents []int) bool) {
	return func(yield func(origin, extents []int) bool) {
		columns := 1
		if len(shape) > 1 {
			columns = shape[1]
		}
		for a := range shape[0] {
			for b := a + 1; b <= shape[0]; b++ {
				for c := range columns {
					for d := c + 1; d <= columns; d++ {
						origin, extents := make([]int, len(shape)), slices.Clone(shape)
						origin[0], extents[0] = a, b-a
						if len(shape) > 1 {
							origin[1], extents[1] = c, d-c
						}
						if !yield(origin, extents) {
							return
						}
					}
				}
			}
		}
	}
}

// boxOf returns the elements of a box, one by one.
func boxOf(x tensor.Tensor, origin, shape []int) []byte {
	var out []byte
	at := make([]int, len(shape))
	for range tensor.Shape(shape).Len() {
		place := 0
		for i, o := range origin {
			place = place*x.Shape[i] + o + at[i]
		}
		size := x.DType.Size()
		out = append(out, x.Data[place*size:(place+1)*size]...)
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < shape[i] {
				break
			}
			at[i] = 0
		}
	}
	return out
}

// A value that calls a function is refused by its name and key. The other leaves load.
func TestDCPRefusesCode(t *testing.T) {
	ctx := context.Background()
	at := filepath.Join(dcpFiles, "attack")
	_, err := checkpoint.Load(ctx, at, nil)
	if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "posix.system") ||
		!strings.Contains(err.Error(), `"x"`) {
		t.Errorf("load: %v", err)
	}
	n, err := checkpoint.Load(ctx, at, &checkpoint.LoadOptions{Abstract: map[string]any{
		"w": nil, "x": checkpoint.Placeholder{}, "big": checkpoint.Placeholder{}}})
	if err != nil || !n.Get("w").Value.(tensor.Tensor).Equal(tensor.FromSlice([]float32{1, 1}, 2)) {
		t.Errorf("the other leaves: %v, %v", n, err)
	}
	if err := checkpoint.Convert(ctx, at, filepath.Join(t.TempDir(), "x"), nil); !errors.Is(err, errs.Unsupported) {
		t.Errorf("convert: %v", err)
	}
	info, err := checkpoint.Metadata(ctx, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	why := map[string]string{}
	for _, l := range info.Items[0].Leaves {
		if l.Err != nil {
			why[l.Param] = l.Err.Error()
		}
	}
	if len(why) != 2 || !strings.Contains(why["x"], "posix.system") || !strings.Contains(why["big"], "64 bits") {
		t.Errorf("metadata: %v", why)
	}
	for name, want := range map[string]string{
		"attack": "posix.system", "module": "torch.nn.modules.linear.Linear", "sparse": "_rebuild_sparse_tensor",
		"set": "s: unsupported", "conjugate": "resolve_conj", "expanded": "contiguous()", "legacy": "before torch 1.6",
	} {
		_, err := checkpoint.Load(ctx, filepath.Join(dcpFiles, "refused", name+".pt"), nil)
		if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// copyDCP copies a case, so that a test can damage it.
func copyDCP(t *testing.T, name string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(name))
	if err := os.CopyFS(to, os.DirFS(filepath.Join(dcpFiles, name))); err != nil {
		t.Fatal(err)
	}
	return to
}

// Data files that are missing, cut short or changed are errors that name the file and the leaf.
func TestDCPDamage(t *testing.T) {
	ctx := context.Background()
	fail := func(name, file string, want ...string) func(t *testing.T, at string) {
		return func(t *testing.T, at string) {
			_, err := checkpoint.Load(ctx, at, nil)
			if !errors.Is(err, errs.Corrupt) {
				t.Fatalf("load: %v", err)
			}
			for _, w := range append(want, file) {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("load: %v, want it to name %s", err, w)
				}
			}
			if r, err := integrity.Verify(ctx, at, nil); err != nil || r.OK() {
				t.Errorf("verify: %v, %v", r, err)
			}
			var report checkpoint.LoadReport
			o := &checkpoint.LoadOptions{Salvage: true, Report: &report}
			if _, err := checkpoint.Load(ctx, at, o); err != nil || len(report.Lost()) == 0 {
				t.Errorf("salvage: %d lost, %v", len(report.Lost()), err)
			}
		}
	}
	t.Run("missing", func(t *testing.T) {
		at := copyDCP(t, "mesh")
		if err := os.Remove(filepath.Join(at, "__1_0.distcp")); err != nil {
			t.Fatal(err)
		}
		fail("mesh", "__1_0.distcp", "model.both", "missing")(t, at)
	})
	t.Run("cut", func(t *testing.T) {
		at := copyDCP(t, "mesh")
		if err := os.Truncate(filepath.Join(at, "__2_0.distcp"), 100); err != nil {
			t.Fatal(err)
		}
		fail("mesh", "__2_0.distcp", "100", "cut short")(t, at)
	})
	t.Run("empty", func(t *testing.T) {
		at := copyDCP(t, "small")
		if err := os.Truncate(filepath.Join(at, "__0_0.distcp"), 0); err != nil {
			t.Fatal(err)
		}
		fail("small", "__0_0.distcp")(t, at)
	})
	t.Run("a directory", func(t *testing.T) {
		at := copyDCP(t, "small")
		file := filepath.Join(at, "__0_0.distcp")
		if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o755)); err != nil {
			t.Fatal(err)
		}
		fail("small", "__0_0.distcp")(t, at)
	})
	t.Run("never finished", func(t *testing.T) {
		at := copyDCP(t, "mesh")
		if err := os.Remove(filepath.Join(at, ".metadata")); err != nil {
			t.Fatal(err)
		}
		_, err := checkpoint.Load(ctx, at, nil)
		if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "never finished") {
			t.Error(err)
		}
	})
	t.Run("metadata of each rank", func(t *testing.T) {
		at := copyDCP(t, "mesh")
		if err := os.Rename(filepath.Join(at, ".metadata"), filepath.Join(at, "__0.metadata")); err != nil {
			t.Fatal(err)
		}
		_, err := checkpoint.Load(ctx, at, nil)
		if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "use_collectives") {
			t.Error(err)
		}
	})
	t.Run("hole", func(t *testing.T) {
		at := copyDCP(t, "hf-sharded")
		files, err := filepath.Glob(filepath.Join(at, "*.safetensors"))
		if err != nil || len(files) != 4 {
			t.Fatal(files, err)
		}
		if err := os.Remove(files[1]); err != nil {
			t.Fatal(err)
		}
		_, err = checkpoint.Load(ctx, at, nil)
		if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "cover") {
			t.Error(err)
		}
	})
}

// Each byte of the data and of the metadata is flipped. A load returns what was saved, or an error.
// Only bytes that no checksum covers may change what is loaded.
func TestDCPFlips(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name, file string
		step       int
		covered    bool // elements have checksums
	}{
		{"small", "__0_0.distcp", 23, true}, {"zstd", "__0_0.distcp", 7, true}, {"small", ".metadata", 3, false},
		{"unchecked", "__0_0.distcp", 97, false}, {"files/linear.pth", "", 5, true},
	} {
		from := filepath.Join(dcpFiles, c.name)
		want, err := checkpoint.Load(ctx, from, nil)
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(t.TempDir(), filepath.Base(c.name))
		if c.file != "" {
			at = copyDCP(t, c.name)
		}
		file := filepath.Join(at, c.file)
		b, err := os.ReadFile(filepath.Join(from, c.file))
		if err != nil {
			t.Fatal(err)
		}
		failed := 0
		for i := 0; i < len(b); i += c.step {
			d := bytes.Clone(b)
			d[i] ^= 1 << (i % 8)
			if err := os.WriteFile(file, d, 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := checkpoint.Load(ctx, at, nil)
			if err != nil {
				failed++
				if kind := errs.KindOf(err); kind != errs.Corrupt && kind != errs.Unsupported && kind != errs.Exhausted {
					t.Errorf("%s: byte %d: kind %v of %v", c.name, i, kind, err)
				}
				continue
			}
			if c.covered && len(tree.Diff(asArrays(want), asArrays(got))) > 0 {
				t.Errorf("%s: byte %d: loads something else", c.name, i)
			}
		}
		if failed == 0 {
			t.Errorf("%s: no flip was noticed", c.name)
		}
	}
}

// Files are cut to each length.
func TestDCPCuts(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{".metadata", "__0_0.distcp"} {
		at := copyDCP(t, "small")
		file := filepath.Join(at, name)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(b); n += 1 + n/16 {
			if err := os.WriteFile(file, b[:n], 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := checkpoint.Load(ctx, at, nil); !errors.Is(err, errs.Corrupt) {
				t.Errorf("%s cut to %d: %v", name, n, err)
			}
		}
	}
}

// No case writes anything, or names a file outside.
func TestDCPIsOnlyRead(t *testing.T) {
	at := copyDCP(t, "attack")
	before := timesBelow(t, at)
	checkpoint.Load(context.Background(), at, nil)     //nolint:errcheck // it fails
	checkpoint.Metadata(context.Background(), at, nil) //nolint:errcheck // only what is on the disk counts
	if after := timesBelow(t, at); !slices.Equal(before, after) {
		t.Errorf("%q, before %q", after, before)
	}
}

func timesBelow(t *testing.T, at string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(at, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				out = append(out, path+" "+info.ModTime().String()+" "+strconv.FormatInt(info.Size(), 10))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Abstract trees may have empty containers, which the format does not record.
func TestDCPEmptyContainers(t *testing.T) {
	ctx, at := context.Background(), filepath.Join(dcpFiles, "small")
	into := map[string]any{"w": nil, "z": nil, "lr": nil, "m": nil, "state": map[string]any{},
		"more": []any{map[string]any{}}}
	n, err := checkpoint.Load(ctx, at, &checkpoint.LoadOptions{Abstract: into})
	if err != nil || !n.Get("state").IsEmpty() || n.Get("lr").Value != 0.5 {
		t.Errorf("%v, %v", n, err)
	}
	into["other"] = tensor.New(tensor.Float32, 2)
	_, err = checkpoint.Load(ctx, at, &checkpoint.LoadOptions{Abstract: into})
	if !errors.Is(err, errs.Mismatch) {
		t.Errorf("a leaf that was not saved: %v", err)
	}
}

// A chunk whose archive has another tensor than the metadata says is damage, compressed or not.
func TestDCPWrongTensor(t *testing.T) {
	ctx := context.Background()
	for name, types := range map[string][]string{"small": {"float16"}, "zstd": {"float16", "float64"}} {
		for _, with := range types {
			at := copyDCP(t, name)
			file := filepath.Join(at, ".metadata")
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, bytes.Replace(b, []byte("float32"), []byte(with), 1), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err = checkpoint.Load(ctx, at, nil)
			if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "want the tensor "+with) {
				t.Errorf("%s as %s: %v", name, with, err)
			}
			if r, err := integrity.Verify(ctx, at, nil); err != nil || r.OK() {
				t.Errorf("%s as %s: verify: %v, %v", name, with, r, err)
			}
		}
	}
}
