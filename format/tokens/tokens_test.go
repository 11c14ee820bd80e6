package tokens

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

const fixtures = "../../testdata/formats/tokens"

// recorded is a pair of testdata.
type recorded struct {
	Name, DType   string
	Documents     [][]int64
	Modes, Cached bool
	idx, bin      []byte
}

func cases(t testing.TB) []recorded {
	b, err := os.ReadFile(filepath.Join(fixtures, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []recorded }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	for i := range file.Cases {
		c := &file.Cases[i]
		if c.idx, err = os.ReadFile(filepath.Join(fixtures, c.Name+".idx")); err != nil {
			t.Fatal(err)
		}
		if c.bin, err = os.ReadFile(filepath.Join(fixtures, c.Name+".bin")); err != nil {
			t.Fatal(err)
		}
	}
	return file.Cases
}

func read(idx []byte, bin int) (*Index, error) {
	return ReadIndex(bytes.NewReader(idx), int64(len(idx)), int64(bin))
}

// Files of Megatron, and those that follow the layouts of older programs, have the documents that
// were written.
func TestFilesOfOtherPrograms(t *testing.T) {
	all := cases(t)
	if len(all) < 30 {
		t.Errorf("%d cases", len(all))
	}
	for _, c := range all {
		x, err := read(c.idx, len(c.bin))
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if x.DType.String() != c.DType || x.Modes != c.Modes || x.Cached != c.Cached {
			t.Errorf("%s: %s, modes %t, cached %t", c.Name, x.DType, x.Modes, x.Cached)
		}
		if int(x.Documents()) != len(c.Documents) {
			t.Errorf("%s: %d documents, want %d", c.Name, x.Documents(), len(c.Documents))
			continue
		}
		all := tensor.Tensor{DType: x.DType, Shape: tensor.Shape{int(x.Tokens)}, Data: c.bin}
		wide, err := tensor.Cast(tensor.Int64, all)
		if err != nil {
			t.Fatal(err)
		}
		v, _ := tensor.Of[int64](wide)
		for i, want := range c.Documents {
			first, n := x.Document(int64(i))
			if !slices.Equal(v[first:first+n], want) {
				t.Errorf("%s, document %d: %v, want %v", c.Name, i, v[first:first+n], want)
			}
		}
	}
}

// AppendIndex writes what Megatron writes.
func TestAppendIndexWritesTheSameBytes(t *testing.T) {
	seen := 0
	for _, c := range cases(t) {
		if !strings.HasPrefix(c.Name, "megatron-") || c.Modes {
			continue
		}
		seen++
		h, err := ReadHead(bytes.NewReader(c.idx), int64(len(c.idx)))
		if err != nil {
			t.Fatal(err)
		}
		d, err := tensor.ParseDType(c.DType)
		if err != nil {
			t.Fatal(err)
		}
		lengths, ends := make([]int32, h.Sequences), make([]int64, h.marks)
		for i := range lengths {
			lengths[i] = int32(binary.LittleEndian.Uint32(c.idx[34+4*i:]))
		}
		for i := range ends {
			ends[i] = int64(binary.LittleEndian.Uint64(c.idx[34+12*len(lengths)+8*i:]))
		}
		if got, err := AppendIndex(nil, d, lengths, ends); err != nil || !bytes.Equal(got, c.idx) {
			t.Errorf("%s: % x, %v\nwant % x", c.Name, got, err, c.idx)
		}
	}
	if seen < 10 {
		t.Errorf("%d files of Megatron", seen)
	}
	if _, err := AppendIndex(nil, tensor.Bool, nil, nil); !errors.Is(err, errs.Unsupported) {
		t.Errorf("bool: %v", err)
	}
}

// Each changed byte of an index is refused or leaves documents that tile the tokens, and so is each
// other length of the index or of the tokens.
func TestDamageIsNoticed(t *testing.T) {
	for _, c := range cases(t) {
		if x, err := read(c.idx, len(c.bin)); err != nil || x.Documents() < 4 {
			continue
		}
		refused := 0
		for i := range c.idx {
			b := bytes.Clone(c.idx)
			b[i] ^= 0x81
			x, err := read(b, len(c.bin))
			if err != nil {
				refused++
				if k := errs.KindOf(err); k != errs.Corrupt && k != errs.Unsupported {
					t.Errorf("%s, byte %d: %v", c.Name, i, err)
				}
				continue
			}
			tiles(t, x, len(c.bin))
		}
		if most := len(c.idx); refused < most*8/10 {
			t.Errorf("%s: %d of %d changed bytes were refused", c.Name, refused, most)
		}
		for n := range c.idx {
			if _, err := read(c.idx[:n], len(c.bin)); !errors.Is(err, errs.Corrupt) {
				t.Errorf("%s: an index of %d of %d bytes: %v", c.Name, n, len(c.idx), err)
			}
		}
		if _, err := read(append(bytes.Clone(c.idx), 0), len(c.bin)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: a longer index: %v", c.Name, err)
		}
		for _, n := range []int{0, len(c.bin) - 1, len(c.bin) + 1, 2 * len(c.bin)} {
			if _, err := read(c.idx, n); !errors.Is(err, errs.Corrupt) {
				t.Errorf("%s: %d bytes of tokens: %v", c.Name, n, err)
			}
		}
	}
}

// tiles checks that documents follow each other from the first token to the last.
func tiles(t testing.TB, x *Index, bin int) {
	t.Helper()
	at := int64(0)
	for i := range x.Documents() {
		first, n := x.Document(i)
		if first != at || n < 0 {
			t.Fatalf("document %d has %d tokens from %d on, want it at %d", i, n, first, at)
		}
		at += n
	}
	if x.Tokens*int64(x.DType.Size()) != int64(bin) || at > x.Tokens {
		t.Fatalf("%d tokens of %s in %d bytes, %d in documents", x.Tokens, x.DType, bin, at)
	}
}

// Counts that the file has no room for are refused before memory is taken.
func TestHostileCounts(t *testing.T) {
	good, err := AppendIndex(nil, tensor.Uint16, []int32{3}, []int64{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{18, 26} {
		for _, v := range []uint64{1 << 62, 1<<63 + 1, 1<<64 - 1, 1 << 31, 3} {
			b := bytes.Clone(good)
			binary.LittleEndian.PutUint64(b[at:], v)
			var got error
			allocated := testing.AllocsPerRun(1, func() { _, got = read(b, 6) })
			if !errors.Is(got, errs.Corrupt) || allocated > 50 {
				t.Errorf("%d at %d: %v, %g allocations", v, at, got, allocated)
			}
		}
	}
	for _, c := range []struct {
		name    string
		lengths []int32
		ends    []int64
	}{
		{"negative length", []int32{-1, 4}, []int64{0, 2}}, {"ends that go back", []int32{1, 2}, []int64{0, 2, 1, 2}},
		{"a first end of 1", []int32{1, 2}, []int64{1, 2}}, {"an end beyond", []int32{1, 2}, []int64{0, 3}},
		{"sequences without document", []int32{1, 2}, []int64{0, 1}}, {"no ends", []int32{1, 2}, []int64{}},
	} {
		b, err := AppendIndex(nil, tensor.Uint16, c.lengths, c.ends)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read(b, 6); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Ends lists the ends of documents within any window.
func TestEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.Int32Range(0, 5), 0, 8).Draw(t, "lengths")
		ends := []int64{0}
		var at int64
		var places []int64
		for i, n := range lengths {
			ends = append(ends, int64(i)+1)
			at += int64(n)
			places = append(places, at)
		}
		b, err := AppendIndex(nil, tensor.Uint8, lengths, ends)
		if err != nil {
			t.Fatal(err)
		}
		x, err := read(b, int(at))
		if err != nil {
			t.Fatal(err)
		}
		first := rapid.Int64Range(0, at).Draw(t, "first")
		n := rapid.Int64Range(0, at-first).Draw(t, "n")
		var want []int64
		for _, p := range slices.Compact(places) {
			if p > first && p <= first+n {
				want = append(want, p-first)
			}
		}
		if got := x.Ends(nil, first, n); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func FuzzReadIndex(f *testing.F) {
	for _, c := range cases(f) {
		f.Add(c.idx, len(c.bin))
	}
	f.Fuzz(func(t *testing.T, idx []byte, bin int) {
		x, err := read(idx, bin)
		if err != nil {
			return
		}
		tiles(t, x, bin)
		if x.Documents() > int64(len(idx)) {
			t.Fatalf("%d documents of %d bytes", x.Documents(), len(idx))
		}
		fmt.Fprint(&strings.Builder{}, x.Ends(nil, 0, x.Tokens))
	})
}
