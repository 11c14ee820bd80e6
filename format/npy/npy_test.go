package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestRecordedVerdicts(t *testing.T) {
	for _, v := range recorded(t) {
		var err error
		if v.isArchive() {
			_, err = DecodeArchive(v.content)
		} else {
			_, err = Decode(v.content)
		}
		switch {
		case err == nil && v.Error != nil:
			t.Errorf("%s: read, want it refused: %v", v.File, v.Error)
		case err != nil && v.Error == nil && !(v.UnsupportedOK && errors.Is(err, errs.Unsupported)):
			t.Errorf("%s: %v", v.File, err)
		case err != nil && !errors.Is(err, errs.Corrupt) && !errors.Is(err, errs.Unsupported):
			t.Errorf("%s: kind %v of %v", v.File, errs.KindOf(err), err)
		}
	}
}

// What numpy.save wrote comes out byte for byte.
func TestWritesWhatNumpyWrites(t *testing.T) {
	n := 0
	for _, v := range recorded(t) {
		if !strings.HasPrefix(v.File, "valid/") || v.isArchive() {
			continue
		}
		h, err := ReadHeader(bytes.NewReader(v.content), int64(len(v.content)))
		if err != nil {
			continue
		}
		x, err := Decode(v.content)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Encode(x, &WriteOptions{Version: h.Version, Fortran: h.Fortran, BigEndian: h.BigEndian})
		if err != nil || !bytes.Equal(got, v.content) {
			t.Errorf("%s: %v\n got %q\nwant %q", v.File, err, got, v.content)
		}
		n++
	}
	if n < 15 {
		t.Errorf("only %d files compared", n)
	}
}

// file returns an npy file with the header as it is given.
func file(version byte, header string, data int) []byte {
	b := append([]byte(magic), version, 0)
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	}
	return append(append(b, header...), make([]byte, data)...)
}

func dictionary(descr, order, shape string) string {
	return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }"
}

// The answers were taken from numpy 2.4.6. An empty want is a refusal, unsupported
// a type that numpy reads and tensors do not have.
func TestHeaderAsNumpy(t *testing.T) {
	const plain, unsupported = "float64[1]", "unsupported"
	shape := func(s string) string { return dictionary("'<f8'", "False", s) }
	descr := func(s string) string { return dictionary(s, "False", "(1,)") }
	whole := shape("(1,)")
	for _, c := range []struct{ header, want string }{
		{whole, plain},
		{shape("(0x2,)"), "float64[2]"}, {shape("(0b1,)"), plain}, {shape("(0o1,)"), plain}, {shape("(1_0,)"), "float64[10]"},
		{shape("(+1,)"), plain}, {shape("(-0,)"), "float64[0]"}, {shape("(00,)"), "float64[0]"}, {shape("((1),)"), plain},
		{shape("((1,))"), plain}, {shape("(1,\n2)"), "float64[1,2]"}, {shape("(1,#c\n2)"), "float64[1,2]"}, {shape("(1,\\\n2)"), "float64[1,2]"},
		{shape("()"), "float64[]"}, {shape("(1L,)"), plain}, {shape("(1 L,)"), plain}, {shape("(0,4)"), "float64[0,4]"},
		{shape("(1152921504606846975,0)"), "float64[1152921504606846975,0]"}, {shape("(" + strings.Repeat("1,", 64) + ")"), "float64[" + strings.Repeat("1,", 63) + "1]"},
		{shape("(1152921504606846976,0)"), ""}, {shape("(4294967296,4294967296,0)"), ""}, {shape("(9223372036854775808,0)"), ""},
		{shape("(" + strings.Repeat("1,", 65) + ")"), ""}, {shape("(True,)"), ""}, {shape("(-1,)"), ""}, {shape("(-1,-1)"), ""}, {shape("(-5,0)"), ""},
		{shape("(01,)"), ""}, {shape("(1.0,)"), ""}, {shape("(1j,)"), ""}, {shape("(1e0,)"), ""}, {shape("(2**1,)"), ""}, {shape("(--1,)"), ""},
		{shape("(1l,)"), ""}, {shape("(L,)"), ""}, {shape("(1LL,)"), ""}, {shape("(1,),"), ""}, {shape("(1,,)"), ""}, {shape("(,)"), ""}, {shape("[1]"), ""},
		{shape("(1)"), ""}, {shape("((1,),)"), ""}, {shape("(None,)"), ""}, {shape("(*(1,),)"), ""}, {shape("(~1,)"), ""}, {shape("(1__0,)"), ""}, {shape("(1_,)"), ""},
		{shape("(1,)+()"), ""}, {shape("(-True,)"), ""}, {shape("(1"), ""},
		{descr("u'<f8'"), plain}, {descr("r'<f8'"), plain}, {descr("'<' 'f8'"), plain}, {descr("'''<f8'''"), plain}, {descr(`"<f8"`), plain},
		{descr(`'\x3cf8'`), plain}, {descr(`'\u003cf8'`), plain}, {descr(`'\U0000003cf8'`), plain}, {descr(`'\74f8'`), plain}, {descr("'<f\\\n8'"), plain},
		{descr("(('<f8'))"), plain}, {descr("('<f8',())"), plain}, {descr("('<f8',(1,))"), plain}, {descr("('<f8',1)"), plain}, {descr("'1f8'"), plain},
		{descr("'<d'"), plain}, {descr("'|f8'"), plain}, {descr("'f08'"), plain}, {descr("'f+8'"), plain}, {descr("'float'"), plain}, {descr("'double'"), plain},
		{descr("'>i1'"), "int8[1]"}, {descr("'e'"), "float16[1]"}, {descr("'?'"), "bool[1]"}, {descr("'l'"), "int64[1]"}, {descr("'uintc'"), "uint32[1]"},
		{descr("'<float'"), ""}, {descr("b'<f8'"), ""}, {descr("f'<f8'"), ""}, {descr("Rb'f8'"), ""}, {descr("'f8' b''"), ""}, {descr("'<f8 '"), ""}, {descr("'<'"), ""},
		{descr("''"), ""}, {descr(`'\q'`), ""}, {descr(`'<f8\0'`), ""}, {descr("'F8'"), ""}, {descr("'i3'"), ""}, {descr("None"), ""}, {descr("1"), ""}, {descr("'<f8"), ""},
		{descr("'<f8\n'"), ""}, {descr(`'\x3'`), ""}, {descr(`'\U00110000'`), ""},
		{descr("'<U2'"), unsupported}, {descr("'|S1'"), unsupported}, {descr("'<M8[s]'"), unsupported}, {descr("'<f16'"), unsupported}, {descr("'g'"), unsupported},
		{descr("'|V3'"), unsupported}, {descr("'|O'"), unsupported}, {descr("[('a','<f8')]"), unsupported}, {descr("('<f8',(2,))"), unsupported}, {descr("'f8,i4'"), unsupported},
		{dictionary("'<f8'", "True", "(1,)"), plain}, {dictionary("'<f8'", "(True)", "(1,)"), plain},
		{dictionary("'<f8'", "0", "(1,)"), ""}, {dictionary("'<f8'", "None", "(1,)"), ""}, {dictionary("'<f8'", "false", "(1,)"), ""}, {dictionary("'<f8'", "not True", "(1,)"), ""},
		{" \t" + whole, plain}, {"\n" + whole, plain}, {"#c\n" + whole, plain}, {"\f" + whole, plain}, {"\r\n" + whole, plain}, {"(" + whole + ")", plain},
		{whole + "\n\n", plain}, {whole + "#x", plain}, {whole + " \n  ", plain}, {"\\\n" + whole, plain},
		{"\n " + whole, ""}, {whole + ";", ""}, {whole + ",", ""}, {whole + "\n x", ""}, {whole + "\x00", ""}, {whole + "L", ""}, {whole + "\\\n", ""}, {"[1]", ""}, {"", ""}, {"{}", ""}, {"{**{}}", ""},
		{strings.ReplaceAll(whole, " ", "\u00a0"), ""}, {"\ufeff" + whole, ""}, {strings.Repeat("(", 201) + whole + strings.Repeat(")", 201), ""},
		{"{'shape':(3,)," + whole[1:], plain}, {strings.Replace(whole, "'shape'", "u'shape'", 1), plain}, {strings.Replace(whole, "'shape'", "b'shape'", 1), ""},
		{whole + strings.Repeat(" ", 10_000-len(whole)), plain}, {whole + strings.Repeat(" ", 10_001-len(whole)), ""},
	} {
		x, err := Decode(file(2, c.header, 128))
		switch {
		case err == nil && c.want != x.String():
			t.Errorf("%q: read %s, want %q", c.header, x, c.want)
		case err != nil && c.want == unsupported && errors.Is(err, errs.Unsupported):
		case err != nil && (c.want != "" || !errors.Is(err, errs.Corrupt)):
			t.Errorf("%q: %v, want %q", c.header, err, c.want)
		}
	}
}

func TestVersions(t *testing.T) {
	plain := dictionary("'<f8'", "False", "(1,)")
	for name, c := range map[string]struct {
		b  []byte
		ok bool
	}{
		"L in version 1":               {file(1, dictionary("'<f8'", "False", "(1L,)"), 8), true},
		"L in version 3":               {file(3, dictionary("'<f8'", "False", "(1L,)"), 8), false},
		"latin-1 in version 1":         {file(1, plain+"#\xe9", 8), true},
		"UTF-8 in version 3":           {file(3, plain+"#é", 8), true},
		"latin-1 in version 3":         {file(3, plain+"#\xe9", 8), false},
		"blanks at the end, version 1": {file(1, plain+"\n ", 8), true},
		"blanks at the end, version 3": {file(3, plain+"\n ", 8), false},
		"many bytes, few characters":   {file(3, plain+"#"+strings.Repeat("\U0001F600", 9_000), 8), true},
		"version 0":                    {file(0, plain, 8), false},
		"version 4":                    {file(4, plain, 8), false},
	} {
		if _, err := Decode(c.b); (err == nil) != c.ok {
			t.Errorf("%s: %v, want ok %v", name, err, c.ok)
		}
	}
}

// numpyTypes are the types that numpy has a name for.
func numpyTypes() []tensor.DType {
	return slices.DeleteFunc(tensor.DTypes(), func(d tensor.DType) bool {
		_, ok := descr(d, false)
		return !ok
	})
}

func drawTensor(t *rapid.T) tensor.Tensor {
	d := rapid.SampledFrom(numpyTypes()).Draw(t, "dtype")
	x := tensor.New(d, rapid.SliceOfN(rapid.IntRange(0, 40), 0, 3).Draw(t, "shape")...)
	seed := rapid.Uint32().Draw(t, "seed")
	for i := range x.Data {
		seed = seed*1664525 + 1013904223
		x.Data[i] = byte(seed >> 24)
		if d == tensor.Bool {
			x.Data[i] &= 1
		}
	}
	return x
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawTensor(t)
		o := &WriteOptions{
			Version: rapid.IntRange(0, 3).Draw(t, "version"),
			Fortran: rapid.Bool().Draw(t, "fortran"), BigEndian: rapid.Bool().Draw(t, "big-endian"),
		}
		b, err := Encode(x, o)
		if err != nil {
			t.Fatal(err)
		}
		h, err := ReadHeader(bytes.NewReader(b), int64(len(b)))
		if err != nil || h.DataStart%align != 0 || h.DataStart+h.Size() != int64(len(b)) || h.Fortran != o.Fortran {
			t.Fatalf("%+v, %v", h, err)
		}
		got, err := Decode(b)
		if err != nil || !got.Equal(x) {
			t.Fatalf("%v: %v, got %v", o, err, got)
		}
	})
}

// The order of elements is what it is said to be.
func TestOrders(t *testing.T) {
	x := tensor.FromSlice([]uint16{1, 2, 3, 4, 5, 6}, 2, 3)
	b, err := Encode(x, &WriteOptions{Fortran: true, BigEndian: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b[len(b)-12:], []byte{0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6}; !bytes.Equal(got, want) {
		t.Errorf("got % x, want % x", got, want)
	}
	c, err := Encode(tensor.FromSlice([]complex64{complex(1, 2)}), &WriteOptions{BigEndian: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c[len(c)-8:], []byte{0x3f, 0x80, 0, 0, 0x40, 0, 0, 0}; !bytes.Equal(got, want) {
		t.Errorf("got % x, want % x", got, want)
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	for name, c := range map[string]struct {
		t    tensor.Tensor
		o    *WriteOptions
		kind errs.Kind
	}{
		"bfloat16": {tensor.New(tensor.BFloat16, 1), nil, errs.Unsupported},
		"int4":     {tensor.New(tensor.Int4, 1), nil, errs.Unsupported},
		"version":  {tensor.New(tensor.Int8, 1), &WriteOptions{Version: 4}, errs.Invalid},
		"rank":     {tensor.New(tensor.Int8, slices.Repeat([]int{1}, 65)...), nil, errs.Invalid},
		"data":     {tensor.Tensor{DType: tensor.Int8, Shape: tensor.Shape{2}}, nil, errs.Mismatch},
	} {
		if b, err := Encode(c.t, c.o); !errors.Is(err, c.kind) || len(b) > 0 {
			t.Errorf("%s: %v, %d bytes; want kind %v", name, err, len(b), c.kind)
		}
	}
}

// Each bit flipped and each length cut: an error, or an array within the file.
func TestDamage(t *testing.T) {
	b, err := Encode(tensor.FromSlice([]int32{1, 2, 3, 4, 5, 6}, 2, 3), &WriteOptions{Fortran: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(b) * 8 {
		c := bytes.Clone(b)
		c[i/8] ^= 1 << (i % 8)
		if x, err := Decode(c); err == nil && len(x.Data) > len(c) {
			t.Errorf("bit %d: %v", i, x)
		}
	}
	for n := range b {
		if _, err := Decode(b[:n]); !errors.Is(err, errs.Corrupt) {
			t.Errorf("cut to %d: %v", n, err)
		}
	}
	if _, err := Decode(append(bytes.Clone(b), 0)); err != nil {
		t.Errorf("a byte more: %v", err) // as numpy has it
	}
}

func TestMemoryOfHostileHeaders(t *testing.T) {
	for name, b := range map[string][]byte{
		"a large array":     file(1, dictionary("'<f8'", "False", "(1000000000,)"), 8),
		"a large header":    append([]byte(magic), 2, 0, 0xff, 0xff, 0xff, 0xff),
		"a long header":     file(2, strings.Repeat("[", 30_000), 0),
		"many items":        file(2, "["+strings.Repeat("0,", 4_900)+"]", 0),
		"a number":          file(2, dictionary("'<f8'", "False", "("+strings.Repeat("9", 9_900)+",)"), 8),
		"a hexadecimal one": file(2, dictionary("'<f8'", "False", "(0x"+strings.Repeat("f", 9_900)+",)"), 8),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decode(b)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: read", name)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
			t.Errorf("%s: %d bytes allocated for a file of %d", name, n, len(b))
		}
	}
}

func TestMessages(t *testing.T) {
	for want, b := range map[string][]byte{
		`npy: unsupported: want an element type of tensors, got dtype "<U2"`:                         file(1, dictionary("'<U2'", "False", "(1,)"), 8),
		`npy: corrupt: want 24 for float64[3], got at most 8 bytes of data`:                          file(1, dictionary("'<f8'", "False", "(3,)"), 8),
		`npy: corrupt: want descr, fortran_order, shape, got header with the key "x"`:                file(1, "{'x': 1}", 0),
		`npy: corrupt: want 93 4e 55 4d 50 59, got magic 80 04 4e 2e 00 00`:                          {0x80, 4, 'N', '.', 0, 0, 0, 0},
		`npy: corrupt: want a dictionary as Python prints it, got header at character 2: want ':'`:   file(1, "{1}", 0),
		`npy: corrupt: want at most 10000 characters, inside of the file, got a header of 300 bytes`: append([]byte(magic), 1, 0, 44, 1),
	} {
		if _, err := Decode(b); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
