package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/proof/crewtest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
)

// parityState has an array with a data file of its own, small ones and documents.
func parityState(n int) map[string]any {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	large, small := make([]float32, 600_000), make([]float32, 2000)
	for i := range large {
		large[i] = r.Float32()
	}
	for i := range small {
		small[i] = r.Float32()
	}
	return map[string]any{"large": large, "small": small, "step": int64(n), "name": "protected"}
}

func withParity(percent int, b options.Bivouac) options.Options {
	b.Parity = percent
	return options.Options{Bivouac: b}
}

// bytesBelow reads all files below dir.
func bytesBelow(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		out[rel], err = os.ReadFile(name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sameFiles(t *testing.T, got, want map[string][]byte) {
	t.Helper()
	for n, b := range want {
		if now, ok := got[n]; !ok || !bytes.Equal(now, b) {
			t.Errorf("%s is not what it was", n)
		}
	}
	for n := range got {
		if _, ok := want[n]; !ok {
			t.Errorf("%s was not there", n)
		}
	}
}

// TestMend: each layout, signed or not: damage of each file is told as damage that repair
// can mend; repair without Apply changes nothing; with it every file is what it was, to the
// bit. Only the signature, of which there is no copy, is lost with the end of the manifest:
// that is told, and changes nothing.
func TestMend(t *testing.T) {
	_, key := signingKey(1)
	for name, o := range map[string]options.Bivouac{
		"default":     {},
		"signed":      {Signing: key, Label: "x"},
		"zarr3":       {Layout: options.PlainZarr3},
		"safetensors": {Layout: options.SafetensorsLayout},
		"zstd":        {Compression: options.Zstd},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			dir := filepath.Join(t.TempDir(), "c")
			if err := checkpoint.Save(ctx, dir, parityState(1), &checkpoint.SaveOptions{Options: withParity(4, o)}); err != nil {
				t.Fatal(err)
			}
			if r, err := integrity.Verify(ctx, dir, nil); err != nil || !r.OK() || r.Mendable {
				t.Fatalf("as it was saved: %v %+v", err, r)
			}
			whole := bytesBelow(t, dir)
			protected := 0
			for n := range whole {
				if parity.Is(n) {
					protected++
				}
			}
			if protected == 0 {
				t.Fatal("no parity was saved")
			}
			for n, b := range whole {
				at := filepath.Join(dir, n)
				for kind, damage := range map[string]func() error{
					"flip": func() error {
						bad := slices.Clone(b)
						if len(bad) == 0 {
							return os.Remove(at)
						}
						bad[len(bad)/3] ^= 4
						return os.WriteFile(at, bad, 0o666)
					},
					"cut": func() error { return os.WriteFile(at, b[:max(0, len(b)-1000)], 0o666) },
					"lost": func() error {
						if len(b) > 1<<20 && !parity.Is(n) {
							return os.WriteFile(at, append(slices.Clone(b), 1), 0o666) // more than there is parity for
						}
						return os.Remove(at)
					},
				} {
					if len(b) == 0 && kind == "cut" {
						continue
					}
					if err := damage(); err != nil {
						t.Fatal(err)
					}
					if n == "bivouac.manifest" && o.Signing != nil && kind != "flip" {
						notMended(t, dir, "signature")
						if err := os.WriteFile(at, b, 0o666); err != nil {
							t.Fatal(err)
						}
						continue
					}
					mended(t, dir, n+" "+kind)
					sameFiles(t, bytesBelow(t, dir), whole)
				}
			}
		})
	}
}

// mended has a damaged checkpoint repaired.
func mended(t *testing.T, dir, what string) {
	t.Helper()
	ctx := t.Context()
	r, err := integrity.Verify(ctx, dir, nil)
	if err != nil || r.OK() || !r.Mendable {
		t.Fatalf("%s: verify says %v %+v", what, err, r)
	}
	before := bytesBelow(t, dir)
	for _, apply := range []bool{false, true} {
		r, err := integrity.Repair(ctx, dir, &integrity.RepairOptions{Apply: apply})
		if err != nil || len(r.Problems) > 0 || len(r.Actions) != 1 || r.Actions[0].Kind != integrity.RepairMend || r.Actions[0].Done != apply || len(r.Actions[0].Files) == 0 {
			t.Fatalf("%s: repair, apply %v: %v %+v", what, apply, err, r)
		}
		if !apply {
			sameFiles(t, bytesBelow(t, dir), before)
		}
	}
}

// notMended has a checkpoint looked at that is damaged beyond repair, and whose problems
// have a word.
func notMended(t *testing.T, dir, word string) {
	t.Helper()
	ctx := t.Context()
	before := bytesBelow(t, dir)
	r, err := integrity.Verify(ctx, dir, nil)
	if err != nil || r.OK() || r.Mendable || !strings.Contains(errors.Join(r.Problems...).Error(), word) {
		t.Fatalf("verify says %v %+v", err, r)
	}
	done, err := integrity.Repair(ctx, dir, &integrity.RepairOptions{Apply: true})
	if err != nil || len(done.Actions) > 0 || len(done.Problems) == 0 {
		t.Fatalf("repair says %v %+v", err, done)
	}
	sameFiles(t, bytesBelow(t, dir), before)
}

// TestMendManifest: with the manifest and other files damaged at once, verify names each
// of them, and repair mends all. A manifest with any one flipped bit is mended, signed too,
// the signature included; with its copy damaged as well it is told, and nothing is changed.
func TestMendManifest(t *testing.T) {
	ctx := t.Context()
	public, key := signingKey(1)
	dir := filepath.Join(t.TempDir(), "c")
	save := &checkpoint.SaveOptions{Options: withParity(4, options.Bivouac{Signing: key, Label: "x"})}
	if err := checkpoint.Save(ctx, dir, map[string]any{"w": []float32{1, 2, 3}}, save); err != nil {
		t.Fatal(err)
	}
	whole := bytesBelow(t, dir)
	write := func(n string, b []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, n), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	flip := func(n string, bit int) []byte {
		b := slices.Clone(whole[n])
		b[bit/8] ^= 1 << (bit % 8)
		write(n, b)
		return b
	}
	size := len(whole["bivouac.manifest"])
	for i := 0; i < size; i += max(1, size/60) {
		flip("bivouac.manifest", 8*i+i%8)
		mended(t, dir, fmt.Sprint("bit ", 8*i+i%8))
		sameFiles(t, bytesBelow(t, dir), whole)
	}
	for i := 8 * (size - 103); i < 8*size; i += 17 { // the line of the signature
		flip("bivouac.manifest", i)
		mended(t, dir, fmt.Sprint("bit ", i))
		sameFiles(t, bytesBelow(t, dir), whole)
	}
	load := &checkpoint.LoadOptions{}
	load.Verification = public
	if _, err := checkpoint.Load(ctx, dir, load); err != nil {
		t.Fatal(err)
	}

	flip("bivouac.manifest", 300)
	flip("_CHECKPOINT_METADATA", 40)
	if err := os.Remove(filepath.Join(dir, "state/_METADATA")); err != nil {
		t.Fatal(err)
	}
	r, err := integrity.Verify(ctx, dir, nil)
	if err != nil || !r.Mendable || len(r.Problems) != 3 {
		t.Fatalf("verify says %v %+v", err, r)
	}
	mended(t, dir, "three files")
	sameFiles(t, bytesBelow(t, dir), whole)

	flip("bivouac.manifest", 300)
	flip(parity.CopyName, 500)
	notMended(t, dir, parity.CopyName)
	write("bivouac.manifest", whole["bivouac.manifest"])
	mended(t, dir, "the copy")
	sameFiles(t, bytesBelow(t, dir), whole)
}

// TestLostManifestIsTold: a checkpoint of one document, which nothing else says had a
// manifest, is damaged without it, and mended.
func TestLostManifestIsTold(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	values := map[string]any{"note": map[string]any{"a": 1}}
	if err := checkpoint.SaveCheckpointables(t.Context(), dir, values, &checkpoint.SaveOptions{Options: withParity(4, options.Bivouac{})}); err != nil {
		t.Fatal(err)
	}
	whole := bytesBelow(t, dir)
	if err := os.Remove(filepath.Join(dir, "bivouac.manifest")); err != nil {
		t.Fatal(err)
	}
	mended(t, dir, "the manifest")
	sameFiles(t, bytesBelow(t, dir), whole)
}

// TestMendBeyond: what is lost beyond the redundancy is told, and repair changes nothing.
func TestMendBeyond(t *testing.T) {
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "c")
	if err := checkpoint.Save(ctx, dir, parityState(1), &checkpoint.SaveOptions{Options: withParity(2, options.Bivouac{})}); err != nil {
		t.Fatal(err)
	}
	for n, b := range bytesBelow(t, dir) {
		if len(b) > 1<<20 && !parity.Is(n) {
			clear(b[:len(b)/2])
			if err := os.WriteFile(filepath.Join(dir, n), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := bytesBelow(t, dir)
	if r, err := integrity.Verify(ctx, dir, nil); err != nil || r.OK() || r.Mendable {
		t.Fatalf("verify says %v %+v", err, r)
	}
	r, err := integrity.Repair(ctx, dir, &integrity.RepairOptions{Apply: true})
	if err != nil || len(r.Actions) > 0 || len(r.Problems) == 0 {
		t.Fatalf("repair says %v %+v", err, r)
	}
	sameFiles(t, bytesBelow(t, dir), before)
}

// TestLostParityHarmsNothing: a checkpoint without its parity files loads, signed or not,
// and a run lists the step.
func TestLostParityHarmsNothing(t *testing.T) {
	ctx := t.Context()
	public, key := signingKey(1)
	dir := t.TempDir()
	o := training.Options{Options: withParity(3, options.Bivouac{Signing: key, Verification: public}), Clean: true}
	c, err := training.Open(ctx, dir, &o)
	if err != nil {
		t.Fatal(err)
	}
	if err := saveStep(ctx, c, "3"); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for n := range bytesBelow(t, filepath.Join(dir, "3")) {
		if parity.Is(n) {
			if err := os.Remove(filepath.Join(dir, "3", n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if c, err = training.Open(ctx, dir, &o); err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing was saved
	if _, err := c.Load(ctx, 3, nil); err != nil {
		t.Fatal(err)
	}
}

// TestParityIsCarried: what is made of a checkpoint with parity has parity.
func TestParityIsCarried(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := checkpoint.Save(ctx, src, parityState(1), &checkpoint.SaveOptions{Options: withParity(4, options.Bivouac{})}); err != nil {
		t.Fatal(err)
	}
	check := func(dir string, want bool) {
		t.Helper()
		n := 0
		for name := range bytesBelow(t, dir) {
			if parity.Is(name) {
				n++
			}
		}
		r, err := integrity.Verify(ctx, dir, nil)
		if err != nil || !r.OK() || (n > 0) != want {
			t.Fatalf("%d parity files, %v %+v", n, err, r)
		}
		if !want {
			return
		}
		meta := filepath.Join(dir, "_CHECKPOINT_METADATA")
		if err := os.Remove(meta); err != nil {
			t.Fatal(err)
		}
		mended(t, dir, "after a change")
	}
	if err := checkpoint.Convert(ctx, src, dst, nil); err != nil {
		t.Fatal(err)
	}
	check(dst, true)
	if err := checkpoint.Convert(ctx, src, dst, &checkpoint.ConvertOptions{Overwrite: true, Options: withParity(-1, options.Bivouac{})}); err != nil {
		t.Fatal(err)
	}
	check(dst, false)
	if err := checkpoint.Save(ctx, src, map[string]any{"more": []int32{1, 2, 3}}, &checkpoint.SaveOptions{PartialUpdate: true}); err != nil {
		t.Fatal(err)
	}
	check(src, true)
	if _, err := checkpoint.Load(ctx, src, nil); err != nil {
		t.Fatal(err)
	}
}

// TestSharedDamageIsMended: steps that share a damaged file by dedup are all mended, and
// share the mended one; a step that Open has set aside gets its name back.
func TestSharedDamageIsMended(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	c, err := training.Open(ctx, dir, &training.Options{Options: withParity(3, options.Bivouac{}), Dedup: training.Dedup{On: true}})
	if err != nil {
		t.Fatal(err)
	}
	for s := int64(1); s <= 3; s++ {
		if _, err := c.Save(ctx, s, parityState(1), &training.SaveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	var data string
	whole := map[string]map[string][]byte{}
	links := func(s string) (linked int) {
		names, _ := filepath.Glob(filepath.Join(dir, s, "state/d/*"))
		names = append(names, globParity(dir, s)...)
		for _, n := range names {
			a, _ := os.Stat(n)
			others, _ := filepath.Glob(filepath.Join(dir, "1/state/d/*"))
			for _, o := range append(others, globParity(dir, "1")...) {
				if b, _ := os.Stat(o); os.SameFile(a, b) {
					linked++
					if a.Size() > 1<<20 && !parity.Is(filepath.Base(n)) {
						data = n
					}
				}
			}
		}
		return linked
	}
	for _, s := range []string{"1", "2", "3"} {
		whole[s] = bytesBelow(t, filepath.Join(dir, s))
	}
	before := links("3")
	if before < 2 || data == "" {
		t.Fatalf("%d files of step 3 are links: want the data and its parity", before)
	}
	f, err := os.OpenFile(data, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("damage"), 1<<20); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := os.Remove(filepath.Join(dir, "2/_CHECKPOINT_METADATA")); err != nil {
		t.Fatal(err)
	}
	if c, err = training.Open(ctx, dir, &training.Options{Clean: true}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(c.Steps()); got != "[1 3]" {
		t.Fatal(got)
	}
	c.Close()
	one, err := integrity.Repair(ctx, filepath.Join(dir, "1"), nil)
	if err != nil || len(one.Actions) != 1 || fmt.Sprint(one.Actions[0].Shared) != "[2.damaged 3]" {
		t.Fatalf("repair of one step: %v %+v", err, one)
	}
	r, err := integrity.Repair(ctx, dir, &integrity.RepairOptions{Apply: true})
	if err != nil || len(r.Problems) > 0 || len(r.Actions) != 3 {
		t.Fatalf("repair: %v %+v", err, r)
	}
	for s, files := range whole {
		sameFiles(t, bytesBelow(t, filepath.Join(dir, s)), files)
	}
	if after := links("3"); after != before {
		t.Errorf("%d files of step 3 are links, %d were", after, before)
	}
}

func globParity(dir, step string) []string {
	names, _ := filepath.Glob(filepath.Join(dir, step, parity.Prefix+"*"))
	return names
}

// TestMendIsRepeatable: power lost at any moment of a repair that mends leaves a checkpoint
// that the next repair mends; a call that fails at any moment, likewise.
func TestMendIsRepeatable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var whole string
	setup := func(fsys vfs.FS) error {
		st := local.New(fsys, "/", nil)
		if err := checkpoint.Save(ctx, "run/7", goldenState(1), &checkpoint.SaveOptions{Store: st, Options: withParity(5, options.Bivouac{})}); err != nil {
			return err
		}
		n, err := checkpoint.Load(ctx, "run/7", &checkpoint.LoadOptions{Store: st})
		whole = fmt.Sprint(treeText(n))
		return errors.Join(err, cutOff(fsys, "/run/7", "_METADATA"), fsys.Remove("/run/7/_CHECKPOINT_METADATA"))
	}
	repair := func(fsys vfs.FS) error {
		r, err := integrity.Repair(ctx, "run", &integrity.RepairOptions{Store: local.New(fsys, "/", nil), Apply: true})
		if err == nil && len(r.Problems) > 0 {
			err = r.Problems[0]
		}
		return err
	}
	check := func(fsys vfs.FS) error {
		if err := repair(fsys); err != nil {
			return err
		}
		st := local.New(fsys, "/", nil)
		n, err := checkpoint.Load(ctx, "run/7", &checkpoint.LoadOptions{Store: st})
		if err == nil && fmt.Sprint(treeText(n)) != whole {
			err = errors.New("other leaves")
		}
		if err != nil {
			return err
		}
		r, err := integrity.Repair(ctx, "run", &integrity.RepairOptions{Store: st})
		if err == nil && len(r.Actions)+len(r.Problems) > 0 {
			err = fmt.Errorf("still to do: %+v", r)
		}
		return err
	}
	report, err := crash.Run(func(fsys vfs.FS, _ func(string)) error { return repair(fsys) },
		func(fsys vfs.FS, _ []string) error { return check(fsys) }, &crash.Options{Setup: setup, Limit: 32, Samples: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	for n := 1; ; n++ {
		mem := vfstest.NewMem()
		if err := setup(mem); err != nil {
			t.Fatal(err)
		}
		fault := vfstest.NewFault(mem, vfstest.Plan{N: n, Err: syscall.EIO})
		err := repair(fault)
		if _, hits := fault.Hit(); hits == 0 {
			break
		}
		if cerr := check(mem); cerr != nil {
			t.Fatalf("call %d failed (%v): %v", n, err, cerr)
		}
	}
}

// TestParityValidates: percentages that make no sense are refused by name.
func TestParityValidates(t *testing.T) {
	for _, n := range []int{-2, 51, 1000} {
		err := checkpoint.Save(t.Context(), filepath.Join(t.TempDir(), "c"), goldenState(1), &checkpoint.SaveOptions{Options: withParity(n, options.Bivouac{})})
		if errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), "parity") {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// TestSeveralProcessesHaveParity: what several processes save together has the parity of
// each, linked or new, signed or not; damage of any file is mended. A process with
// another redundancy than the primary is told.
func TestSeveralProcessesHaveParity(t *testing.T) {
	_, key := signingKey(1)
	for name, b := range map[string]options.Bivouac{"plain": {}, "signed": {Signing: key}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, dir := t.Context(), t.TempDir()
			s := together(3, vfs.OS())
			save := func(step string, o checkpoint.SaveOptions, percent func(p int) int) error {
				return failed(crewtest.Run(s.n, func(p int) error {
					own := s.options(p, o)
					own.Store, own.Bivouac = local.New(vfs.OS(), filepath.ToSlash(dir), nil), b
					own.Parity = percent(p)
					large := noise(rand.New(rand.NewPCG(uint64(p), 1)), tensor.Float32, 400_000)
					small := noise(rand.New(rand.NewPCG(uint64(p), 2)), tensor.Float32, 50_000)
					parts := []checkpoint.Shard{{Origin: []int{400_000 * p}, Data: large}}
					if p == 2 {
						parts = nil // all that it writes is small
					}
					return checkpoint.Save(ctx, step, map[string]any{
						"large": checkpoint.Shards{DType: tensor.Float32, Shape: tensor.Shape{800_000}, Parts: parts},
						"small": checkpoint.Shards{DType: tensor.Float32, Shape: tensor.Shape{150_000}, Parts: []checkpoint.Shard{{Origin: []int{50_000 * p}, Data: small}}},
						"step":  7,
					}, own)
				}))
			}
			three := func(int) int { return 3 }
			if err := save("1", checkpoint.SaveOptions{}, three); err != nil {
				t.Fatal(err)
			}
			if err := save("2", checkpoint.SaveOptions{Base: "1"}, three); err != nil {
				t.Fatal(err)
			}
			if err := save("3", checkpoint.SaveOptions{}, func(p int) int { return 3 + p/2 }); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), "Parity") {
				t.Fatalf("different redundancy: %v", err)
			}
			for _, step := range []string{"1", "2"} {
				at := filepath.Join(dir, step)
				whole := bytesBelow(t, at)
				tagged, data := 0, 0
				for n, bytes := range whole {
					if strings.HasPrefix(n, parity.Prefix+"p") {
						tagged++
					}
					if strings.Contains(n, "/d/") {
						data++
					}
					if !strings.Contains(n, "/d/") && !strings.HasPrefix(n, parity.Prefix+"p") && n != parity.CopyName {
						continue
					}
					bad := slices.Clone(bytes)
					bad[len(bad)/2] ^= 8
					if err := os.WriteFile(filepath.Join(at, n), bad, 0o666); err != nil {
						t.Fatal(err)
					}
					mended(t, at, step+": "+n)
					sameFiles(t, bytesBelow(t, at), whole)
				}
				if data < 3 || tagged == 0 && step == "1" {
					t.Errorf("step %s has %d data files, and %d parity files of other processes", step, data, tagged)
				}
			}
		})
	}
}
