package checkpoint_test

import (
	"bytes"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/tensor"
)

// vandal changes files of a saved checkpoint, verifies it, and puts the files back.
type vandal struct {
	*testing.T
	dir      string
	files    map[string][]byte
	arrays   map[string][]byte // the elements, by the name of the array
	manifest *manifest.Manifest
}

// window is how many bytes tell where they belong.
const window = 64

// newVandal saves arrays of several sizes, with random elements.
func newVandal(t *testing.T, layout options.Layout) vandal {
	v := vandal{t, filepath.Join(t.TempDir(), "c"), map[string][]byte{}, map[string][]byte{}, nil}
	state, r := map[string]any{"text": "a string", "tiny": int64(7)}, rand.New(rand.NewPCG(7, 7))
	for name, a := range map[string]tensor.Tensor{
		"some": tensor.New(tensor.Float32, 300, 256), "bits": tensor.New(tensor.Bool, 90_000),
		"many": tensor.New(tensor.Uint32, 5<<18+5), "rows": tensor.New(tensor.Float64, 300, 1000),
	} {
		for i := range a.Data {
			if a.Data[i] = byte(r.Uint32()); a.DType == tensor.Bool {
				a.Data[i] &= 1
			}
		}
		state[name], v.arrays[name] = a, a.Data
	}
	save := &checkpoint.SaveOptions{}
	save.Bivouac.Layout = layout
	err := checkpoint.Save(t.Context(), v.dir, state, save)
	if err == nil {
		err = filepath.WalkDir(v.dir, func(at string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(at)
			name, _ := filepath.Rel(v.dir, at)
			v.files[filepath.ToSlash(name)] = b
			return err
		})
	}
	if err == nil {
		v.manifest, err = manifest.Parse(v.files[manifest.Name])
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// holder returns the array that the bytes of a file around the offset at belong to, or "".
func (v vandal) holder(file string, at int) string {
	b := v.files[file]
	if at < window/2 || at > len(b)-window/2 {
		return ""
	}
	for name, data := range v.arrays {
		if bytes.Contains(data, b[at-window/2:at+window/2]) {
			return name
		}
	}
	return ""
}

// gap returns the offset of a zero in a file that belongs to no array and has other zeros around
// it, or -1.
func (v vandal) gap(file string) int {
	if i := bytes.Index(v.files[file], make([]byte, 4*window)); i >= 0 {
		return i + 2*window
	}
	return -1
}

// verify verifies the checkpoint with other files, and returns the problems.
func (v vandal) verify(with map[string][]byte) []string {
	v.Helper()
	for name, b := range with {
		if err := os.WriteFile(filepath.Join(v.dir, name), b, 0o666); err != nil {
			v.Fatal(err)
		}
		defer os.WriteFile(filepath.Join(v.dir, name), v.files[name], 0o666) //nolint:errcheck // the next check fails
	}
	r, err := integrity.Verify(v.Context(), v.dir, nil)
	if err != nil {
		v.Fatal(err)
	}
	var all []string
	for _, p := range r.Problems {
		all = append(all, p.Error())
	}
	return all
}

// sentence is the problem of a file with other bytes.
func (v vandal) sentence(name string, b []byte) string {
	f, _ := v.manifest.File(name)
	return manifest.ChecksumError(name, f.CRC, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))).Error()
}

// check verifies the checkpoint with other bytes of one file. The problems must name the file. If
// only elements or gaps have changed, they are the problem of the file and one of each array.
func (v vandal) check(what, name string, b []byte, inside bool, arrays ...string) {
	v.Helper()
	problems := v.verify(map[string][]byte{name: b})
	about := func(s string) bool {
		return slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, s) })
	}
	if !about(name) || inside && (len(problems) != 1+len(arrays) || !slices.Contains(problems, v.sentence(name, b))) {
		v.Errorf("%s of %s: the problems %q, want %q and %d more", what, name, problems, v.sentence(name, b), len(arrays))
	}
	for array := range v.arrays {
		if hit := slices.Contains(arrays, array); inside && hit != about(strconv.Quote(array)) {
			v.Errorf("%s of %s: the problems %q, want one of the array %q: %v", what, name, problems, array, hit)
		}
	}
}

// A changed bit in any file is found, and named: by the file, and by the array if it holds an
// element. A gap with other bytes is a problem of the file alone. Two pieces of an array that have
// changed places are a problem of both.
func TestVerifyNamesWhatChanged(t *testing.T) {
	gaps, swaps := 0, 0
	for _, layout := range []options.Layout{options.DefaultLayout, options.OCDBTZarr2, options.PlainZarr3,
		options.PlainZarr2, options.SafetensorsLayout} {
		t.Run(layout.String(), func(t *testing.T) {
			v := newVandal(t, layout)
			if found := v.verify(nil); len(found) > 0 {
				t.Fatal(found)
			}
			r := rand.New(rand.NewPCG(1, 1))
			for name, b := range v.files {
				if len(b) == 0 {
					continue
				}
				places := []int{0, len(b) / 2, len(b) - 1}
				for range min(4, len(b)>>16) {
					places = append(places, r.IntN(len(b)))
				}
				for _, at := range places {
					var arrays []string
					if array := v.holder(name, at); array != "" {
						arrays = append(arrays, array)
					}
					v.check("a bit at "+strconv.Itoa(at), name, flippedAt(b, at), len(arrays) > 0, arrays...)
				}
				if at := v.gap(name); at >= 0 {
					gaps++
					v.check("the gap at "+strconv.Itoa(at), name, flippedAt(b, at), true)
				}
				const piece = 64 << 10
				for at := piece; at+3*piece < len(b); at += 1 << 20 {
					one := v.holder(name, at)
					if one == "" || v.holder(name, at+piece) != one || v.holder(name, at+2*piece) != one {
						continue
					}
					swaps++
					c := slices.Concat(b[:at], b[at+piece:at+2*piece], b[at:at+piece], b[at+2*piece:])
					v.check("swapped pieces at "+strconv.Itoa(at), name, c, true, one)
				}
			}
			if found := v.verify(nil); len(found) > 0 {
				t.Fatalf("after the files were put back: %q", found)
			}
		})
	}
	if gaps == 0 || swaps < 10 {
		t.Errorf("%d gaps and %d swapped pieces were tried, want some", gaps, swaps)
	}
}
