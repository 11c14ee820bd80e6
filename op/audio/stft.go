package audio

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/internal/fft"
	"github.com/bivouac-ml/bivouac/op"
)

// windows says how windows are cut out of a signal.
type windows struct {
	plan         *fft.Plan
	step, length int
	center       bool
	reflect      bool
	weights      []float32 // the window function
	offset       int       // of the window in the nfft elements of the transform
}

// maxTransform is the largest size of a transform: one that fits in memory.
const maxTransform = 1 << 24

func windowParams() []op.Parameter {
	return []op.Parameter{
		{Name: "center_windows", Type: op.Bool, Default: true,
			Doc: "Whether the middle of window i is at i * window_step, and the signal is padded. False means that the first window begins with the signal."},
		{Name: "nfft", Type: op.Int,
			Doc: "Size of the transform, by default window_length. Windows are in its middle, between zeros."},
		{Name: "reflect_padding", Type: op.Bool, Default: true,
			Doc: "Whether the signal is mirrored at its ends, or else padded with zeros. It has no effect unless center_windows is set."},
		{Name: "window_fn", Type: op.Floats,
			Doc: "Numbers by which a window is multiplied, window_length of them. By default a Hann window."},
		{Name: "window_length", Type: op.Int, Default: 512, Doc: "Elements of a window."},
		{Name: "window_step", Type: op.Int, Default: 256, Doc: "Elements from one window to the next."},
	}
}

func newWindows(c *op.Config) (*windows, error) {
	w := &windows{step: op.Get[int](c, "window_step"), length: op.Get[int](c, "window_length"),
		center: op.Get[bool](c, "center_windows"), reflect: op.Get[bool](c, "reflect_padding")}
	given := op.Get[[]float64](c, "window_fn")
	for _, name := range []string{"window_length", "window_step"} {
		if err := positive(c, name); err != nil {
			return nil, err
		}
	}
	nfft := w.length
	if c.Given("nfft") {
		nfft = op.Get[int](c, "nfft")
	}
	switch {
	case c.Given("window_fn") && len(given) != w.length:
		return nil, c.Invalid("window_fn", fmt.Sprintf("%d numbers, as window_length says", w.length),
			fmt.Sprint(len(given)), "")
	case nfft < w.length:
		return nil, c.Invalid("nfft", fmt.Sprintf("at least window_length, %d", w.length), fmt.Sprint(nfft), "")
	case nfft > maxTransform:
		return nil, c.Invalid("nfft", fmt.Sprintf("at most %d", maxTransform), fmt.Sprint(nfft), "")
	}
	w.plan, w.offset = fft.Of(nfft), (nfft-w.length)/2
	for i := range w.length {
		v := math.Sin(math.Pi * (float64(i) + 0.5) / float64(w.length))
		v *= v
		if given != nil {
			v = given[i]
		}
		w.weights = append(w.weights, float32(v))
	}
	return w, nil
}

// count returns the number of windows of a signal of n elements, n >= 1. It is less than 1 if the
// signal is too short for windows that are not centered.
func (w *windows) count(n int) int {
	if w.center {
		return n/w.step + 1
	}
	return (n-w.length)/w.step + 1
}

// room returns the numbers of memory to work in that powers needs.
func (w *windows) room() (block, work int) { return fft.Lanes * w.plan.Len(), w.plan.Room() }

// load writes up to eight windows of a signal side by side, from window first on, multiplied by the
// window function. Windows after count are 0.
func (w *windows) load(block, signal []float32, first, count int) {
	before, after := block[:fft.Lanes*w.offset], block[fft.Lanes*(w.offset+w.length):fft.Lanes*w.plan.Len()]
	clear(before)
	clear(after)
	block = block[fft.Lanes*w.offset : fft.Lanes*(w.offset+w.length)]
	start := first * w.step
	if w.center {
		start -= w.length / 2
	}
	if first+fft.Lanes <= count && start >= 0 && start+(fft.Lanes-1)*w.step+w.length <= len(signal) {
		weigh(block, signal[start:], w.weights, w.step)
		return
	}
	for lane := range fft.Lanes {
		at := start + lane*w.step
		lo, hi := min(max(0, -at), w.length), max(0, min(w.length, len(signal)-at)) // within the signal
		if first+lane >= count {
			for i := range w.length {
				block[fft.Lanes*i+lane] = 0
			}
			continue
		}
		for i, v := range w.weights[:lo] {
			block[fft.Lanes*i+lane] = float32(w.element(signal, at+i) * v)
		}
		if lo < hi {
			part := signal[at+lo : at+hi]
			for i, v := range w.weights[lo:hi] {
				block[fft.Lanes*(lo+i)+lane] = part[i] * v
			}
		}
		for i := max(lo, hi); i < w.length; i++ {
			block[fft.Lanes*i+lane] = float32(w.element(signal, at+i) * w.weights[i])
		}
	}
}

// weigh writes eight windows that lie within the signal.
func weigh(block, signal, weights []float32, step int) {
	n := len(weights)
	a, b, c, d := signal[:n], signal[step:step+n], signal[2*step:2*step+n], signal[3*step:3*step+n]
	e, f, g, h := signal[4*step:4*step+n], signal[5*step:5*step+n], signal[6*step:6*step+n], signal[7*step:7*step+n]
	for i, v := range weights {
		to := (*[fft.Lanes]float32)(block[fft.Lanes*i:])
		to[0], to[1], to[2], to[3] = a[i]*v, b[i]*v, c[i]*v, d[i]*v
		to[4], to[5], to[6], to[7] = e[i]*v, f[i]*v, g[i]*v, h[i]*v
	}
}

// element returns an element of the padded signal.
func (w *windows) element(signal []float32, i int) float32 {
	n := len(signal)
	if i < 0 || i >= n {
		if !w.center || !w.reflect {
			return 0
		}
		i = mirror(i, n)
	}
	return signal[i]
}

// mirror returns the index in 0..n-1 that i becomes if a signal is mirrored at its first and at its
// last element.
func mirror(i, n int) int {
	if n == 1 {
		return 0
	}
	period := 2 * (n - 1)
	if i %= period; i < 0 {
		i += period
	}
	if i >= n {
		i = period - i
	}
	return i
}

// root replaces squares by magnitudes.
func root(power []float32) {
	for i, v := range power {
		power[i] = float32(math.Sqrt(float64(v)))
	}
}
