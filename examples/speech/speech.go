// Package speech is an example of sound: a manifest of WAV files becomes cepstral coefficients of
// the parts that are not silent, or masked log mels for training.
package speech

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
)

// The numbers of the features. Windows are 25 ms long and 10 ms apart.
const (
	Rate         = 16000 // elements per second, to which files are resampled
	Coefficients = 13
	Mels         = 40

	nfft, window, step = 512, 400, 160
)

// Cepstra returns a pipeline over a manifest in NeMo's format. Its outputs are coefficients of
// shape [Coefficients, windows] and the bytes of the text.
func Cepstra(o pipeline.Options, manifest string) (*pipeline.Definition, error) {
	return pipeline.Define(o, func(p *pipeline.Builder) []pipeline.Node {
		sound, text := read(p, manifest, false)
		begin, length := fn.NonsilentRegion(p, sound, fn.NonsilentRegionArgs{CutoffDb: op.Const(-40.0)})
		spoken := fn.Slice(p, sound, fn.SliceArgs{Axes: op.Const([]int{0})}, begin, length)
		sharp := fn.PreemphasisFilter(p, spoken, fn.PreemphasisFilterArgs{})
		spectra := fn.Spectrogram(p, sharp, fn.SpectrogramArgs{Nfft: op.Const(nfft), WindowLength: op.Const(window),
			WindowStep: op.Const(step)})
		mels := fn.MelFilterBank(p, spectra, fn.MelFilterBankArgs{SampleRate: op.Const(float64(Rate)),
			Nfilter: op.Const(Mels)})
		decibels := fn.ToDecibels(p, mels, fn.ToDecibelsArgs{CutoffDb: op.Const(-80.0)})
		return []pipeline.Node{fn.Mfcc(p, decibels, fn.MfccArgs{NMfcc: op.Const(Coefficients), Normalize: true,
			Lifter: 22}), text}
	})
}

// LogMels returns a pipeline for training: the speed and the pitch vary at random, and ranges of
// times and frequencies are masked. Its outputs are mels of shape [Mels, windows] and the text.
func LogMels(o pipeline.Options, manifest string) (*pipeline.Definition, error) {
	return pipeline.Define(o, func(p *pipeline.Builder) []pipeline.Node {
		sound, text := read(p, manifest, true)
		speed := fn.RandomUniform(p, fn.RandomUniformArgs{Range: op.Const([]float64{0.9, 1.1})})
		fast := fn.TimeStretch(p, sound, fn.TimeStretchArgs{Rate: op.Of[float64](speed), Nfft: op.Const(512)})
		mels := fn.LogMel(p, fast, fn.LogMelArgs{
			PreemphCoeff: op.Const(0.97), Nfft: op.Const(nfft), WindowLength: op.Const(window), WindowStep: op.Const(step),
			SampleRate: op.Const(float64(Rate)), Nfilter: op.Const(Mels), CutoffDb: op.Const(-80.0),
		})
		masked := fn.FreqMask(p, mels, fn.FreqMaskArgs{MaxWidth: op.Const(8), FillValue: op.Const(-80.0)})
		masked = fn.TimeMask(p, masked, fn.TimeMaskArgs{MaxWidth: op.Const(20), MaxFraction: op.Const(0.3),
			FillValue: op.Const(-80.0)})
		return []pipeline.Node{masked, text}
	})
}

// read reads the sound and the text of the entries.
func read(p *pipeline.Builder, manifest string, shuffle bool) (sound, text pipeline.Node) {
	out := fn.ReadersNemoAsr(p, fn.ReadersNemoAsrArgs{ManifestFilepaths: []string{manifest},
		SampleRate: op.Const(float64(Rate)), RandomShuffle: shuffle})
	return out[0], out[2]
}
