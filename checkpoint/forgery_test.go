package checkpoint_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// polynomial is the polynomial of CRC-32C as the bytes of a message: added to any part of any
// message, it leaves the checksum of everything around it as it was.
var polynomial = [5]byte{0xf1, 0x76, 0xec, 0x05, 0x01}

// forge changes five bytes of b at a place and no CRC-32C that covers them.
func forge(b []byte, at int) {
	for i, p := range polynomial {
		b[at+i] ^= p
	}
}

func TestForgeryKeepsChecksums(t *testing.T) {
	b := random(100, 1)
	for at := range 90 {
		f := bytes.Clone(b)
		forge(f, at)
		if bytes.Equal(f, b) || crc.Sum(f) != crc.Sum(b) || crc.Sum(f[at:at+9]) != crc.Sum(b[at:at+9]) {
			t.Fatalf("at %d: CRC-32C %08x became %08x", at, crc.Sum(b), crc.Sum(f))
		}
	}
}

// random is n bytes that no compressor makes smaller.
func random(n int, seed byte) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b) //nolint:errcheck // never fails
	return b
}

// forgeable is a way of saving.
type forgeable struct {
	name string
	o    checkpoint.SaveOptions
}

// forgeables are the ways of saving: a sample has all of the first layout, and of the
// others the plainest and the one with everything.
func forgeables() []forgeable {
	var out []forgeable
	for _, l := range allLayouts {
		out = append(out,
			forgeable{l.String(), checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: l}}}},
			forgeable{l.String() + ", linked",
				checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: l}}, Base: "base"}})
		if l == options.SafetensorsLayout {
			continue
		}
		all := forgeable{l.String() + ", all",
			checkpoint.SaveOptions{Options: options.Options{Array: options.Array{Saving: options.ArraySaving{Storage: options.Storage{ShardAxes: []int{1}}}}, Bivouac: options.Bivouac{Compression: options.ByteSplit, Layout: l}}, Base: "base"}}
		if sampled() && l != allLayouts[0] {
			out[len(out)-1] = all
			continue
		}
		out = append(out, all, forgeable{l.String() + ", axes",
			checkpoint.SaveOptions{Options: options.Options{Array: options.Array{Saving: options.ArraySaving{Storage: options.Storage{ShardAxes: []int{1}}}}, Bivouac: options.Bivouac{Layout: l}}}})
		for _, c := range []options.Compression{options.Zstd, options.ByteSplit} {
			out = append(out, forgeable{l.String() + ", " + c.String(),
				checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Compression: c, Layout: l}}}})
		}
	}
	return out
}

// forgeableState has arrays of noise: small, of one sub-chunk, of several.
func forgeableState() map[string]any {
	return map[string]any{
		"small":  tensor.Tensor{DType: tensor.Uint8, Shape: []int{3000}, Data: random(3000, 1)},
		"middle": tensor.Tensor{DType: tensor.Float32, Shape: []int{256, 1024}, Data: random(1<<20, 2)},
		"large":  tensor.Tensor{DType: tensor.BFloat16, Shape: []int{2100, 1100}, Data: random(4_620_000, 3)},
		"inline": tensor.Tensor{DType: tensor.Uint8, Shape: []int{700}, Data: random(700, 4)},
	}
}

// saveSigned saves a state below a new directory.
func saveSigned(t *testing.T, f forgeable, private ed25519.PrivateKey) string {
	t.Helper()
	dir := t.TempDir()
	o := f.o
	o.Signing = private
	if o.Base != "" {
		o.Base = filepath.Join(dir, "base")
		if err := checkpoint.Save(t.Context(), o.Base, forgeableState(), &o); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "c")
	if err := checkpoint.Save(t.Context(), path, forgeableState(), &o); err != nil {
		t.Fatal(err)
	}
	return path
}

// locateBytes returns the file below dir that has eight bytes of an array, from
// where on or a little later, and where: a place that is cut is in no file.
func locateBytes(t *testing.T, dir string, data []byte, where int) (name string, at, found int) {
	t.Helper()
	for found = where; found < where+90 && name == ""; found += 10 {
		name, at = fileWith(t, dir, data[found:found+8])
	}
	if name == "" {
		t.Fatal("the bytes of the array are in no file")
	}
	return name, at, found - 10
}

func fileWith(t *testing.T, dir string, piece []byte) (name string, at int) {
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if i := bytes.Index(b, piece); i >= 0 {
			name, at = p, i
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return name, at
}

// forgedAt are the bytes of each array, about, that are forged.
var forgedAt = map[string][]int{"inline": {300}, "small": {2000}, "middle": {2, 1<<20 - 100}, "large": {4_300_000}}

// A forger who can write every file, but has no key, changes elements such that no checksum of
// file, array or sub-chunk changes. Loads without a key are deceived, except about what lies in
// nodes. Loads with a key refuse, name file and array, and read the rest.
func TestForgedData(t *testing.T) {
	public, private := signingKey(1)
	for _, f := range forgeables() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			path := saveSigned(t, f, private)
			state := forgeableState()
			withKey := &checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Verification: public}}}
			if err := sameState(ctx, path, state, withKey); err != nil {
				t.Fatal(err)
			}
			for param, v := range state {
				data := v.(tensor.Tensor).Data
				for i, where := range forgedAt[param] {
					if i > 0 && sampled() {
						break
					}
					file, at, where := locateBytes(t, path, data, where)
					b, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					original := bytes.Clone(b)
					forge(b, at)
					if err := os.WriteFile(file, b, 0o666); err != nil {
						t.Fatal(err)
					}
					name, _ := filepath.Rel(path, file)
					if err := deceived(ctx, path, name, param, where, state, withKey); err != nil {
						t.Errorf("%s forged at %d: %v", param, where, err)
					}
					if err := os.WriteFile(file, original, 0o666); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := sameState(ctx, path, state, withKey); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// deceived loads a checkpoint of which an array was forged at a byte, in a file.
func deceived(ctx context.Context, path, file, param string, where int, state map[string]any,
	withKey *checkpoint.LoadOptions) error {
	n, err := checkpoint.Load(ctx, path, nil)
	inNodes := param == "inline" && strings.Contains(filepath.ToSlash(file),
		"/d/") // which have a hash beside their checksums
	switch {
	case inNodes && !errors.Is(err, errs.Corrupt), !inNodes && err != nil:
		return fmt.Errorf("without a key: %v", err)
	case !inNodes && bytes.Equal(state[param].(tensor.Tensor).Data, elementsOf(n, param)):
		return fmt.Errorf("the bytes are the same without a key")
	}
	was := state[param].(tensor.Tensor).Data
	refused := func(err error, want ...string) error {
		if errs.KindOf(err) != errs.Corrupt {
			return fmt.Errorf("%v, want Corrupt", err)
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				return fmt.Errorf("%q does not name %q", err, w)
			}
		}
		return nil
	}
	_, err = checkpoint.Load(ctx, path, withKey)
	if err := refused(err, filepath.Base(file)); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	// Little arrays lie together; the one that is named is the one that was read.
	if !strings.Contains(err.Error(), strconv.Quote(param)) && len(was) > 1<<16 {
		return fmt.Errorf("load: %q does not name %q", err, param)
	}
	r, err := integrity.Verify(ctx, path, &integrity.VerifyOptions{Key: withKey.Verification})
	if err != nil || r.OK() || !strings.Contains(r.Problems[0].Error(), filepath.Base(file)) {
		return fmt.Errorf("verify: %v %+v", err, r)
	}
	if param == "inline" {
		return nil
	}
	part := *withKey
	part.Want = func(l checkpoint.LeafInfo) checkpoint.Want {
		return checkpoint.Want{Skip: l.Param != param, Boxes: elementBox(l, where)}
	}
	_, err = checkpoint.Load(ctx, path, &part)
	if err := refused(err, filepath.Base(file), param); err != nil {
		return fmt.Errorf("the forged element: %w", err)
	}
	part.Want = func(l checkpoint.LeafInfo) checkpoint.Want { return checkpoint.Want{Skip: l.Param != "large"} }
	if _, err = checkpoint.Load(ctx, path, &part); param == "middle" && err != nil {
		return fmt.Errorf("another array: %w", err)
	}
	return nil
}

// elementBox is one element: that with a byte.
func elementBox(l checkpoint.LeafInfo, at int) []checkpoint.Box {
	b := checkpoint.Box{}
	at /= l.DType.Size()
	for k := range l.Shape {
		row := l.Shape[k+1:].Len()
		b.Origin, b.Shape = append(b.Origin, at/row), append(b.Shape, 1)
		at %= row
	}
	return []checkpoint.Box{b}
}

func elementsOf(n *tree.Node, param string) []byte {
	v, ok := n.Get(param).Tensor()
	if !ok {
		return nil
	}
	return v.Data
}

// sameState says how a load differs from the state that was saved.
func sameState(ctx context.Context, path string, state map[string]any, o *checkpoint.LoadOptions) error {
	n, err := checkpoint.Load(ctx, path, o)
	if err != nil {
		return err
	}
	for param, v := range state {
		if !bytes.Equal(elementsOf(n, param), v.(tensor.Tensor).Data) {
			return fmt.Errorf("%s: other bytes", param)
		}
	}
	return nil
}

// With the key a checkpoint is what its manifest lists: a file more is skipped, one less, or one of
// another checkpoint by the same key, is refused.
func TestForgedFiles(t *testing.T) {
	ctx := t.Context()
	public, private := signingKey(1)
	for _, s := range signedSpecimens(t, private) {
		load := func(files content) error {
			o := &checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Verification: public}},
				Store: contentStore{files: files}}
			items, err := checkpoint.LoadCheckpointables(ctx, "c", o)
			if err == nil && len(items) != len(s.items) {
				err = fmt.Errorf("items %v, want %v", items, s.items)
			}
			return err
		}
		problems := func(files content) int {
			r, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: contentStore{files: files}, Key: public})
			if err != nil {
				t.Fatal(err)
			}
			return len(r.Problems)
		}
		if err := load(s.files); err != nil || problems(s.files) > 0 {
			t.Fatalf("%s: %v", s.name, err)
		}
		for name := range s.files {
			if err := load(s.files.with(name, nil)); errs.KindOf(err) != errs.Corrupt {
				t.Errorf("%s without %s: %v", s.name, name, err)
			}
			if problems(s.files.with(name, nil)) == 0 {
				t.Errorf("%s without %s: verify finds nothing", s.name, name)
			}
		}
		for name, b := range map[string][]byte{
			"extra": []byte("x"), "aaa/_METADATA": s.files["state/_METADATA"], "aaa/x": []byte("x"), "state/d/x": []byte("x"), "state/data": []byte("{}"),
			"state/array_metadatas/x": []byte("{}"), "state/ocdbt.process_0/manifest.ocdbt": s.files["state/manifest.ocdbt"], "_METADATA": s.files["state/_METADATA"],
			"extra.safetensors": s.files["model.safetensors"], "_sharding": []byte("{}"), "state/manifest.0": []byte("x"),
		} {
			if b == nil || s.files[name] != nil {
				continue
			}
			if err := load(s.files.with(name, b)); err != nil {
				t.Errorf("%s with %s: %v", s.name, name, err)
			}
			if problems(s.files.with(name, b)) == 0 {
				t.Errorf("%s with %s: verify finds nothing", s.name, name)
			}
		}
	}
	one, two := signedSpecimens(t, private), signedSpecimens(t, private, 2)
	for i, s := range one {
		for name, b := range two[i].files {
			mine, ok := s.files[name]
			if !ok || bytes.Equal(mine, b) {
				continue
			}
			_, err := checkpoint.LoadCheckpointables(ctx, "c",
				&checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Verification: public}},
					Store: contentStore{files: s.files.with(name, b)}})
			if errs.KindOf(err) != errs.Corrupt {
				t.Errorf("%s with %s of another: %v", s.name, name, err)
			}
		}
	}
}

// signedSpecimens are small checkpoints of all layouts.
func signedSpecimens(t *testing.T, private ed25519.PrivateKey, seed ...int) []specimen {
	n := 1 + len(seed)
	v := values(n)
	tensors := map[string]any{"left": v["left"], "right": v["right"], "a": v["a"], "b": v["b"]}
	var out []specimen
	for _, l := range allLayouts {
		items := map[string]any{"state": v, "data": position(n)}
		if l == options.SafetensorsLayout {
			items = map[string]any{"state": tensors}
		}
		out = append(out, preserveAs(t, l.String(), writer.Options{Layout: l, Signing: private}, byte(n), items))
	}
	return out
}

// A linked file that was forged, checksums and all, is found when it is read
// back, and written anew.
func TestForgedBase(t *testing.T) {
	ctx := t.Context()
	public, private := signingKey(1)
	dir := t.TempDir()
	state := forgeableState()
	o := checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Signing: private}},
		Base: filepath.Join(dir, "1"), VerifyEvery: 1}
	if err := checkpoint.Save(ctx, filepath.Join(dir, "1"), state, &o); err != nil {
		t.Fatal(err)
	}
	file, at, _ := locateBytes(t, filepath.Join(dir, "1"), state["middle"].(tensor.Tensor).Data, 700_000)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	forge(b, at)
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := checkpoint.SaveAsync(ctx, filepath.Join(dir, "2"), state, &o)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := r.Result(ctx)
	if err != nil || stats.Damaged != 1 || stats.Linked > 0 {
		t.Errorf("%+v, %v: want the damaged file written anew", stats, err)
	}
	if err := sameState(ctx, filepath.Join(dir, "2"), state,
		&checkpoint.LoadOptions{Options: options.Options{Bivouac: options.Bivouac{Verification: public}}}); err != nil {
		t.Error(err)
	}
}
