package checkpoint_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// A chunk that is missing is an error, also where Orbax wrote it. Where the option
// says so it is the fill value, and the report tells; what a manifest lists must be
// there all the same.
func TestRaiseArrayDataMissingError(t *testing.T) {
	fill := checkpoint.LoadOptions{}
	fill.Array.Loading.RaiseArrayDataMissingError = options.Off
	for _, layout := range []options.Layout{options.PlainZarr3, options.PlainZarr2} {
		dir := filepath.Join(t.TempDir(), "c")
		state := map[string]any{"whole": []int32{1, 2, 3}, "x": grid(400, 500)}
		o := checkpoint.SaveOptions{}
		o.Layout, o.Array.Saving.Storage.ChunkByteSize = layout, 100_000
		if layout == options.PlainZarr3 {
			o.Compression = options.Uncompressed
		}
		if err := checkpoint.Save(t.Context(), dir, state, &o); err != nil {
			t.Fatal(err)
		}
		whole, err := checkpoint.Load(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		chunk := filepath.Join(dir, "state", "x", "1.0")
		if layout == options.PlainZarr3 {
			chunk = filepath.Join(dir, "state", "x", "c", "0", "0")
		}
		if err := os.Remove(chunk); err != nil {
			t.Fatal(err)
		}
		for name, o := range map[string]*checkpoint.LoadOptions{"by default": nil, "although it is allowed": &fill} {
			if _, err := checkpoint.Load(t.Context(), dir, o); errs.KindOf(err) != errs.Corrupt {
				t.Errorf("%v with a manifest, %s: %v", layout, name, err)
			}
		}
		if err := os.Remove(filepath.Join(dir, "bivouac.manifest")); err != nil {
			t.Fatal(err)
		}
		bare := checkpoint.LoadOptions{AllowNoManifest: true}
		if _, err := checkpoint.Load(t.Context(), dir, &bare); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%v without a manifest: %v", layout, err)
		}
		var report checkpoint.LoadReport
		bare.Options, bare.Report = fill.Options, &report
		got, err := checkpoint.Load(t.Context(), dir, &bare)
		if err != nil {
			t.Fatal(layout, err)
		}
		x, want := got.Get("x").Value.(tensor.Tensor), whole.Get("x").Value.(tensor.Tensor)
		zeros := 0
		for at := 0; at < len(x.Data); at += 4 {
			same := slices.Equal(x.Data[at:at+4], want.Data[at:at+4])
			if !same && !slices.Equal(x.Data[at:at+4], []byte{0, 0, 0, 0}) {
				t.Fatalf("%v: element %d is neither what was saved nor zero", layout, at/4)
			}
			if !same {
				zeros++
			}
		}
		if zeros == 0 || !tree.Equal(got.Get("whole"), whole.Get("whole")) {
			t.Errorf("%v: %d elements were filled", layout, zeros)
		}
		if len(report.Leaves) != 1 || !report.Leaves[0].Filled || report.Leaves[0].Path.Param() != "x" ||
			report.String() != "state: x: filled where chunks are missing\n" {
			t.Errorf("%v: %v", layout, report.String())
		}
		report.Leaves = nil
		bare.Abstract = map[string]any{"whole": nil, "x": checkpoint.Abstract{DType: tensor.Int64}}
		if _, err := checkpoint.Load(t.Context(), dir, &bare); err != nil || len(report.Leaves) != 1 ||
			!report.Leaves[0].Filled || !report.Leaves[0].Cast {
			t.Errorf("%v: %v, %v", layout, report.String(), err)
		}
		restore, err := options.Configure(fill.Options)
		if err != nil {
			t.Fatal(err)
		}
		st, err := local.Open(filepath.Dir(dir), nil)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := integrity.Verify(t.Context(), "c", &integrity.VerifyOptions{Store: st}); err != nil || r.OK() {
			t.Errorf("%v: verified as %v, %v", layout, r, err)
		}
		restore()
	}
}
