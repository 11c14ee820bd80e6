package digits

import "math"

// Adam's settings, from its paper, with a larger rate.
const (
	learningRate = 2e-3
	decayMean    = 0.9
	decaySquare  = 0.999
	epsilon      = 1e-8
)

// adam moves the weights against the gradients, as step Step+1.
func (s *State) adam(weights, grads *[2 * len(layers)][]float32) error {
	mean, err := s.Adam.Mean.slices()
	if err != nil {
		return err
	}
	square, err := s.Adam.Square.slices()
	if err != nil {
		return err
	}
	n := float64(s.Step + 1)
	rate := float32(learningRate * math.Sqrt(1-math.Pow(decaySquare, n)) / (1 - math.Pow(decayMean, n)))
	for i, w := range weights {
		m, v, g := mean[i], square[i], grads[i]
		for j := range w {
			m[j] = float32(decayMean*m[j]) + float32((1-decayMean)*g[j])
			v[j] = float32(decaySquare*v[j]) + float32(float32((1-decaySquare)*g[j])*g[j])
			w[j] -= float32(rate*m[j]) / (float32(math.Sqrt(float64(v[j]))) + epsilon)
		}
	}
	return nil
}
