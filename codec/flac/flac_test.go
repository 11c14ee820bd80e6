package flac

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/audio"
	"github.com/bivouac-ml/bivouac/errs"
)

const limit = 1 << 24

// files are the files of testdata, which libsndfile wrote, with the sums of the int32 and float32
// samples that it reads from them.
var files = []struct {
	name                   string
	channels, rate, frames int
	integers, floats       string
}{
	{"tone_best", 1, 16000, 1700, "6515636acec10ba1", "a4d58991390d3530"},
	{"tone_fast", 1, 16000, 1700, "6515636acec10ba1", "a4d58991390d3530"},
	{"stereo_best", 2, 44100, 1700, "5c0269d22c49aa5f", "3a6ab7d2ea6c5360"},
	{"stereo_middle", 2, 44100, 1700, "25f55e49f87a411c", "1abad0ea625edc69"},
	{"opposite", 2, 48000, 1700, "756193d07f28f1bc", "9c50f0c38a12b2c8"},
	{"noise", 1, 8000, 300, "b26990272af40b98", "3fc6f16f416ec8f9"},
	{"silence", 1, 16000, 5000, "28b4f41a7f3ee6d8", "28b4f41a7f3ee6d8"},
	{"one", 1, 16000, 1, "2de44621c76edf2d", "75e253f50979177e"},
	{"eight_bits", 1, 11025, 700, "f46722e4f7d4490c", "9d82564651f03450"},
	{"five_channels", 5, 16000, 400, "4e30dc190a6fce6b", "a29cafdd50e2b3cd"},
	{"wasted", 1, 16000, 1700, "42697547674e283f", "731e98a67848f98d"},
	{"clicks", 1, 16000, 900, "eebb07b323877fc1", "5b3bb6e04d36cca3"},
	{"full", 1, 16000, 600, "cfe4b5393d73fab1", "5c703c130f3213e4"},
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".flac"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Files have the samples that libsndfile reads, and one decoder reads them one after the other.
func TestSamplesAreLibsndfiles(t *testing.T) {
	var d Decoder
	for _, f := range files {
		s, err := d.Open(read(t, f.name), limit)
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
			continue
		}
		if s.Channels() != f.channels || s.Rate() != f.rate || s.Frames() != f.frames || s.Floats() {
			t.Errorf("%s: %d channels, %d per second, %d frames", f.name, s.Channels(), s.Rate(), s.Frames())
			continue
		}
		n := f.channels * f.frames
		integers, floats, shorts := make([]int32, n), make([]float32, n), make([]int16, n)
		s.Int32(integers)
		s.Float32(floats)
		s.Int16(shorts)
		a, b := sha256.New(), sha256.New()
		for i := range n {
			a.Write(binary.LittleEndian.AppendUint32(nil, uint32(integers[i])))
			b.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(floats[i])))
			if shorts[i] != int16(integers[i]>>16) {
				t.Fatalf("%s: sample %d: %d and %d", f.name, i, shorts[i], integers[i])
			}
		}
		if got := fmt.Sprintf("%x", a.Sum(nil))[:16]; got != f.integers {
			t.Errorf("%s: integers %s, want %s", f.name, got, f.integers)
		}
		if got := fmt.Sprintf("%x", b.Sum(nil))[:16]; got != f.floats {
			t.Errorf("%s: floats %s, want %s", f.name, got, f.floats)
		}
	}
}

// A cut leaves the frames that were asked for.
func TestCut(t *testing.T) {
	s, err := new(Decoder).Open(read(t, "stereo_best"), limit)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]int32, 2*s.Frames())
	s.Int32(all)
	s.Cut(100, 50)
	part := make([]int32, 100)
	if s.Int32(part); s.Frames() != 50 || part[0] != all[200] || part[99] != all[299] {
		t.Errorf("%d frames: %d, want %d", s.Frames(), part[0], all[200])
	}
}

// A file that is cut anywhere, or of which one bit is another, is refused: by a checksum, by the
// number of samples, or by the sum of all samples.
func TestDamageIsFound(t *testing.T) {
	var d Decoder
	for _, name := range []string{"tone_best", "noise", "opposite", "silence"} {
		whole := read(t, name)
		for n := range len(whole) {
			if _, err := d.Open(whole[:n], limit); !errors.Is(err, errs.Corrupt) {
				t.Fatalf("%s cut to %d of %d bytes: %v", name, n, len(whole), err)
			}
		}
		_, start, err := metadata(whole)
		if err != nil {
			t.Fatal(err)
		}
		for bit := 8 * start; bit < 8*len(whole); bit++ {
			b := append([]byte{}, whole...)
			b[bit/8] ^= 1 << (bit % 8)
			if _, err := d.Open(b, limit); !errors.Is(err, errs.Corrupt) {
				t.Fatalf("%s with another bit %d: %v", name, bit, err)
			}
		}
	}
}

// A header that claims many samples takes no memory for them.
func TestClaimsAreNotBelieved(t *testing.T) {
	b := append([]byte{}, read(t, "silence")...)
	b[4+4+13] |= 15 // 2^36 samples
	if _, err := new(Decoder).Open(b, limit); !errors.Is(err, errs.Exhausted) {
		t.Errorf("2^36 samples: %v, want an error of kind exhausted", err)
	}
	if _, err := new(Decoder).Open(read(t, "silence"), 4*4999); !errors.Is(err, errs.Exhausted) {
		t.Errorf("a limit of 4999 samples: %v", err)
	}
	b[4+4+13], b[4+4+14], b[4+4+15] = b[4+4+13]&0xf0, 0, 1 // 65,536 and more
	if _, err := new(Decoder).Open(b, limit); !errors.Is(err, errs.Corrupt) {
		t.Errorf("more samples than there are: %v", err)
	}
}

// The decoder reads files whose header does not say how many samples there are, and files without
// an MD5 sum.
func TestOpenEnds(t *testing.T) {
	b := append([]byte{}, read(t, "tone_best")...)
	copy(b[8+13:8+18], []byte{b[8+13] & 0xf0, 0, 0, 0, 0})
	clear(b[8+18 : 8+34])
	s, err := new(Decoder).Open(b, limit)
	if err != nil || s.Frames() != 1700 {
		t.Errorf("%v, %v", s, err)
	}
}

// Later files allocate nothing.
func TestAllocations(t *testing.T) {
	var d Decoder
	b := read(t, "stereo_best")
	if n := testing.AllocsPerRun(20, func() {
		if _, err := d.Open(b, limit); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

func FuzzOpen(f *testing.F) {
	for _, name := range []string{"tone_best", "noise", "five_channels", "one"} {
		f.Add(read(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d audio.Decoder
		s, err := d.Open(b, limit)
		if err != nil {
			return
		}
		n := s.Frames() * s.Channels()
		if 4*n > limit {
			t.Fatalf("%d samples beyond the limit", n)
		}
		s.Float32(make([]float32, n))
		s.Int16(make([]int16, n))
	})
}

func BenchmarkOpen(b *testing.B) {
	path := os.Getenv("BIVOUAC_FLAC")
	if path == "" {
		path = filepath.Join("testdata", "stereo_best.flac")
	}
	file, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	var d Decoder
	samples := 0
	for b.Loop() {
		s, err := d.Open(file, 1<<32)
		if err != nil {
			b.Fatal(err)
		}
		samples = s.Frames() * s.Channels()
	}
	b.ReportMetric(float64(samples)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msamples/s")
}
