package main

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/bench/internal/turns"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

const rate = 16000 // samples of a signal in a second

// noise returns a second of a signal.
func noise(n int) []float32 {
	r := rand.New(rand.NewPCG(1, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * 0.3)
	}
	return x
}

// onSound are the comparisons on signals, and on files of sound.
var onSound = []turns.Comparison{
	compare("log-mel", "a WAV file to 80 log mels: preemphasis, window 400, step 160, transform 512", "second",
		turns.Side{Name: "Bivouac, the chain of operators", Who: "bivouac", Use: "log-mel-chain"}, dali(2), librosa(3)),
	compare("spectrogram", "spectrogram, window 400, step 160, transform 512", "second", dali(1), librosa(0)),
	compare("power-spectrum", "power spectrum of 16,000 elements", "second", dali(0)),
	compare("mel", "80 mel filters on 257 x 101", "second", dali(1)),
	compare("decibels", "decibels of 257 x 101", "second", dali(1)),
	compare("mfcc", "20 coefficients of 80 x 101", "second", dali(1)),
	compare("preemphasis", "preemphasis of 16,000 elements", "second", dali(1)),
	compare("nonsilent", "the region that is not silent", "second", dali(1)),
	compare("resample", "16 kHz to 11.025 kHz, quality 50", "second", dali(1)),
	compare("decode-wav", "WAV of 16 bits to float32, 16,000 frames", "file", dali(1)),
	compare("decode-flac", "FLAC of 24 bits and two channels to float32", "file", dali(0.3)),
	compare("decode-vorbis", "Ogg Vorbis of two channels to float32", "file", dali(0)),
}

// soundGraphs are Bivouac's side: the graphs of sound.py in Go.
var soundGraphs = map[string]graph{
	"log-mel": func(p *pipeline.Builder, data string) ([]pipeline.Node, error) {
		x, err := decoded(p, data, "second.wav", true)
		if err != nil {
			return nil, err
		}
		return one(fn.LogMel(p, x, fn.LogMelArgs{PreemphCoeff: op.Const(0.97), Nfft: op.Const(512),
			WindowLength: op.Const(400), WindowStep: op.Const(160),
			SampleRate: op.Const(16000.0), Nfilter: op.Const(80)}))
	},
	"log-mel-chain": func(p *pipeline.Builder, data string) ([]pipeline.Node, error) {
		x, err := decoded(p, data, "second.wav", true)
		if err != nil {
			return nil, err
		}
		x = fn.PreemphasisFilter(p, x, fn.PreemphasisFilterArgs{})
		x = fn.MelFilterBank(p, spectrogram(p, x), fn.MelFilterBankArgs{SampleRate: op.Const(16000.0),
			Nfilter: op.Const(80)})
		return one(fn.ToDecibels(p, x, fn.ToDecibelsArgs{}))
	},
	"spectrogram": func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) {
		return one(spectrogram(p, signal(p, "", rate)))
	},
	"power-spectrum": func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) {
		return one(fn.PowerSpectrum(p, signal(p, "", rate), fn.PowerSpectrumArgs{}))
	},
	"mel": func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) {
		return one(fn.MelFilterBank(p, signal(p, "ft", 257, 101), fn.MelFilterBankArgs{SampleRate: op.Const(16000.0),
			Nfilter: op.Const(80)}))
	},
	"decibels": func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) {
		return one(fn.ToDecibels(p, signal(p, "ft", 257, 101), fn.ToDecibelsArgs{}))
	},
	"mfcc": func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) {
		return one(fn.Mfcc(p, signal(p, "ft", 80, 101), fn.MfccArgs{}))
	},
	"preemphasis": func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) {
		return one(fn.PreemphasisFilter(p, signal(p, "", rate), fn.PreemphasisFilterArgs{}))
	},
	"nonsilent": func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) {
		begin, length := fn.NonsilentRegion(p, signal(p, "", rate), fn.NonsilentRegionArgs{})
		return []pipeline.Node{begin, length}, nil
	},
	"resample": func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) {
		return one(fn.AudioResample(p, signal(p, "", rate), fn.AudioResampleArgs{InRate: op.Const(16000.0),
			OutRate: op.Const(11025.0)}))
	},
	"decode-wav":    decoding("second.wav"),
	"decode-flac":   decoding("a7_pcm_24_2ch.flac"),
	"decode-vorbis": decoding("a9_vorbis_2ch.ogg"),
}

func one(n pipeline.Node) ([]pipeline.Node, error) { return []pipeline.Node{n}, nil }

func decoding(name string) graph {
	return func(p *pipeline.Builder, data string) ([]pipeline.Node, error) {
		x, err := decoded(p, data, name, false)
		return []pipeline.Node{x}, err
	}
}

func spectrogram(p *pipeline.Builder, x pipeline.Node) pipeline.Node {
	return fn.Spectrogram(p, x, fn.SpectrogramArgs{Nfft: op.Const(512), WindowLength: op.Const(400),
		WindowStep: op.Const(160)})
}

// decoded decodes the same file again and again.
func decoded(p *pipeline.Builder, data, name string, downmix bool) (pipeline.Node, error) {
	b, err := os.ReadFile(filepath.Join(data, name))
	x, _ := fn.DecodersAudio(p, fixed(p, tensor.FromSlice(b, len(b))), fn.DecodersAudioArgs{Downmix: downmix})
	return x, err
}

// signal gives the same noise again and again, of positive numbers if there is a layout.
func signal(p *pipeline.Builder, layout string, shape ...int) pipeline.Node {
	x := noise(tensor.Shape(shape).Len())
	if layout != "" {
		for i, v := range x {
			x[i] = v * v
		}
	}
	t := tensor.FromSlice(x, shape...)
	t.Layout = layout
	return fixed(p, t)
}

// prepare writes the files that are decoded.
func prepare(dir, source string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"a7_pcm_24_2ch.flac", "a9_vorbis_2ch.ogg"} {
		b, err := os.ReadFile(filepath.Join(source, "..", "..", "testdata", "dali", "inputs", name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "second.wav"), wave(noise(rate)), 0o644)
}

// wave returns a WAV file of 16 bits.
func wave(signal []float32) []byte {
	le := binary.LittleEndian
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00")
	b = le.AppendUint32(le.AppendUint32(b, rate), 2*rate)
	b = append(b, "\x02\x00\x10\x00data"...)
	b = le.AppendUint32(b, uint32(2*len(signal)))
	for _, v := range signal {
		b = le.AppendUint16(b, uint16(int16(v*8000)))
	}
	le.PutUint32(b[4:], uint32(len(b)-8))
	return b
}
