package formats

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"

	"github.com/bivouac-ml/bivouac/codec/audio"
	_ "github.com/bivouac-ml/bivouac/codec/flac" // the formats of the family
	_ "github.com/bivouac-ml/bivouac/codec/wav"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
)

// compareAudio holds one file of sound against the samples that libsndfile, or Python's module
// wave, read from it.
func compareAudio(_ context.Context, r *suite.Report, o *suite.Object, content []byte) {
	var d audio.Decoder
	s, err := d.Open(content, 1<<30)
	if o.Has("python_wave_error") {
		_ = o.Get("python_wave_error")
		if err == nil {
			r.Fail("accepted, want it refused")
		}
		return
	}
	if o.Has("refusal_ok") {
		compareOdd(r, o, s, err)
		return
	}
	if err != nil {
		r.Fail("refused: %v", err)
		return
	}
	frames := int(o.IntegerOf("frames"))
	if s.Frames() != frames {
		r.Fail("%d frames, want %d", s.Frames(), frames)
		return
	}
	for key, got := range map[string]int{"channels": s.Channels(), "rate": s.Rate()} {
		if o.Has(key) {
			if want := int(o.IntegerOf(key)); got != want {
				r.Fail("%s %d, want %d", key, got, want)
			}
		}
	}
	n := s.Frames() * s.Channels()
	switch {
	case o.Has("pcm_sha256"):
		sum(r, o, "pcm_sha256", stored(s, int(o.IntegerOf("bits"))))
	case o.Has("decoded_f32_sha256"):
		floats := make([]float32, n)
		s.Float32(floats)
		var b []byte
		for _, v := range floats {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		sum(r, o, "decoded_f32_sha256", b)
	default:
		sum(r, o, "decoded_i32_left_justified_sha256", stored(s, 32))
	}
}

// compareOdd judges a file that may be refused, or read up to its end.
func compareOdd(r *suite.Report, o *suite.Object, s audio.Sound, err error) {
	read, also := o.IntegerOf("read"), int64(-1)
	if o.Has("also_ok_read") {
		also = o.IntegerOf("also_ok_read")
	}
	_, _, _ = o.Boolean("refusal_ok"), o.Get("frames"), o.Get("read_sha256")
	if err != nil {
		return
	}
	if got := int64(s.Frames() * s.Channels() * 2); got != read && got != also {
		r.Fail("%d bytes, want %d, %d or a refusal", got, read, also)
	}
}

// stored returns samples as a file of integers stores them. Samples of 8 bits are unsigned.
func stored(s audio.Sound, bits int) []byte {
	samples := make([]int32, s.Frames()*s.Channels())
	s.Int32(samples)
	var b []byte
	for _, v := range samples {
		if bits == 8 {
			b = append(b, byte(v>>24)^0x80)
			continue
		}
		for k := 32 - bits; k < 32; k += 8 {
			b = append(b, byte(v>>k))
		}
	}
	return b
}

// sum compares a checksum.
func sum(r *suite.Report, o *suite.Object, key string, b []byte) {
	got := sha256.Sum256(b)
	if hex.EncodeToString(got[:]) != o.Str(key) {
		r.Fail("%s: %x", key, got)
	}
	for _, other := range []string{"bits", "rate", "channels"} {
		if o.Has(other) {
			_ = o.Get(other)
		}
	}
}
