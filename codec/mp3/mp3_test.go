package mp3

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/internal/decodetest"
	"github.com/bivouac-ml/bivouac/codec/video/videotest"
	"github.com/bivouac-ml/bivouac/errs"
)

const limit = 1 << 24

// TestDecodesLikeLibsndfile holds files against the samples that libsndfile 1.2.2 reads from them.
// DALI refuses MP3: its libsndfile is built without. At 24 kHz libsndfile reads two of 576
// frequencies, 330 and 331, with the scale of the band above: there its decoder libmpg123 follows a
// table of ISO 13818-3, and ffmpeg and the encoder LAME another.
func TestDecodesLikeLibsndfile(t *testing.T) {
	videotest.Need(t)
	decodetest.Sounds(t, ".mp3", limit, 29, func(name string, d decodetest.Difference) {
		if name == "mono_24000" {
			if d.Ratio < 50 || d.Worst > 100 {
				t.Errorf("%s: off by up to %v levels, ratio %.1f dB", name, d.Worst, d.Ratio)
			}
			return
		}
		if d.Worst > 1 || math.Abs(d.Mean) > 0.05 {
			t.Errorf("%s: off by up to %v levels, by %.3f in the mean", name, d.Worst, d.Mean)
		}
	})
}

// The headers say what decoding gives, without ffmpeg.
func TestReadInfo(t *testing.T) {
	t.Setenv("PATH", "")
	for name, want := range map[string]Info{
		"stereo_44100.mp3": {44100, 2, 4410}, "mono_8000.mp3": {8000, 1, 1600}, "no_tag.mp3": {44100, 1, 5760},
		"id3.mp3": {16000, 1, 2400}, "vbri.mp3": {44100, 1, 6912}, "crc.mp3": {44100, 1, 5760},
	} {
		got, err := ReadInfo(decodetest.Read(t, name))
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
}

// A decoder that has decoded other files decodes like a new one. One frame is a file, too.
func TestDecoderForgets(t *testing.T) {
	videotest.Need(t)
	var used Decoder
	for _, name := range []string{"most.mp3", "mono_8000.mp3", "begins_midway.mp3"} {
		a, err := used.Open(decodetest.Read(t, name), limit)
		b, other := new(Decoder).Open(decodetest.Read(t, name), limit)
		if err != nil || other != nil || !slices.Equal(decodetest.Shorts(a), decodetest.Shorts(b)) {
			t.Errorf("%s: other samples from a decoder that was used; %v, %v", name, err, other)
		}
	}
	// The tag of Fraunhofer is no sound. libsndfile takes it for a silent frame.
	file := decodetest.Read(t, "vbri.mp3")
	f, _ := parseFrame(file)
	a, err := used.Open(file, limit)
	b, other := new(Decoder).Open(file[f.size:], limit)
	if err != nil || other != nil || !slices.Equal(decodetest.Shorts(a), decodetest.Shorts(b)) {
		t.Errorf("a tag of Fraunhofer is sound; %v, %v", err, other)
	}
	file = decodetest.Read(t, "no_reservoir.mp3")
	f, _ = parseFrame(file)
	whole, err := used.Open(file, limit)
	if err != nil {
		t.Fatal(err)
	}
	want := decodetest.Shorts(whole)[:1152]
	if s, err := used.Open(file[:f.size], limit); err != nil || !slices.Equal(decodetest.Shorts(s), want) {
		t.Errorf("one frame: %v", err)
	}
}

// Damaged files, and files that claim what is not there, are refused with the reason.
func TestRefusals(t *testing.T) {
	file, other := decodetest.Read(t, "mono_16000.mp3"), decodetest.Read(t, "stereo_16000.mp3")
	first, _ := parseFrame(file)
	claim := func(frames uint32) []byte {
		b := slices.Clone(file)
		binary.BigEndian.PutUint32(b[bytes.Index(b, []byte("Info"))+8:], frames)
		return b
	}
	head := func(at int, v byte) []byte {
		b := slices.Clone(file[first.size:])
		b[at] = v
		return b
	}
	cat := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	for name, c := range map[string]struct {
		file []byte
		kind errs.Kind
		says string
	}{
		"nothing":            {nil, errs.Corrupt, "a frame of layer III"},
		"more than there is": {claim(1000), errs.Corrupt, "1000 frames, as the first frame says"},
		"less than there is": {claim(2), errs.Corrupt, "2 frames, as the first frame says"},
		"bytes behind":       {cat(file, []byte("hello")), errs.Corrupt, "byte"},
		"bytes between":      {cat(file[:first.size], []byte("hello"), file[first.size:]), errs.Corrupt, "byte 180 behind the tags, got 68656c6c"},
		"another file":       {cat(file, []byte("ID3\x04\x00\x00\x00\x00\x00\x00"), file), errs.Unsupported, "split the file"},
		"other channels":     {cat(file[first.size:], other), errs.Unsupported, "2 channels at 16000 Hz"},
		"the free format":    {head(2, 0x08), errs.Unsupported, "free format"},
		"layer II":           {head(1, 0xf5), errs.Corrupt, "a frame of layer III"},
		"half a tag":         {[]byte("ID3\x04\x00\x00\x00\x00\x01\x00abc"), errs.Corrupt, "a tag of ID3 of 138 bytes"},
		"only a tag":         {[]byte("ID3\x04\x00\x00\x00\x00\x00\x03abc"), errs.Corrupt, "a frame of layer III"},
		"a tag of APE":       {cat(file, []byte("APETAGEX\xd0\x07\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\xa0"), make([]byte, 8)), errs.Corrupt, "a tag of APE"},
	} {
		_, err := new(Decoder).Open(c.file, limit)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.kind, c.says)
		}
		if _, info := ReadInfo(c.file); info == nil || info.Error() != err.Error() {
			t.Errorf("%s: ReadInfo says %v", name, info)
		}
	}
	for n := range file {
		if _, err := ReadInfo(file[:n]); !errors.Is(err, errs.Corrupt) {
			t.Fatalf("%d of %d bytes: %v", n, len(file), err)
		}
	}
}

// Limits are checked by the headers, before memory is taken or a process started.
func TestLimit(t *testing.T) {
	t.Setenv("PATH", "")
	var d Decoder
	if _, err := d.Open(decodetest.Read(t, "mono_16000.mp3"), 4*3000); !errors.Is(err, errs.Exhausted) || d.buffer != nil {
		t.Errorf("a limit of 3000 samples: %v, %d bytes taken", err, 4*cap(d.buffer))
	}
}

// Without ffmpeg the error says what to install. A program that is not ffmpeg gives an error, too.
func TestPrograms(t *testing.T) {
	const says = "#!/bin/sh\n[ \"$1\" = -version ] && echo ffmpeg version 6.0 && exit 0\n"
	for name, c := range map[string]struct {
		script string
		kind   errs.Kind
		says   string
	}{
		"none":       {"", errs.Unsupported, "install the package ffmpeg"},
		"old":        {"#!/bin/sh\necho ffmpeg version 2.8", errs.Unsupported, "want version 4.4 or later"},
		"an error":   {says + "echo no decoder >&2; exit 1", errs.Corrupt, `exit status 1, which says "no decoder"`},
		"too little": {says + "/usr/bin/head -c 4003 /dev/zero", errs.Corrupt, "after 1000 samples"},
		"no input":   {says + "exec <&-; /bin/echo x", errs.Corrupt, "samples"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("PATH", dir)
			if c.script != "" {
				if err := os.WriteFile(filepath.Join(dir, "ffmpeg"), []byte(c.script), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			_, err := new(Decoder).Open(decodetest.Read(t, "most.mp3"), limit)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v with %q", err, c.kind, c.says)
			}
		})
	}
}

func FuzzReadInfo(f *testing.F) {
	for _, name := range []string{"tags_behind.mp3", "begins_midway.mp3", "mono_8000.mp3", "crc.mp3"} {
		f.Add(decodetest.Read(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parse(b)
		if err == nil && (s.length < 1 || s.skip+s.length > s.frames*s.samples() || len(s.data) < s.frames) {
			t.Errorf("%d frames of %d samples, %d from %d on, in %d bytes", s.frames, s.samples(), s.length, s.skip, len(s.data))
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	videotest.Need(b)
	file := decodetest.Read(b, "stereo_44100.mp3")
	var d Decoder
	for b.Loop() {
		if _, err := d.Open(file, limit); err != nil {
			b.Fatal(err)
		}
	}
}
