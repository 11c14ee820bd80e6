package seekable

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

// blocks scans a file and returns its blocks, which tile the contents.
func blocks(t interface{ Fatalf(string, ...any) }, k Kind, file []byte, spacing int64) (list []Block, content int64) {
	content, err := scan(k, bytes.NewReader(file), int64(len(file)), spacing, func(b Block) error {
		list = append(list,
			b)
		return nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	at := int64(0)
	for i, b := range list {
		if b.Out != at || b.Size <= 0 || i < len(list)-1 && b.Size < spacing && k == Gzip {
			t.Fatalf("block %d of %d: %d bytes at %d, want it at %d", i, len(list), b.Size, b.Out, at)
		}
		at += b.Size
	}
	if at != content {
		t.Fatalf("blocks of %d bytes, contents of %d", at, content)
	}
	return list, content
}

// checkBlocks checks that blocks have the contents, each alone and in any order.
func checkBlocks(t interface{ Fatalf(string, ...any) }, k Kind, file, want []byte, spacing int64) int {
	list, content := blocks(t, k, file, spacing)
	if content != int64(len(want)) {
		t.Fatalf("contents of %d bytes, want %d", content, len(want))
	}
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(len(list)) {
		b := list[i]
		window, err := UnpackWindow(PackWindow(b.Window))
		if err != nil || !bytes.Equal(window, b.Window) {
			t.Fatalf("window of block %d: %v", i, err)
		}
		b.Window = window
		got, err := Decode(k, file[b.In/8:b.In/8+b.Length], &b)
		if err != nil {
			t.Fatalf("block %d of %d: %v", i, len(list), err)
		}
		if !bytes.Equal(got, want[b.Out:b.Out+b.Size]) {
			t.Fatalf("block %d of %d has other bytes", i, len(list))
		}
	}
	for _, n := range []int64{0, 1, 100, content, content + 1} {
		head, whole, err := Head(k, bytes.NewReader(file), int64(len(file)), n)
		if err != nil || !bytes.Equal(head, want[:min(n, content)]) || whole != (n >= content) {
			t.Fatalf("the first %d of %d bytes: %d, whole %t, %v", n, content, len(head), whole, err)
		}
	}
	return len(list)
}

// data draws contents that compress in all ways: runs, words that come again, and noise.
func data(t *rapid.T, most int) []byte {
	var b []byte
	seed := rapid.Uint64().Draw(t, "seed")
	r := rand.New(rand.NewPCG(seed, 7))
	for range rapid.IntRange(0, 6).Draw(t, "parts") {
		n := rapid.IntRange(1, most).Draw(t, "bytes")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			b = append(b, bytes.Repeat([]byte{byte(n)}, n)...)
		case 1:
			for range n {
				b = append(b, byte(r.Uint32()))
			}
		case 2:
			for len(b) > 0 && n > 0 {
				from := r.IntN(len(b))
				part := b[from:min(len(b), from+1+r.IntN(400))]
				b = append(b, part...)
				n -= len(part)
			}
		case 3:
			for range n / 4 {
				b = fmt.Appendf(b, "%d ", r.IntN(1000))
			}
		}
	}
	return b
}

// member compresses one member of gzip.
func member(t *rapid.T, b []byte) []byte {
	var out bytes.Buffer
	level := rapid.SampledFrom([]int{flate.HuffmanOnly, 0, 1, 2, 5, 6, 9}).Draw(t, "level")
	w, err := gzip.NewWriterLevel(&out, level)
	if err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "header") {
		w.Name, w.Comment, w.Extra = "näme", "comment", []byte("extra")
	}
	for len(b) > 0 {
		n := rapid.IntRange(1, len(b)).Draw(t, "write")
		w.Write(b[:n]) //nolint:errcheck // a Buffer takes everything
		b = b[n:]
		if rapid.IntRange(0, 3).Draw(t, "flush") == 0 {
			w.Flush() //nolint:errcheck // a Buffer takes everything
		}
		if rapid.Bool().Draw(t, "rest") {
			w.Write(b) //nolint:errcheck // a Buffer takes everything
			break
		}
	}
	w.Close() //nolint:errcheck // a Buffer takes everything
	return out.Bytes()
}

// Each block of a file of gzip decompresses to its part of the contents, for any contents, levels,
// flushes, members, padding and spacing.
func TestGzipBlocks(t *testing.T) {
	most := 0
	rapid.Check(t, func(t *rapid.T) {
		var file, want []byte
		for range rapid.IntRange(1, 4).Draw(t, "members") {
			b := data(t, 60_000)
			file, want = append(file, member(t, b)...), append(want, b...)
		}
		file = append(file, make([]byte, rapid.IntRange(0, 20).Draw(t, "padding"))...)
		spacing := rapid.SampledFrom([]int64{1, 100, 5000, 40_000, Spacing}).Draw(t, "spacing")
		most = max(most, checkBlocks(t, Gzip, file, want, spacing))
		if len(want) > 0 && Detect("x", file[:min(len(file), HeadSize)]) != Gzip {
			t.Fatal("not found to be gzip")
		}
	})
	if most < 5 && !testing.Short() { // rapid draws fewer cases then
		t.Errorf("at most %d blocks", most)
	}
}

// A file of many MiB, as gzip programs write it, has blocks of about Spacing bytes.
func TestLargeGzip(t *testing.T) {
	var want []byte
	r := rand.New(rand.NewPCG(3, 4))
	for len(want) < 6<<20 {
		want = fmt.Appendf(want, "line %d of text %d\n", len(want), r.IntN(100_000))
	}
	for _, level := range []int{1, 6, 9} {
		var out bytes.Buffer
		w, _ := gzip.NewWriterLevel(&out, level)
		w.Write(want) //nolint:errcheck // a Buffer takes everything
		w.Close()     //nolint:errcheck // a Buffer takes everything
		if n := checkBlocks(t, Gzip, out.Bytes(), want, Spacing); n < 4 || n > 6 {
			t.Errorf("level %d: %d blocks of 6 MiB", level, n)
		}
	}
}

// Frames of zstd decompress to their part of the contents, with and without sizes, checksums and
// skippable frames.
func TestZstdBlocks(t *testing.T) {
	most := 0
	rapid.Check(t, func(t *rapid.T) {
		var file, want []byte
		for range rapid.IntRange(0, 6).Draw(t, "frames") {
			if rapid.IntRange(0, 4).Draw(t, "skip") == 0 {
				n := rapid.IntRange(0, 40).Draw(t, "skipped")
				file = binary.LittleEndian.AppendUint32(file, skippable+uint32(n%16))
				file = append(binary.LittleEndian.AppendUint32(file, uint32(n)), make([]byte, n)...)
			}
			b := data(t, 60_000)
			options := []zstd.EOption{zstd.WithEncoderCRC(rapid.Bool().Draw(t, "sum")),
				zstd.WithEncoderLevel(zstd.EncoderLevel(rapid.IntRange(1, 4).Draw(t, "level"))),
				zstd.WithZeroFrames(true)}
			var out bytes.Buffer
			w, err := zstd.NewWriter(&out, options...)
			if err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "stream") { // without the size
				w.Write(b[:len(b)/2]) //nolint:errcheck // a Buffer takes everything
				w.Flush()             //nolint:errcheck // a Buffer takes everything
				w.Write(b[len(b)/2:]) //nolint:errcheck // a Buffer takes everything
				w.Close()             //nolint:errcheck // a Buffer takes everything
				file = append(file, out.Bytes()...)
			} else {
				file = w.EncodeAll(b, file)
			}
			want = append(want, b...)
		}
		if len(file) == 0 {
			return
		}
		spacing := rapid.SampledFrom([]int64{1, 5000, Spacing}).Draw(t, "spacing")
		most = max(most, checkBlocks(t, Zstd, file, want, spacing))
		if Detect("x.zst", file[:min(len(file), HeadSize)]) != Zstd {
			t.Fatal("not found to be zstd")
		}
	})
	if most < 5 && !testing.Short() { // rapid draws fewer cases then
		t.Errorf("at most %d blocks", most)
	}
}

// Files of other programs are read like files of this one: testdata has one for each strategy and
// flush of zlib, and for zopfli, ISA-L, bgzip, pzstd, the seekable format and plain zstd.
func TestFilesOfOtherPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/*.[gz]*")
	if err != nil || len(files) < 22 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		k := Detect(path, file[:min(len(file), HeadSize)])
		var want []byte
		switch {
		case strings.HasSuffix(path, ".gz"):
			r, err := gzip.NewReader(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			want, err = io.ReadAll(r)
			if err != nil || k != Gzip {
				t.Fatalf("%s: %s, %v", path, k, err)
			}
		default:
			r, err := zstd.NewReader(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			want, err = io.ReadAll(r)
			if err != nil || k != Zstd {
				t.Fatalf("%s: %s, %v", path, k, err)
			}
			r.Close()
		}
		if len(want) == 0 {
			t.Errorf("%s is empty", path)
		}
		for _, spacing := range []int64{1, 10_000, Spacing} {
			checkBlocks(t, k, file, want, spacing)
		}
	}
}

// Each changed byte of a file is refused by Scan, or by the header of a member that it does not
// cover, or changes nothing. Each cut is refused.
func TestDamageIsNoticed(t *testing.T) {
	want := []byte(strings.Repeat("some words, some words again; ", 40))
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Name = "name"
	w.Write(want) //nolint:errcheck // a Buffer takes everything
	w.Close()     //nolint:errcheck // a Buffer takes everything
	encoder, _ := zstd.NewWriter(nil)
	for k, file := range map[Kind][]byte{Gzip: append(out.Bytes(), out.Bytes()...),
		Zstd: encoder.EncodeAll(want, encoder.EncodeAll(want, nil))} {
		whole := append(bytes.Clone(want), want...)
		try := func(b []byte) ([]byte, error) {
			var got []byte
			_, err := scan(k, bytes.NewReader(b), int64(len(b)), 1, func(x Block) error {
				c, err := Decode(k, b[x.In/8:x.In/8+x.Length], &x)
				got = append(got, c...)
				return err
			})
			return got, err
		}
		refused := 0
		for i := range file {
			for bit := range 8 {
				b := bytes.Clone(file)
				b[i] ^= 1 << bit
				got, err := try(b)
				switch {
				case err != nil:
					refused++
					if kind := errs.KindOf(err); kind != errs.Corrupt && kind != errs.Unsupported {
						t.Errorf("%s, bit %d of byte %d: %v", k, bit, i, err)
					}
				case !bytes.Equal(got, whole):
					t.Fatalf("%s, bit %d of byte %d: other contents", k, bit, i)
				}
			}
		}
		if refused < len(file)*6 {
			t.Errorf("%s: %d of %d changed bits were refused", k, refused, 8*len(file))
		}
		for n := 1; n < len(file); n++ {
			if got, err := try(file[:n]); err == nil && n != len(file)/2 {
				t.Errorf("%s: the first %d of %d bytes were accepted, with %d bytes of contents", k, n, len(file), len(got))
			}
		}
		if _, err := try(append(bytes.Clone(file), "trailing"...)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: trailing bytes: %v", k, err)
		}
		// A block with another window, size or checksum, or other bytes, is refused.
		list, _ := blocks(t, k, file, 1)
		b := list[len(list)-1]
		raw := file[b.In/8 : b.In/8+b.Length]
		for name, change := range map[string]func(b *Block){
			"sum": func(b *Block) { b.Sum++ }, "size": func(b *Block) { b.Size-- }, "more": func(b *Block) { b.Size++ }, "huge": func(b *Block) { b.Size = 1 << 60 },
			"negative": func(b *Block) { b.Size = -1 }, "window": func(b *Block) { b.Window = make([]byte, 1<<20) }, "length": func(b *Block) { b.Length++ },
		} {
			c := b
			change(&c)
			if _, err := Decode(k, raw, &c); !errors.Is(err, errs.Corrupt) && !errors.Is(err, errs.Unsupported) {
				t.Errorf("%s, %s: %v", k, name, err)
			}
		}
	}
}

// What would take too much memory is refused by name, and takes little.
func TestLargeBlocksAreRefused(t *testing.T) {
	large := make([]byte, MaxBlock+1)
	encoder, _ := zstd.NewWriter(nil)
	var out bytes.Buffer
	w, _ := zstd.NewWriter(&out)
	w.Write(large[:MaxBlock/2]) //nolint:errcheck // a Buffer takes everything
	w.Flush()                   //nolint:errcheck // a Buffer takes everything
	w.Write(large[MaxBlock/2:]) //nolint:errcheck // a Buffer takes everything
	w.Close()                   //nolint:errcheck // a Buffer takes everything
	for name, file := range map[string][]byte{"with its size": encoder.EncodeAll(large, nil), "without": out.Bytes()} {
		_, err := Scan(Zstd, bytes.NewReader(file), int64(len(file)), func(Block) error { return nil })
		if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "pzstd") {
			t.Errorf("a frame of more than 64 MiB, %s: %v", name, err)
		}
	}
	// One block of deflate with codes of one bit each: 258 bytes come of two bits.
	var b bitWriter
	b.put(1, 1)
	b.put(1, 2)
	b.put(reverse(0x30, 8), 8) // the letter 0
	for range 300_000 {
		b.put(reverse(0xc5, 8), 8) // the longest match
		b.put(0, 5)                // one back
	}
	b.put(0, 7)
	file := append([]byte(gzipMagic+"\x00\x00\x00\x00\x00\x00\x00"), b.bytes()...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Scan(Gzip, bytes.NewReader(file), int64(len(file)), func(Block) error { return nil })
	runtime.ReadMemStats(&after)
	if !errors.Is(err, errs.Unsupported) {
		t.Errorf("a block of deflate of 77 MB: %v", err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 5*MaxBlock {
		t.Errorf("%d bytes were allocated", n)
	}
}

// bitWriter writes bits from the lowest on.
type bitWriter struct {
	b []byte
	n uint
}

func (b *bitWriter) put(v uint32, n uint) {
	for i := range n {
		if b.n%8 == 0 {
			b.b = append(b.b, 0)
		}
		b.b[b.n/8] |= byte(v>>i&1) << (b.n % 8)
		b.n++
	}
}

func (b *bitWriter) bytes() []byte { return b.b }

func reverse(v uint32, n uint) (r uint32) {
	for range n {
		r, v = r<<1|v&1, v>>1
	}
	return r
}

func TestDetect(t *testing.T) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write([]byte("text")) //nolint:errcheck // a Buffer takes everything
	w.Close()               //nolint:errcheck // a Buffer takes everything
	// A record of TFRecord with 559,903 bytes begins like a member of gzip.
	record := binary.LittleEndian.AppendUint64(nil, 0x088b1f)
	record = append(record, bytes.Repeat([]byte{0xff}, 4000)...)
	for _, c := range []struct {
		name string
		head []byte
		want Kind
	}{
		{"a.gz", out.Bytes(), Gzip}, {"a", out.Bytes(), Gzip}, {"a", record, None}, {"a.gz", record, Gzip}, {"a", nil, None}, {"a.gz", nil, None},
		{"a.zst", []byte("\x28\xb5\x2f\xfd"), None}, {"a", []byte("\x28\xb5\x2f\xfd    "), Zstd}, {"a", []byte("PK\x03\x04    "), None},
		{"a", []byte("\x50\x2a\x4d\x18\x01\x00\x00\x00x\x28\xb5\x2f\xfd    "), Zstd}, {"a", []byte("\x50\x2a\x4d\x18\x01\x00\x00\x00x"), None},
		{"a.zst", []byte("\x50\x2a\x4d\x18\xff\xff\x00\x00x"), Zstd}, {"a.lz4", []byte("\x50\x2a\x4d\x18\xff\xff\x00\x00x"), None},
	} {
		if got := Detect(c.name, c.head); got != c.want {
			t.Errorf("%s %.12q: %s, want %s", c.name, c.head, got, c.want)
		}
	}
	for name, want := range map[string]string{"a.jsonl.gz": "a.jsonl", "a.TGZ": "a.tar", "a.tzst": "a.tar",
		"a.tar.zst": "a.tar", "a": "a", ".gz": ""} {
		if got := Plain(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// FuzzInflate holds the decompressor against compress/flate: both accept the same input, and get
// the same bytes.
func FuzzInflate(f *testing.F) {
	for level := -2; level <= 9; level++ {
		var out bytes.Buffer
		w, err := flate.NewWriter(&out, level)
		if err != nil {
			f.Fatal(err)
		}
		fmt.Fprint(w, strings.Repeat("abcabcabd", 20), level) //nolint:errcheck // a Buffer takes everything
		w.Flush()                                             //nolint:errcheck // a Buffer takes everything
		fmt.Fprint(w, "more")                                 //nolint:errcheck // a Buffer takes everything
		w.Close()                                             //nolint:errcheck // a Buffer takes everything
		f.Add(out.Bytes())
	}
	const most = 1 << 20
	f.Fuzz(func(t *testing.T, b []byte) {
		want, wantErr := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), most+1))
		for _, chunk := range []int{0, 1, 100} {
			z := &inflater{in: b}
			if chunk > 0 {
				z = &inflater{r: &slow{b, chunk}, in: make([]byte, 0, 32)}
			}
			var err error
			for final := false; err == nil && !final; {
				final, err = z.block(most)
			}
			if errors.Is(err, errLarge) && len(want) > most {
				continue
			}
			if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(z.buf, want) {
				t.Fatalf("chunks of %d: %d bytes, %v; compress/flate: %d bytes, %v", chunk, len(z.buf), err, len(want), wantErr)
			}
			if cap(z.buf) > 2*most {
				t.Fatalf("%d bytes of memory", cap(z.buf))
			}
		}
	})
}

// slow is a reader that gives a few bytes at a time.
type slow struct {
	b []byte
	n int
}

func (s *slow) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(s.n, len(p))], s.b)
	s.b = s.b[n:]
	return n, nil
}

// FuzzScan decompresses the blocks of anything, which must be what Head returns.
func FuzzScan(f *testing.F) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	fmt.Fprint(w, strings.Repeat("abcabcabd", 100)) //nolint:errcheck // a Buffer takes everything
	w.Close()                                       //nolint:errcheck // a Buffer takes everything
	f.Add(append(out.Bytes(), out.Bytes()...))
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoder.EncodeAll([]byte(strings.Repeat("abcabcabd", 100)), nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		k := Detect("", b[:min(len(b), HeadSize)])
		if k == None {
			return
		}
		var got []byte
		_, err := scan(k, bytes.NewReader(b), int64(len(b)), 10, func(x Block) error {
			c, err := Decode(k, b[x.In/8:x.In/8+x.Length], &x)
			if err != nil {
				t.Fatalf("block at %d: %v", x.Out, err)
			}
			if len(got) < 1<<20 {
				got = append(got, c...)
			}
			return nil
		})
		if err != nil {
			return
		}
		n := min(int64(len(got)), 1<<20)
		head, _, err := Head(k, bytes.NewReader(b), int64(len(b)), n)
		if err != nil || !bytes.Equal(head, got[:n]) {
			t.Fatalf("%d bytes of head, %v; want %d", len(head), err, n)
		}
	})
}

// BenchmarkInflate decompresses text. BenchmarkFlate does it with compress/flate.
func BenchmarkInflate(b *testing.B) {
	in, n := text()
	b.SetBytes(int64(n))
	buf := make([]byte, 0, n+2*slack)
	for b.Loop() {
		z := &inflater{in: in, buf: buf}
		for final := false; !final; {
			var err error
			if final, err = z.block(n); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkFlate(b *testing.B) {
	in, n := text()
	b.SetBytes(int64(n))
	for b.Loop() {
		if _, err := io.Copy(io.Discard, flate.NewReader(bytes.NewReader(in))); err != nil {
			b.Fatal(err)
		}
	}
}

func text() (compressed []byte, n int) {
	var t []byte
	r := rand.New(rand.NewPCG(3, 4))
	words := strings.Fields("the of and to in a is that for it as was with be by on not he his but at are this have from")
	for len(t) < 4<<20 {
		t = append(append(t, words[r.IntN(len(words))]...), ' ')
		if r.IntN(5) == 0 {
			t = fmt.Appendf(t, "%d ", r.IntN(100_000))
		}
	}
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, 6)
	w.Write(t) //nolint:errcheck // a Buffer takes everything
	w.Close()  //nolint:errcheck // a Buffer takes everything
	return slices.Clone(out.Bytes()), len(t)
}

// What AppendZstd writes has a block for every Spacing bytes, and the contents.
func TestAppendZstd(t *testing.T) {
	want := []byte(strings.Repeat("some words, ", 200_000))
	file := AppendZstd(nil, want, 300_000)
	if n := checkBlocks(t, Zstd, file, want, Spacing); n != 2 {
		t.Errorf("%d blocks of %d bytes", n, len(want))
	}
	if n := checkBlocks(t, Zstd, file, want, 1); n != 8 {
		t.Errorf("%d frames of 300,000 bytes", n)
	}
}
