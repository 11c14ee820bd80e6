package opus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/internal/decodetest"
	"github.com/bivouac-ml/bivouac/errs"
)

const limit = 1 << 24

// TestDecodesLikeDALI holds files against the samples that DALI decodes from them. The modes SILK
// and hybrid of libopus round in fixed point, and libopus mixes the channels of a file that calls
// itself mono before its last filters. So those files have a wider tolerance.
func TestDecodesLikeDALI(t *testing.T) {
	decodetest.Sounds(t, ".opus", limit, 36, func(name string, d decodetest.Difference) {
		wide := 0.0 // the least ratio, if the tolerance is wide
		switch {
		case name == "stereo_as_mono":
			wide = 40
		case strings.HasPrefix(name, "silk"), strings.HasPrefix(name, "hybrid"), name == "celt_48_6":
			wide = 48
		}
		if wide == 0 && (d.Worst > 2 || math.Abs(d.Mean) > 0.05) || wide > 0 && d.Ratio < wide {
			t.Errorf("%s: off by up to %v levels, by %.3f in the mean, ratio %.1f dB", name, d.Worst, d.Mean, d.Ratio)
		}
	})
}

// A decoder that has decoded other files decodes like a new one, and what it returned for a
// part of a longer stream is what the whole has.
func TestDecoderForgets(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.opus")
	var used Decoder
	for _, path := range files {
		name := filepath.Base(path)
		a, err := used.Open(decodetest.Read(t, name), limit)
		b, other := new(Decoder).Open(decodetest.Read(t, name), limit)
		if (err == nil) != (other == nil) {
			t.Fatalf("%s: %v and %v", name, err, other)
		}
		if err == nil && !slices.Equal(decodetest.Shorts(a), decodetest.Shorts(b)) {
			t.Errorf("%s: other samples from a decoder that was used", name)
		}
	}
	late, err := used.Open(decodetest.Read(t, "begin_late.opus"), limit)
	if err != nil {
		t.Fatal(err)
	}
	have := decodetest.Shorts(late)
	whole, err := used.Open(decodetest.Read(t, "celt_48_pages.opus"), limit)
	if err != nil || !slices.Equal(have, decodetest.Shorts(whole)) {
		t.Errorf("a stream with later positions has other samples, %v", err)
	}
}

// edit changes a page and makes its checksum right.
func edit(file []byte, number int, change func(page []byte)) []byte {
	file = slices.Clone(file)
	for b := file; len(b) > 0; number-- {
		size := pageHead + int(b[26])
		for _, n := range b[pageHead:size] {
			size += int(n)
		}
		if number == 0 {
			change(b[:size])
			binary.LittleEndian.PutUint32(b[22:], checksum(b[:size]))
		}
		b = b[size:]
	}
	return file
}

// Damaged files, and files that claim what is not there, are refused with the reason.
func TestRefusals(t *testing.T) {
	mono, pages := decodetest.Read(t, "celt_48_1.opus"), decodetest.Read(t, "celt_48_pages.opus")
	head := func(at int, v ...byte) []byte {
		return edit(mono, 0, func(p []byte) { copy(p[pageHead+1+at:], v) })
	}
	position := func(v int64) []byte {
		return edit(mono, 2, func(p []byte) { binary.LittleEndian.PutUint64(p[6:], uint64(v)) })
	}
	bit := slices.Clone(mono)
	bit[len(bit)-20] ^= 4
	second := bytes.LastIndex(pages, []byte("OggS"))
	middle := bytes.LastIndex(pages[:second], []byte("OggS"))
	for name, c := range map[string]struct {
		file []byte
		kind errs.Kind
		says string
	}{
		"a flipped bit":         {bit, errs.Corrupt, "checksum"},
		"version 2":             {head(8, 2), errs.Unsupported, "version 2"},
		"no channels":           {head(9, 0), errs.Corrupt, "1 or 2 channels"},
		"family 2":              {head(18, 2), errs.Unsupported, "family 2"},
		"family 1, no table":    {head(18, 1), errs.Corrupt, "a table of channels"},
		"all is left out":       {head(10, 0xff, 0xff), errs.Corrupt, "65535"},
		"position too large":    {position(1 << 40), errs.Corrupt, "position"},
		"position unknown":      {position(-1), errs.Corrupt, "the position of the last page"},
		"position before start": {position(3), errs.Corrupt, "left out"},
		"no end":                {edit(mono, 2, func(p []byte) { p[5] &^= flagLast }), errs.Corrupt, "the end of the stream"},
		"no start":              {edit(mono, 0, func(p []byte) { p[5] &^= flagFirst }), errs.Corrupt, "first page"},
		"rest of nothing":       {edit(mono, 2, func(p []byte) { p[5] |= flagRest }), errs.Corrupt, "rest of a packet"},
		"a page is missing":     {append(slices.Clone(pages[:middle]), pages[second:]...), errs.Corrupt, "page"},
		"another stream behind": {decodetest.Read(t, "chained.opus"), errs.Unsupported, "another stream"},
		"no comments":           {edit(mono, 1, func(p []byte) { p[pageHead+1] = 'o' }), errs.Corrupt, "comments"},
		"a long packet":         {edit(mono, 2, func(p []byte) { p[pageHead+int(p[26])] |= 3; p[pageHead+int(p[26])+1] = 63 }), errs.Corrupt, "120 ms"},
		"Vorbis":                {[]byte("OggS" + strings.Repeat("\x00", 24) + "\x01vorbis"), errs.Corrupt, "a header of Opus"},
		"nothing":               {nil, errs.Corrupt, "begins with OggS"},
	} {
		_, err := new(Decoder).Open(c.file, limit)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.kind, c.says)
		}
	}
	for _, file := range [][]byte{mono, pages} {
		for n := range file {
			if _, err := new(Decoder).Open(file[:n], limit); !errors.Is(err, errs.Corrupt) {
				t.Fatalf("%d of %d bytes: %v", n, len(file), err)
			}
		}
	}
}

// Limits are checked by the lengths of the packets, before a sample is decoded.
func TestLimit(t *testing.T) {
	file := decodetest.Read(t, "celt_48_1.opus")
	var d Decoder
	if _, err := d.Open(file, 4*3000); !errors.Is(err, errs.Exhausted) || d.buffer != nil {
		t.Errorf("a limit of 3000 samples: %v, %d bytes taken", err, 4*cap(d.buffer))
	}
	if _, err := d.Open(file, 4*(3360+312)); err != nil {
		t.Errorf("a limit of all samples: %v", err)
	}
}

// undelimit takes packets of all kinds apart.
func TestUndelimit(t *testing.T) {
	long := bytes.Repeat([]byte{7}, 300)
	for _, c := range []struct{ in, packet, rest string }{
		{"\x00\x02ab!", "\x00ab", "!"},
		{"\x01\x02abcd!", "\x01abcd", "!"},
		{"\x02\x01\x02abb!", "\x02\x01abb", "!"},
		{"\x03\x03\x01abc!", "\x03\x03abc", "!"},
		{"\x03\x82\x01\x02abb!", "\x03\x82\x01abb", "!"},
		{"\x03\x41\x02\x01a\x00\x00!", "\x03\x41\x02a\x00\x00", "!"},
		{"\x00\xfc\x0c" + string(long), "\x00" + string(long), ""},
	} {
		packet, rest, err := undelimit(nil, []byte(c.in))
		if err != nil || string(packet) != c.packet || string(rest) != c.rest {
			t.Errorf("%q: %q, %q, %v", c.in, packet, rest, err)
		}
		for n := range len(c.in) - len(c.rest) {
			if _, _, err := undelimit(nil, []byte(c.in[:n])); !errors.Is(err, errs.Corrupt) {
				t.Errorf("%q: %v", c.in[:n], err)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, name := range []string{"celt_48_pages.opus", "silk_16_2.opus", "hybrid_48_1.opus", "celt_48_6.opus"} {
		f.Add(decodetest.Read(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// Most changes only break a checksum. So all are made right.
		b = slices.Clone(b)
		for at := 0; at+pageHead <= len(b); {
			size := pageHead + int(b[at+26])
			if at+size > len(b) {
				break
			}
			for _, n := range b[at+pageHead : at+size] {
				size += int(n)
			}
			if at+size > len(b) {
				break
			}
			binary.LittleEndian.PutUint32(b[at+22:], checksum(b[at:at+size]))
			at += size
		}
		if s, err := new(Decoder).Open(b, limit); err == nil {
			s.Float32(make([]float32, s.Frames()*s.Channels()))
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	for _, name := range []string{"celt_48_2_60ms.opus", "silk_16_1.opus", "hybrid_48_1.opus"} {
		b.Run(strings.TrimSuffix(name, ".opus"), func(b *testing.B) {
			file := decodetest.Read(b, name)
			var d Decoder
			for b.Loop() {
				if _, err := d.Open(file, limit); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
