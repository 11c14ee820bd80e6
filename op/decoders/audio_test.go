package decoders

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/video/videotest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// wave returns a WAV file of 16 bits.
func wave(channels, rate int, samples ...int16) []byte {
	le := binary.LittleEndian
	b := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00"), byte(channels), 0)
	b = le.AppendUint32(le.AppendUint32(b, uint32(rate)), uint32(rate*channels*2))
	b = append(append(b, byte(2*channels), 0), "\x10\x00data"...)
	b = le.AppendUint32(b, uint32(2*len(samples)))
	for _, v := range samples {
		b = le.AppendUint16(b, uint16(v))
	}
	return b
}

func encodedSound(b []byte) tensor.Tensor { return tensor.FromSlice(b, len(b)) }

// Files that are cut or lie, and arguments that make no sense, are errors that say where and why.
func TestAudioRefusals(t *testing.T) {
	flac, err := os.ReadFile("../../testdata/dali/inputs/a6_pcm_16_1ch.flac")
	if err != nil {
		t.Fatal(err)
	}
	huge := slices.Clone(flac)
	huge[4+4+13] |= 15 // 2^36 samples
	for name, c := range map[string]struct {
		file []byte
		args op.Args
		kind errs.Kind
		want string
	}{
		"cut":                {wave(1, 8000, 1, 2, 3)[:47], nil, errs.Corrupt, "6 bytes"},
		"no channels":        {wave(0, 8000), nil, errs.Corrupt, "0 channels"},
		"no rate":            {wave(1, 0, 1), nil, errs.Corrupt, "0 frames per second"},
		"cut FLAC":           {flac[:len(flac)-9], nil, errs.Corrupt, "frame"},
		"2^36 samples":       {huge, nil, errs.Exhausted, "MaxBytes"},
		"a rate of NaN":      {wave(1, 8000, 1), op.Args{"sample_rate": math.NaN()}, errs.Invalid, "sample_rate"},
		"a negative rate":    {wave(1, 8000, 1), op.Args{"sample_rate": -1.0}, errs.Invalid, "sample_rate"},
		"too large a rate":   {wave(1, 8000, 1, 2), op.Args{"sample_rate": 1e30}, errs.Exhausted, "rate"},
		"too large a result": {wave(1, 1, make([]int16, 1000)...), op.Args{"sample_rate": 1.5e6}, errs.Exhausted, "bytes"},
		"bytes of float64":   {wave(1, 8000, 1), op.Args{"dtype": tensor.Float64}, errs.Unsupported, "dtype"},
		"quality 101":        {wave(1, 8000, 1), op.Args{"quality": 101.0}, errs.Invalid, "quality"},
		"nothing":            {nil, nil, errs.Corrupt, "0 bytes"},
	} {
		r, err := optest.Run(optest.Case{Op: "decoders.audio", Args: c.args, Inputs: optest.Inputs(encodedSound(c.file))})
		if err == nil {
			err = r.Errors[0]
		}
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want kind %v and %q", name, err, c.kind, c.want)
		}
	}
}

// A rate of a million, silence, and a file without frames are sound.
func TestAudioOddities(t *testing.T) {
	r := optest.MustRun(t, optest.Case{Op: "decoders.audio", Inputs: [][]tensor.Tensor{{
		encodedSound(wave(1, 1_000_000, 5)), encodedSound(wave(2, 8000, make([]int16, 400)...)), encodedSound(wave(1, 8000)),
	}}, Args: op.Args{"downmix": true}})
	for s, want := range []struct {
		frames int
		rate   float32
	}{{1, 1e6}, {200, 8000}, {0, 8000}} {
		rate, err := tensor.Of[float32](r.Outputs[1][s])
		if err != nil || rate[0] != want.rate || r.Outputs[0][s].Len() != want.frames {
			t.Errorf("sample %d: %v at %v, %v", s, r.Outputs[0][s], rate, err)
		}
	}
}

// One worker decodes files of all formats one after the other, in blocks of any size, and the
// result is the same.
func TestAudioInBlocks(t *testing.T) {
	var files []tensor.Tensor
	names := []string{
		"a0_pcm_16_1ch.wav", "a6_pcm_16_1ch.flac", "a9_vorbis_2ch.ogg", "a7_pcm_24_2ch.flac", "a3_float_1ch.wav",
		"a8_vorbis_1ch.ogg",
	}
	for i := range 257 {
		b, err := os.ReadFile("../../testdata/dali/inputs/" + names[i%len(names)])
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, encodedSound(b))
	}
	c := optest.Case{Op: "decoders.audio", Args: op.Args{"sample_rate": 8000.0, "dtype": tensor.Int16},
		Inputs: [][]tensor.Tensor{files}}
	whole := optest.MustRun(t, c)
	c.Block = 4
	parts := optest.MustRun(t, c)
	for s, want := range whole.Outputs[0] {
		if !slices.Equal(parts.Outputs[0][s].Data, want.Data) || !slices.Equal(want.Data,
			whole.Outputs[0][s%len(names)].Data) {
			t.Fatalf("sample %d differs", s)
		}
	}
}

// Ogg Opus and MP3 come out of the operator as the samples that other decoders gave, in FLAC.
func TestLossyAudio(t *testing.T) {
	run := func(name string) (tensor.Tensor, tensor.Tensor) {
		t.Helper()
		b, err := os.ReadFile("../../codec/" + name)
		if err != nil {
			t.Fatal(err)
		}
		r := optest.MustRun(t, optest.Case{Op: "decoders.audio", Args: op.Args{"dtype": tensor.Int16},
			Inputs: optest.Inputs(encodedSound(b))})
		return r.Outputs[0][0], r.Outputs[1][0]
	}
	for _, c := range []struct{ name, ext string }{
		{"opus/testdata/celt_16_2", ".opus"}, {"mp3/testdata/stereo_44100", ".mp3"},
	} {
		if c.ext == ".mp3" {
			videotest.Need(t)
		}
		got, rate := run(c.name + c.ext)
		want, other := run(c.name + ".flac")
		if !slices.Equal(got.Shape, want.Shape) || !slices.Equal(rate.Data, other.Data) {
			t.Fatalf("%s: %v at %v, want %v at %v", c.name, got.Shape, rate, want.Shape, other)
		}
		a, _ := tensor.Of[int16](got)
		b, _ := tensor.Of[int16](want)
		for i := range a {
			if d := int(a[i]) - int(b[i]); d < -2 || d > 2 {
				t.Fatalf("%s: sample %d is %d, want %d", c.name, i, a[i], b[i])
			}
		}
	}
}
