package pcm

import "math"

// Lossy is the sound of a decoder of a lossy format: floats that fill the range of integers. It
// implements audio.Sound.
type Lossy struct {
	samples        []float32
	channels, rate int
	short          float32 // the int16 that 1 is
}

// NewLossy returns samples, in whole frames. A rate is in frames per second. 1 becomes the int16
// short, 32767 or 32768: libsndfile has both, by the format of the file.
func NewLossy(samples []float32, channels, rate int, short float32) Lossy {
	return Lossy{samples, channels, rate, short}
}

// Channels returns the number of channels.
func (s *Lossy) Channels() int { return s.channels }

// Rate returns the frames per second.
func (s *Lossy) Rate() int { return s.rate }

// Frames returns the number of frames, each of a sample of every channel.
func (s *Lossy) Frames() int { return len(s.samples) / s.channels }

// Floats implements audio.Sound: samples fill the range of integers.
func (s *Lossy) Floats() bool { return false }

// Cut leaves n frames from a frame on. They must be there.
func (s *Lossy) Cut(first, n int) { s.samples = s.samples[first*s.channels : (first+n)*s.channels] }

// Float32 implements audio.Sound.
func (s *Lossy) Float32(to []float32) { copy(to, s.samples) }

// Int32 implements audio.Sound.
func (s *Lossy) Int32(to []int32) {
	for i, v := range s.samples {
		to[i] = int32(min(scale(v, math.MaxInt32), math.MaxInt32))
	}
}

// Int16 implements audio.Sound.
func (s *Lossy) Int16(to []int16) {
	for i, v := range s.samples {
		to[i] = int16(min(scale(v, s.short), math.MaxInt16))
	}
}

// scale returns v times the largest integer, as a float32, rounded half to even and limited.
func scale(v, most float32) float64 {
	x := math.RoundToEven(float64(v * most))
	least := -math.Ceil(float64(most)/2) * 2 // the even number below
	if !(x > least) {
		return least
	}
	return min(x, float64(most))
}
