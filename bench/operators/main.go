// Operators measures operators on sound against DALI and librosa.
//
//	go run ./bench/operators                                Bivouac alone
//	go run ./bench/operators -python .peers-operators/bin/python   and DALI, librosa (bench/operators/peers)
//	go run ./bench/operators -only log-mel -threads 1       less of it
//
// Signals are 64 seconds of noise at 16 kHz, one second a sample. Files come from
// testdata/dali/inputs; a WAV file of a second is made. The rules of bench/pipeline hold: every
// side is a process of its own, the rounds are interleaved, and the ratio of medians in one run
// counts.
//
// The tables go to standard output, every sample to a JSON file below bench/results.
package main

import (
	"encoding/binary"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/bench/internal/turns"
)

var (
	ours    = turns.Side{Name: "Bivouac", Who: "bivouac"}
	dali    = func(target float64) turns.Side { return turns.Side{Name: "DALI", Who: "dali", Target: target} }
	librosa = func(target float64) turns.Side {
		return turns.Side{Name: "librosa", Who: "librosa", Target: target}
	}
)

// comparisons in the order in which they run.
var comparisons = []turns.Comparison{
	{Name: "log-mel", Title: "a WAV file to 80 log mels: preemphasis, window 400, step 160, transform 512", Unit: "second",
		Sides: []turns.Side{ours, {Name: "Bivouac, the chain of operators", Who: "bivouac", Use: "log-mel-chain"}, dali(2), librosa(3)}, Threaded: true},
	{Name: "spectrogram", Title: "spectrogram, window 400, step 160, transform 512", Unit: "second", Sides: []turns.Side{ours, dali(1), librosa(0)}, Threaded: true},
	{Name: "power-spectrum", Title: "power spectrum of 16,000 elements", Unit: "second", Sides: []turns.Side{ours, dali(0)}, Threaded: true},
	{Name: "mel", Title: "80 mel filters on 257 x 101", Unit: "second", Sides: []turns.Side{ours, dali(1)}, Threaded: true},
	{Name: "decibels", Title: "decibels of 257 x 101", Unit: "second", Sides: []turns.Side{ours, dali(1)}, Threaded: true},
	{Name: "mfcc", Title: "20 coefficients of 80 x 101", Unit: "second", Sides: []turns.Side{ours, dali(1)}, Threaded: true},
	{Name: "preemphasis", Title: "preemphasis of 16,000 elements", Unit: "second", Sides: []turns.Side{ours, dali(1)}, Threaded: true},
	{Name: "nonsilent", Title: "the region that is not silent", Unit: "second", Sides: []turns.Side{ours, dali(1)}, Threaded: true},
	{Name: "resample", Title: "16 kHz to 11.025 kHz, quality 50", Unit: "second", Sides: []turns.Side{ours, dali(1)}, Threaded: true},
	{Name: "decode-wav", Title: "WAV of 16 bits to float32, 16,000 frames", Unit: "file", Sides: []turns.Side{ours, dali(1)}, Threaded: true},
	{Name: "decode-flac", Title: "FLAC of 24 bits and two channels to float32", Unit: "file", Sides: []turns.Side{ours, dali(0.3)}, Threaded: true},
	{Name: "decode-vorbis", Title: "Ogg Vorbis of two channels to float32", Unit: "file", Sides: []turns.Side{ours, dali(0)}, Threaded: true},
}

func main() {
	b := &turns.Bench{Name: "operators", Comparisons: comparisons, Own: []string{"bivouac"}, Begin: begin,
		Peers: map[string]string{"python": "DALI and librosa", "librosa": "librosa"}}
	b.Prepare = func(dir string) error { return prepare(dir, b.Source) }
	b.Main()
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
