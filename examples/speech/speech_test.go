package speech

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// vowels have a word and the two loudest frequencies of each vowel, in Hz.
var vowels = []struct {
	word          string
	first, second float64
}{{"ee", 280, 2250}, {"ah", 710, 1100}, {"oo", 310, 870}}

// utterance returns silence, a vowel of a speaker, and silence.
func utterance(vowel int, rate float64, r *rand.Rand) []float64 {
	pitch, v := 110+90*r.Float64(), vowels[vowel]
	x := make([]float64, int(0.9*rate))
	for i := range x {
		t := float64(i) / rate
		x[i] = 1e-4 * r.NormFloat64()
		if t < 0.2 || t > 0.7 {
			continue
		}
		for h := 1; float64(h)*pitch < 3500; h++ {
			f := float64(h) * pitch
			loud := math.Exp(-math.Pow((f-v.first)/150, 2)) + 0.5*math.Exp(-math.Pow((f-v.second)/200, 2)) + 0.01
			x[i] += 0.2 * loud * math.Sin(2*math.Pi*f*t)
		}
	}
	return x
}

// wave returns a WAV file of 16 bits.
func wave(x []float64, rate int) []byte {
	le := binary.LittleEndian
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00")
	b = append(le.AppendUint32(le.AppendUint32(b, uint32(rate)), uint32(2*rate)), "\x02\x00\x10\x00data"...)
	b = le.AppendUint32(b, uint32(2*len(x)))
	for _, v := range x {
		b = le.AppendUint16(b, uint16(int16(max(-1, min(v, 1))*32767)))
	}
	return b
}

// manifest writes n utterances, every second one with another rate, and their manifest.
func manifest(t *testing.T, n int) string {
	t.Helper()
	dir, r := t.TempDir(), rand.New(rand.NewPCG(3, 4))
	var lines bytes.Buffer
	for i := range n {
		rate := []int{Rate, 22050}[i%2]
		x := utterance(i%len(vowels), float64(rate), r)
		path := filepath.Join(dir, fmt.Sprintf("%03d.wav", i))
		if err := os.WriteFile(path, wave(x, rate), 0o666); err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(map[string]any{"audio_filepath": path, "duration": float64(len(x)) / float64(rate),
			"text": vowels[i%len(vowels)].word})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	path := filepath.Join(dir, "manifest.json")
	if err := os.WriteFile(path, lines.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func start(t *testing.T, define func(pipeline.Options, string) (*pipeline.Definition, error),
	path string) *pipeline.Pipeline {
	t.Helper()
	def, err := define(pipeline.Options{BatchSize: 4, Seed: 3}, path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := def.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// The means of the coefficients tell the vowels apart: each utterance is nearest to the others of
// its vowel, whatever its speaker and its rate.
func TestCepstraTellVowelsApart(t *testing.T) {
	const n = 24
	p := start(t, Cepstra, manifest(t, n))
	var means [][]float64
	var words []string
	for len(words) < n {
		batch, err := p.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for s := range batch.Outputs[0].NumSamples() {
			x := batch.Outputs[0].Sample(s)
			v, err := tensor.Of[float32](x)
			if err != nil || len(x.Shape) != 2 || x.Shape[0] != Coefficients || x.Shape[1] < 45 || x.Shape[1] > 80 {
				t.Fatalf("coefficients %v: %v", x, err)
			}
			mean := make([]float64, Coefficients)
			for i := range v {
				mean[i/x.Shape[1]] += float64(v[i]) / float64(x.Shape[1])
			}
			means, words = append(means, mean), append(words, string(batch.Outputs[1].Sample(s).Data))
		}
	}
	for i, a := range means {
		nearest, least := -1, math.Inf(1)
		for k, b := range means {
			d := 0.0
			for c := 1; c < Coefficients; c++ { // the first coefficient is the loudness
				d += (a[c] - b[c]) * (a[c] - b[c])
			}
			if k != i && d < least {
				nearest, least = k, d
			}
		}
		if words[nearest] != words[i] {
			t.Errorf("utterance %d, %q, is nearest to %d, %q", i, words[i], nearest, words[nearest])
		}
	}
}

// A pipeline that begins at a saved state delivers the same masked mels.
func TestResume(t *testing.T) {
	path, ctx := manifest(t, 12), context.Background()
	p := start(t, LogMels, path)
	if _, err := p.Next(ctx); err != nil {
		t.Fatal(err)
	}
	saved, err := p.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	q := start(t, LogMels, path)
	if err := q.SetState(saved); err != nil {
		t.Fatal(err)
	}
	masked := 0
	for range 5 {
		want, err := p.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for s := range want.Outputs[0].NumSamples() {
			a, b := want.Outputs[0].Sample(s), got.Outputs[0].Sample(s)
			if !a.Shape.Equal(b.Shape) || !bytes.Equal(a.Data, b.Data) {
				t.Fatalf("sample %d differs after the resume: %v and %v", s, a, b)
			}
			v, err := tensor.Of[float32](a)
			if err != nil {
				t.Fatal(err)
			}
			if v[len(v)/2] == -80 {
				masked++
			}
		}
	}
	if masked == 0 || masked == 20 {
		t.Errorf("the middle is masked in %d of 20 samples", masked)
	}
}
