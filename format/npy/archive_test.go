package npy

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"maps"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

func openArchive(b []byte, o Options) (*Archive, error) {
	return OpenArchive(bytes.NewReader(b), int64(len(b)), o)
}

func TestArchiveGivesBackWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arrays := rapid.MapOfN(rapid.StringMatching(`[a-mé/. ]{0,9}`), rapid.Custom(drawTensor), 0, 5).Draw(t, "arrays")
		var b bytes.Buffer
		w := NewArchiveWriter(&b, rapid.Bool().Draw(t, "deflate"))
		names := slices.Sorted(maps.Keys(arrays))
		for _, name := range names {
			if err := w.Write(name, arrays[name]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		a, err := openArchive(b.Bytes(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.Names(), names) {
			t.Fatalf("got %q, want %q", a.Names(), names)
		}
		for _, name := range names {
			h, err := a.Header(name)
			if err != nil || !h.Shape.Equal(arrays[name].Shape) {
				t.Fatalf("%q: %+v, %v", name, h, err)
			}
			if got, err := a.Read(name); err != nil || !got.Equal(arrays[name]) {
				t.Fatalf("%q: %v", name, err)
			}
		}
	})
}

func archive(tb testing.TB, deflate bool, arrays map[string]tensor.Tensor) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := NewArchiveWriter(&b, deflate)
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		if err := w.Write(name, arrays[name]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// Each bit flipped and each length cut: an error, or the arrays that were
// written, under some name.
func TestArchiveDamage(t *testing.T) {
	x := tensor.FromSlice([]float32{1, 2, 3})
	for _, deflate := range []bool{false, true} {
		b := archive(t, deflate, map[string]tensor.Tensor{"a": x, "b": x})
		for i := range len(b) * 8 {
			c := bytes.Clone(b)
			c[i/8] ^= 1 << (i % 8)
			arrays, err := DecodeArchive(c)
			if err != nil {
				if errs.KindOf(err) != errs.Corrupt && errs.KindOf(err) != errs.Unsupported {
					t.Errorf("bit %d: kind %v of %v", i, errs.KindOf(err), err)
				}
				continue
			}
			for name, got := range arrays {
				if !got.Equal(x) {
					t.Errorf("bit %d: %q is %v", i, name, got)
				}
			}
		}
		for n := range b {
			if _, err := DecodeArchive(b[:n]); !errors.Is(err, errs.Corrupt) {
				t.Errorf("cut to %d of %d: %v", n, len(b), err)
			}
		}
	}
}

// zipOf makes an archive with archive/zip, as other writers do.
func zipOf(tb testing.TB, members ...*zip.FileHeader) *bytes.Buffer {
	tb.Helper()
	x, err := Encode(tensor.FromSlice([]int8{7}), nil)
	if err != nil {
		tb.Fatal(err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		f, err := w.CreateHeader(m)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := f.Write(x); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return &b
}

func TestArchivesOfOthers(t *testing.T) {
	long := bytes.Repeat([]byte{'c'}, 1000)
	withComment := zipOf(t, &zip.FileHeader{Name: "a.npy"}).Bytes()
	withComment = append(withComment[:len(withComment)-2:len(withComment)-2], byte(len(long)), byte(len(long)>>8))
	for name, c := range map[string]struct {
		b     []byte
		names []string
	}{
		"no suffix":            {zipOf(t, &zip.FileHeader{Name: "a"}).Bytes(), []string{"a"}},
		"twice":                {zipOf(t, &zip.FileHeader{Name: "a.npy"}, &zip.FileHeader{Name: "a.npy"}).Bytes(), []string{"a"}},
		"code page 437":        {zipOf(t, &zip.FileHeader{Name: "\x82\xff.npy", NonUTF8: true}).Bytes(), []string{"é\u00a0"}},
		"a name with a parent": {zipOf(t, &zip.FileHeader{Name: "../a.npy"}).Bytes(), []string{"../a"}},
		"an extra field":       {zipOf(t, &zip.FileHeader{Name: "a.npy", Extra: []byte{9, 9, 1, 0, 5}}).Bytes(), []string{"a"}},
		"a comment":            {append(withComment, long...), []string{"a"}},
		"bytes behind":         {append(zipOf(t, &zip.FileHeader{Name: "a.npy"}).Bytes(), "junk"...), []string{"a"}},
	} {
		a, err := openArchive(c.b, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.names, a.Names()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if x, err := a.Read(c.names[0]); err != nil || x.Data[0] != 7 {
			t.Errorf("%s: %v, %v", name, x, err)
		}
	}
}

// zip64 has sizes and the end of the directory in 64 bits.
func TestZip64(t *testing.T) {
	x, err := Encode(tensor.FromSlice([]int8{7}), nil)
	if err != nil {
		t.Fatal(err)
	}
	const name = "a.npy"
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("PK\x03\x04\x2d\x00\x00\x00\x00\x00\x00\x00\x00\x00"), crc32.ChecksumIEEE(x))
	b = append(b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, byte(len(name)), 0, 0, 0)
	b = append(append(b, name...), x...)
	directory := len(b)
	b = append(b, "PK\x01\x02\x2d\x00\x2d\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	b = le.AppendUint32(b, crc32.ChecksumIEEE(x))
	b = append(b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, byte(len(name)), 0, 28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff)
	b = append(append(b, name...), 1, 0, 24, 0)
	b = le.AppendUint64(b, uint64(len(x)))
	b = le.AppendUint64(b, uint64(len(x)))
	b = le.AppendUint64(b, 0)
	size := len(b) - directory
	end := len(b)
	b = append(b, "PK\x06\x06\x2c\x00\x00\x00\x00\x00\x00\x00\x2d\x00\x2d\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	for _, v := range []int{1, 1, size, directory} {
		b = le.AppendUint64(b, uint64(v))
	}
	b = le.AppendUint64(append(b, "PK\x06\x07\x00\x00\x00\x00"...), uint64(end))
	b = append(b, "\x01\x00\x00\x00PK\x05\x06\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00"...)
	arrays, err := DecodeArchive(b)
	if err != nil || !arrays["a"].Equal(tensor.FromSlice([]int8{7})) {
		t.Errorf("%v, %v", arrays, err)
	}
}

func TestArchiveThatIsRefused(t *testing.T) {
	store := zipOf(t, &zip.FileHeader{Name: "a.npy"}).Bytes()
	change := func(at int, old, new byte) []byte {
		c := bytes.Clone(store)
		if c[at] != old {
			t.Fatalf("byte %d is %x, want %x", at, c[at], old)
		}
		c[at] = new
		return c
	}
	directory := bytes.Index(store, []byte("PK\x01\x02"))
	for name, c := range map[string]struct {
		b    []byte
		kind errs.Kind
	}{
		"no archive":         {[]byte("PK\x03\x04 and no more"), errs.Corrupt},
		"something in front": {append([]byte("x"), store...), errs.Corrupt},
		"no array":           {change(30+5, 0x93, 0x92), errs.Corrupt},
		"another local name": {change(30, 'a', 'b'), errs.Corrupt},
		"checksum":           {change(directory-16-1, 7, 8), errs.Corrupt},
		"method":             {change(directory+10, 0, 12), errs.Unsupported},
		"encrypted":          {change(directory+8, 8, 9), errs.Unsupported},
		"version":            {change(directory+6, 20, 64), errs.Corrupt},
	} {
		_, err := DecodeArchive(c.b)
		if !errors.Is(err, c.kind) {
			t.Errorf("%s: %v, want kind %v", name, err, c.kind)
		}
	}
	a, err := openArchive(store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read("b"); !errors.Is(err, errs.NotFound) {
		t.Errorf("no such array: %v", err)
	}
}

// A deflated array of zeros is refused beyond the budget, before it takes memory.
func TestBombs(t *testing.T) {
	b := archive(t, true, map[string]tensor.Tensor{"a": tensor.New(tensor.Uint8, 8<<20)})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a, err := openArchive(b, Options{Budget: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Read("a")
	runtime.ReadMemStats(&after)
	if !errors.Is(err, errs.Exhausted) || after.TotalAlloc-before.TotalAlloc > 1<<20 {
		t.Errorf("%v after %d bytes", err, after.TotalAlloc-before.TotalAlloc)
	}
	if a, err = openArchive(b, Options{}); err != nil {
		t.Fatal(err)
	}
	if x, err := a.Read("a"); err != nil || x.Len() != 8<<20 {
		t.Errorf("within the budget: %v", err)
	}

	// A member that declares more than deflate could make of its bytes.
	header, err := (Header{DType: tensor.Uint8, Shape: tensor.Shape{1 << 40}}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	f, err := flate.NewWriter(&packed, 9)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(header); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var liar bytes.Buffer
	w := zip.NewWriter(&liar)
	raw, err := w.CreateRaw(&zip.FileHeader{Name: "a.npy", Method: zip.Deflate,
		CompressedSize64: uint64(packed.Len()), UncompressedSize64: 1<<40 + uint64(len(header))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(raw, &packed); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeArchive(liar.Bytes()); !errors.Is(err, errs.Corrupt) {
		t.Errorf("a size that cannot be: %v", err)
	}
}

func TestArchiveWriterErrors(t *testing.T) {
	x := tensor.New(tensor.Int8, 1)
	var b bytes.Buffer
	w := NewArchiveWriter(&b, false)
	for _, c := range []struct {
		name string
		x    tensor.Tensor
		want error
	}{
		{"a", x, nil},
		{"a", x, errs.Exists},
		{"a.npy", x, errs.Exists},
		{"b.npy", x, nil},
		{"b", x, errs.Exists},
		{"\x00", x, errs.Invalid},
		{"\xff", x, errs.Invalid},
		{"c", tensor.New(tensor.BFloat16, 1), errs.Unsupported},
		{"c", tensor.Tensor{DType: tensor.Int8, Shape: tensor.Shape{2}}, errs.Mismatch},
		{"c", x, nil},
	} {
		if err := w.Write(c.name, c.x); !errors.Is(err, c.want) {
			t.Errorf("%q %v: %v, want %v", c.name, c.x, err, c.want)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if arrays, err := DecodeArchive(b.Bytes()); err != nil || len(arrays) != 3 {
		t.Errorf("%v, %v", arrays, err)
	}
}
