package reader_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/format/tokens"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// array returns numbers as the bytes of a dtype.
func array(t caller, d tensor.DType, v []int64) []byte {
	t.Helper()
	x, err := tensor.Cast(d, tensor.FromSlice(v, len(v)))
	if err != nil {
		t.Fatal(err)
	}
	return x.Data
}

// pair makes NAME.bin and NAME.idx of documents, each a list of sequences, and returns NAME.
func pair(t caller, dir, name string, d tensor.DType, documents ...[][]int64) string {
	t.Helper()
	var lengths []int32
	ends := []int64{0}
	var all []int64
	for _, doc := range documents {
		for _, s := range doc {
			lengths = append(lengths, int32(len(s)))
			all = append(all, s...)
		}
		ends = append(ends, int64(len(lengths)))
	}
	b, err := tokens.AppendIndex(nil, d, lengths, ends)
	if err != nil {
		t.Fatal(err)
	}
	putText(t, dir, name+".idx", string(b))
	putText(t, dir, name+".bin", string(array(t, d, all)))
	return filepath.Join(dir, name)
}

func ints(t caller, x tensor.Tensor) []int64 {
	t.Helper()
	y, err := tensor.Cast(tensor.Int64, x)
	if err != nil {
		t.Fatal(err)
	}
	v, err := tensor.Of[int64](y)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Every sample is the tokens that the documents have at its place, for any dtype, window, stride,
// remainder, number of files, type of the output, and with or without documents.
func TestTokensAreThoseOfTheFiles(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		d := rapid.SampledFrom([]tensor.DType{tensor.Uint8, tensor.Int8, tensor.Int16, tensor.Uint16, tensor.Int32,
			tensor.Int64, tensor.Float32}).Draw(t, "dtype")
		plain := rapid.Bool().Draw(t, "plain")
		window := rapid.IntRange(0, 5).Draw(t, "window")
		if plain {
			window++
		}
		stride := 0
		if window > 0 {
			stride = rapid.IntRange(0, 7).Draw(t, "stride")
		}
		short := window > 0 && rapid.Bool().Draw(t, "short")
		args := op.Args{"window": window, "stride": stride, "keep_short": short}
		out := d
		if rapid.Bool().Draw(t, "convert") {
			out = rapid.SampledFrom([]tensor.DType{tensor.Int32, tensor.Int64, tensor.Int8}).Draw(t, "output")
			args["output_dtype"] = out
		}
		if plain {
			args["dtype"] = d
			args["header_bytes"] = 3
		} else {
			args["boundaries"] = true
		}
		var paths []string
		var want, wantEnds [][]int64
		for f := range rapid.IntRange(1, 3).Draw(t, "files") {
			var all []int64
			var documents [][][]int64
			var ends []int64
			for range rapid.IntRange(0, 4).Draw(t, "documents") {
				var doc [][]int64
				whole := []int64{}
				for range rapid.IntRange(0, 2).Draw(t, "sequences") {
					s := rapid.SliceOfN(rapid.Int64Range(0, 127), 0, 6).Draw(t, "sequence")
					doc, whole = append(doc, s), append(whole, s...)
				}
				documents, all = append(documents, doc), append(all, whole...)
				ends = append(ends, int64(len(all)))
				if window == 0 {
					want = append(want, whole)
					wantEnds = append(wantEnds, slices.DeleteFunc([]int64{int64(len(whole))}, func(n int64) bool { return n == 0 }))
				}
			}
			name := fmt.Sprintf("part-%d", f)
			if plain {
				paths = append(paths, putText(t, dir, name+".bin", "abc"+string(array(t, d, all))))
			} else {
				base := pair(t, dir, name, d, documents...)
				paths = append(paths, base+rapid.SampledFrom([]string{"", ".bin", ".idx"}).Draw(t, "suffix"))
			}
			step := stride
			if step == 0 {
				step = window
			}
			covered := 0
			for at := 0; window > 0 && at < len(all); at += step {
				end := at + window
				if end > len(all) {
					if !short || covered >= len(all) {
						break
					}
					end = len(all)
				}
				covered = end
				want = append(want, all[at:end])
				in := []int64{}
				for _, e := range slices.Compact(slices.Clone(ends)) {
					if int(e) > at && int(e) <= end {
						in = append(in, e-int64(at))
					}
				}
				wantEnds = append(wantEnds, in)
			}
		}
		args["path"] = paths
		src, err := try(t, "readers.tokens", args)
		if len(want) == 0 {
			if !errors.Is(err, errs.Invalid) {
				t.Fatalf("no sample: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := src.Info().Samples; n != int64(len(want)) {
			t.Fatalf("%d samples, want %d", n, len(want))
		}
		for id, w := range want {
			got := src.get(t, int64(id))
			if got[0].DType != out || !slices.Equal(ints(t, got[0]), w) {
				t.Fatalf("sample %d: %v, want %v as %s", id, got[0], w, out)
			}
			if len(got) > 1 && !slices.Equal(ints(t, got[1]), wantEnds[id]) {
				t.Fatalf("sample %d: documents end at %v, want %v", id, got[1], wantEnds[id])
			}
			if n := src.Size(int64(id)); n < int64(len(w)*d.Size()) {
				t.Fatalf("sample %d: size %d", id, n)
			}
		}
	})
}

// A token that the output cannot hold is an error that names file, token and value.
func TestTokensThatDoNotFit(t *testing.T) {
	path := putText(t, t.TempDir(), "tokens", string(array(t, tensor.Uint32, []int64{1, 2, 1 << 31, 4})))
	src := must(t, "readers.tokens", op.Args{"path": path, "dtype": tensor.Uint32, "window": 2,
		"output_dtype": tensor.Int32})
	if got := src.get(t, 0); !slices.Equal(ints(t, got[0]), []int64{1, 2}) {
		t.Errorf("%v", got)
	}
	_, err := src.sample(1)
	if !errors.Is(err, errs.Invalid) || !strings.Contains(fmt.Sprint(err), "token 2") ||
		!strings.Contains(fmt.Sprint(err), "2147483648") {
		t.Errorf("%v", err)
	}
}

// An npy file with a header is read by it; one without is a plain array.
func TestTokensOfNpy(t *testing.T) {
	dir := t.TempDir()
	x := tensor.FromSlice([]int32{1, 2, 3, 4, 5}, 5)
	b, err := npy.Encode(x, nil)
	if err != nil {
		t.Fatal(err)
	}
	with := putText(t, dir, "with.npy", string(b))
	without := putText(t, dir, "without.npy", string(x.Data))
	src := must(t, "readers.tokens", op.Args{"path": []string{with, without}, "window": 3, "stride": 2,
		"dtype": tensor.Int32})
	if src.Info().Samples != 4 || !src.get(t, 1)[0].Equal(src.get(t, 3)[0]) || !slices.Equal(ints(t, src.get(t, 1)[0]),
		[]int64{3, 4, 5}) {
		t.Errorf("%d samples, %v", src.Info().Samples, src.get(t, 1))
	}
	if _, err := try(t, "readers.tokens", op.Args{"path": with, "window": 3, "dtype": tensor.Uint16}); !errors.Is(err,
		errs.Mismatch) {
		t.Errorf("another dtype than the header: %v", err)
	}
}

// The fingerprint is the same wherever the files lie, and another for other tokens, windows and
// dtypes.
func TestTokensFingerprint(t *testing.T) {
	print := func(args op.Args) string { return must(t, "readers.tokens", args).Info().Fingerprint }
	a := pair(t, t.TempDir(), "a", tensor.Uint16, [][]int64{{1, 2}, {3}}, [][]int64{{4}})
	b := pair(t, t.TempDir(), "b", tensor.Uint16, [][]int64{{1, 2}, {3}}, [][]int64{{4}})
	other := pair(t, t.TempDir(), "c", tensor.Uint16, [][]int64{{1, 2}}, [][]int64{{3}, {4}})
	seen := map[string]string{}
	for name, args := range map[string]op.Args{
		"documents": {"path": a}, "other documents": {"path": other}, "window": {"path": a, "window": 2}, "stride": {"path": a, "window": 2, "stride": 1},
		"converted": {"path": a, "output_dtype": tensor.Int64},
	} {
		p := print(args)
		if seen[p] != "" {
			t.Errorf("%s and %s have one fingerprint", name, seen[p])
		}
		seen[p] = name
	}
	if print(op.Args{"path": a}) != print(op.Args{"path": b}) {
		t.Error("a copy has another fingerprint")
	}
	if print(op.Args{"path": a, "window": 2}) != print(op.Args{"path": other, "window": 2}) {
		t.Error("windows have another fingerprint because of documents, which they do not show")
	}
}

// Each mistake is an error that names what is wrong.
func TestTokensMistakes(t *testing.T) {
	dir := t.TempDir()
	good := pair(t, dir, "good", tensor.Uint16, [][]int64{{1, 2}, {3}}, [][]int64{{4}})
	wide := pair(t, dir, "wide", tensor.Int32, [][]int64{{1, 2}})
	cut := pair(t, dir, "cut", tensor.Uint16, [][]int64{{1, 2}})
	if err := os.Truncate(cut+".bin", 2); err != nil {
		t.Fatal(err)
	}
	bare := pair(t, dir, "bare", tensor.Uint16, [][]int64{{1, 2}})
	if err := os.Remove(bare + ".bin"); err != nil {
		t.Fatal(err)
	}
	odd := putText(t, dir, "odd", "abc")
	empty := putText(t, dir, "empty", "")
	for _, c := range []struct {
		name string
		args op.Args
		kind errs.Kind
		says string
	}{
		{"nothing", op.Args{"path": []string{}}, errs.Invalid, "at least one path"},
		{"missing file", op.Args{"path": filepath.Join(dir, "nothing")}, errs.NotFound, "nothing"},
		{"no match", op.Args{"path": filepath.Join(dir, "nothing*")}, errs.NotFound, "files that match"},
		{"plain array without dtype", op.Args{"path": odd, "window": 2}, errs.Invalid, "dtype"},
		{"cut token", op.Args{"path": odd, "window": 2, "dtype": tensor.Uint16}, errs.Corrupt, "3 bytes"},
		{"header beyond the file", op.Args{"path": odd, "window": 2, "dtype": tensor.Uint8, "header_bytes": 4}, errs.Corrupt, "after 4 bytes"},
		{"cut .bin", op.Args{"path": cut}, errs.Corrupt, "cut.idx"},
		{"another dtype", op.Args{"path": good, "dtype": tensor.Int32}, errs.Mismatch, "good.idx"},
		{"no .bin", op.Args{"path": bare}, errs.NotFound, "bare.bin"},
		{"no window", op.Args{"path": odd, "dtype": tensor.Uint8}, errs.Invalid, "window"},
		{"boundaries of an array", op.Args{"path": odd, "dtype": tensor.Uint8, "window": 2, "boundaries": true}, errs.Invalid, "boundaries"},
		{"window too long", op.Args{"path": good, "window": 5}, errs.Invalid, "4 tokens in 1 files"},
		{"empty file", op.Args{"path": empty, "window": 5, "dtype": tensor.Uint8}, errs.Invalid, "0 tokens"},
		{"two dtypes", op.Args{"path": []string{good, wide}}, errs.Mismatch, "output_dtype"},
		{"stride without window", op.Args{"path": good, "stride": 2}, errs.Invalid, "stride"},
		{"short without window", op.Args{"path": good, "keep_short": true}, errs.Invalid, "keep_short"},
		{"negative", op.Args{"path": good, "window": -1}, errs.Invalid, "window"},
		{"complex", op.Args{"path": good, "output_dtype": tensor.Complex64}, errs.Invalid, "output_dtype"},
		{"text as index", op.Args{"path": putText(t, dir, "text.idx", "hello, this is text"), "window": 1}, errs.Corrupt, "text.idx"},
		{"shards", op.Args{"path": good, "num_shards": 0}, errs.Invalid, "num_shards"},
	} {
		_, err := try(t, "readers.tokens", c.args)
		if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v, want %v that says %q", c.name, err, c.kind, c.says)
		}
	}
}

// A pattern finds each pair once, and files in the order of their names.
func TestTokensByPattern(t *testing.T) {
	dir := t.TempDir()
	pair(t, dir, "b", tensor.Uint16, [][]int64{{2}})
	pair(t, dir, "a", tensor.Uint16, [][]int64{{1}})
	src := must(t, "readers.tokens", op.Args{"path": filepath.Join(dir, "*")})
	if src.Info().Samples != 2 || !slices.Equal(ints(t, src.get(t, 1)[0]), []int64{2}) {
		t.Errorf("%d samples", src.Info().Samples)
	}
}

// BenchmarkTokens reads windows of 4096 tokens at places that jump. BenchmarkTokensRaw reads the
// same bytes without a reader.
func BenchmarkTokens(b *testing.B) {
	src := must(b, "readers.tokens", op.Args{"path": tokenBytes(b), "dtype": tensor.Uint16, "window": benchWindow})
	var block op.Block
	var local any
	x := block.Binding()
	out := make([]byte, 2*benchWindow)
	x.Memory, x.Positions, x.Specs, x.Local = fixed(out), []int64{0}, src.specs, &local
	x.Out = [][]tensor.Tensor{make([]tensor.Tensor, 1)}
	ids := []int64{0}
	b.SetBytes(2 * benchWindow)
	b.ReportAllocs()
	for b.Loop() {
		ids[0] = (ids[0] + 7919) % src.Info().Samples
		if err := src.Fetch(b.Context(), ids, &block); err != nil || len(x.Errors) > 0 {
			b.Fatal(err, x.Errors)
		}
	}
}

type fixed []byte

func (f fixed) Output(_, _, size int) []byte { return f[:size] }
func (f fixed) Scratch(size int) []byte      { return make([]byte, size) }

const benchWindow = 4096

func tokenBytes(b *testing.B) string {
	data := make([]byte, 256<<20)
	for i := 0; i < len(data); i += 8 {
		binary.LittleEndian.PutUint64(data[i:], uint64(i)*0x9e3779b97f4a7c15)
	}
	return putText(b, b.TempDir(), "tokens", string(data))
}

func BenchmarkTokensRaw(b *testing.B) {
	f, err := os.Open(tokenBytes(b))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	out := make([]byte, 2*benchWindow)
	windows := int64(256<<20) / int64(len(out))
	b.SetBytes(2 * benchWindow)
	b.ReportAllocs()
	id := int64(0)
	for b.Loop() {
		id = (id + 7919) % windows
		if _, err := f.ReadAt(out, id*int64(len(out))); err != nil {
			b.Fatal(err)
		}
	}
}
