package audio

import (
	"fmt"
	"github.com/bivouac-ml/bivouac/internal/libm"
	"math"

	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

func melParams() []op.Parameter {
	return []op.Parameter{
		{Name: "freq_high", Type: op.Float, Default: 0.0,
			Doc: "The largest frequency, at most half of sample_rate, which is the default."},
		{Name: "freq_low", Type: op.Float, Default: 0.0, Doc: "The smallest frequency."},
		{Name: "mel_formula", Type: op.String, Default: "slaney",
			Doc: `The mel scale: "slaney" is linear up to 1000 Hz and logarithmic above; "htk" is 2595 * log10(1 + f/700).`},
		{Name: "nfilter", Type: op.Int, Default: 128, Doc: "Number of filters."},
		{Name: "normalize", Type: op.Bool, Default: true,
			Doc: "Whether the integral of every filter is 1. False means that its peak is 1."},
		{Name: "sample_rate", Type: op.Float, Default: 44100.0, Doc: "Rate of the signal, in elements per second."},
	}
}

func init() {
	op.Register(op.Schema{
		Name: "mel_filter_bank",
		Doc: "Converts spectrograms to mel spectrograms with triangular filters. The axis of frequencies is the letter f of the layout. " +
			"Without a layout it is the first of two axes, and the second to last of more.",
		Inputs:    floatsOnly("spectrogram", "a spectrogram with nfft/2 + 1 frequencies, float32"),
		Outputs:   []op.Port{{Name: "mels", Doc: "nfilter numbers in place of the frequencies"}},
		Params:    melParams(),
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			bank, err := newMelBank(c)
			return op.Each(&melFilter{config: c, bank: bank}), err
		},
	})
}

// melBank is the arguments of a bank of filters.
type melBank struct {
	filters         int
	rate, low, high float64
	htk, normalize  bool
}

func newMelBank(c *op.Config) (*melBank, error) {
	m := &melBank{filters: op.Get[int](c, "nfilter"), rate: op.Get[float64](c, "sample_rate"), low: op.Get[float64](c,
		"freq_low"),
		high: op.Get[float64](c, "freq_high"), htk: op.Get[string](c, "mel_formula") == "htk", normalize: op.Get[bool](c,
			"normalize")}
	if formula := op.Get[string](c, "mel_formula"); formula != "slaney" && formula != "htk" {
		return nil, c.Invalid("mel_formula", `"slaney" or "htk"`, fmt.Sprintf("%q", formula), "")
	}
	if err := positive(c, "nfilter"); err != nil {
		return nil, err
	}
	// DALI keeps these numbers as float32.
	m.rate, m.low, m.high = float64(float32(m.rate)), float64(float32(m.low)), float64(float32(m.high))
	if !(m.high > 0) {
		m.high = m.rate / 2
	}
	switch {
	case !(m.rate > 0) || math.IsInf(m.rate, 0):
		return nil, c.Invalid("sample_rate", "more than 0", fmt.Sprint(m.rate), "")
	case !(m.low >= 0):
		return nil, c.Invalid("freq_low", "at least 0", fmt.Sprint(m.low), "")
	case !(m.high > m.low) || math.IsInf(m.high, 0):
		return nil, c.Invalid("freq_high", fmt.Sprintf("a finite number above freq_low, %v", m.low), fmt.Sprint(m.high), "")
	}
	if m.filters > maxTransform {
		return nil, c.Invalid("nfilter", fmt.Sprintf("at most %d", maxTransform), fmt.Sprint(m.filters), "")
	}
	return m, nil
}

// The scale is computed in float32, and everything else about weights in float64, as in DALI.
const (
	slaneyStep  = float32(200.0) / 3 // Hz per mel below the break
	slaneyBreak = float32(1000)      // Hz
	slaneyLog   = float32(0.068751777)
)

var slaneyMels = slaneyBreak / slaneyStep

func log32(x float32) float32 { return libm.Log(x) }

func exp32(x float32) float32 { return libm.Exp(x) }

func (m *melBank) mel(frequency float64) float64 {
	hz := float32(frequency)
	switch {
	case m.htk:
		return float64(1127 * log32(1+hz/700))
	case hz >= slaneyBreak:
		return float64(slaneyMels + log32(hz/slaneyBreak)/slaneyLog)
	}
	return float64(hz / slaneyStep)
}

func (m *melBank) hz(value float64) float64 {
	mel := float32(value)
	switch {
	case m.htk:
		return float64(700 * (exp32(mel/1127) - 1))
	case mel >= slaneyMels:
		return float64(slaneyBreak * exp32(slaneyLog*(mel-slaneyMels)))
	}
	return float64(mel * slaneyStep)
}

// melTable is a bank of filters for spectra of a size. Filter i adds weights[ends[i]:ends[i+1]]
// times the bins from first[i] on.
type melTable struct {
	bins    int
	first   []int
	ends    []int
	weights []float32
	offsets []int // of rows that are stride apart; see rowsOf
	stride  int
}

// make fills t for spectra of some bins.
func (m *melBank) make(t *melTable, bins int) {
	*t = melTable{bins: bins, first: t.first[:0], ends: append(t.ends[:0], 0), weights: t.weights[:0], offsets: t.offsets}
	nfft := 2 * (bins - 1)
	if bins < 2 {
		nfft = 1
	}
	step := m.rate / float64(nfft)
	low, high := m.mel(m.low), m.mel(m.high)
	delta := (high - low) / float64(m.filters+1)
	begin, end := int(math.Ceil(min(m.low/step, float64(bins)))), bins
	if h := math.Floor(m.high/step) + 1; h < float64(bins) {
		end = max(0, int(h))
	}
	begin = min(begin, end)
	// The edges of the intervals between the peaks of filters, in mels and in bins.
	mels := make([]float64, m.filters+2)
	edges := make([]int, m.filters+2)
	mel := low
	for i := range mels {
		if i == m.filters+1 {
			mel = high
		}
		mels[i] = mel
		edges[i] = min(max(begin, int(math.Ceil(min(m.hz(mel)/step, float64(bins))))), end)
		mel += delta
	}
	edges[0], edges[m.filters+1] = begin, end
	down := func(interval, bin int) float32 {
		f0, f1 := m.hz(mels[interval]), m.hz(mels[interval+1])
		return float32((f1 - float64(bin)*step) * (1 / (f1 - f0)))
	}
	for i := range m.filters {
		norm := float32(1)
		if m.normalize {
			norm = float32(2 / (m.hz(mels[i+2]) - m.hz(mels[i])))
		}
		t.first = append(t.first, edges[i])
		for bin := edges[i]; bin < edges[i+1]; bin++ {
			t.weights = append(t.weights, (1-down(i, bin))*norm)
		}
		for bin := edges[i+1]; bin < edges[i+2]; bin++ {
			t.weights = append(t.weights, down(i+1, bin)*norm)
		}
		t.ends = append(t.ends, len(t.weights))
	}
}

// rowsOf computes n numbers of every filter. Row i of the spectrogram and of the mels begins at
// i*stride and i*toStride.
func (t *melTable) rowsOf(to []float32, toStride int, from []float32, stride, n int) {
	if t.stride != stride || len(t.offsets) != len(t.weights) {
		t.offsets, t.stride = t.offsets[:0], stride
		for i, first := range t.first {
			for k := range t.ends[i+1] - t.ends[i] {
				t.offsets = append(t.offsets, (first+k)*stride)
			}
		}
	}
	for i := range t.first {
		row := to[i*toStride : i*toStride+n]
		lo, hi := t.ends[i], t.ends[i+1]
		if lo == hi {
			clear(row)
			continue
		}
		kernel.WeighFloats(row, from, t.offsets[lo:hi], t.weights[lo:hi])
	}
}

// column computes the filters of one spectrum whose elements are next to each other.
func (t *melTable) column(to, from []float32) {
	for i, first := range t.first {
		weights := t.weights[t.ends[i]:t.ends[i+1]]
		sum := float32(0)
		for k, v := range from[first : first+len(weights)] {
			sum += float32(weights[k] * v)
		}
		to[i] = sum
	}
}

type melFilter struct {
	config *op.Config
	bank   *melBank
}

func (k *melFilter) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := wantFloat(k.config, in[0]); err != nil {
		return nil, err
	}
	if in[0].Shape == nil {
		return like(in[0], 0, 0), nil
	}
	axis, ok := frequency(in[0])
	if !ok {
		return nil, k.config.InvalidInput(0, "a layout with an axis f", fmt.Sprintf("%q", in[0].Layout),
			"set the layout of the spectrogram")
	}
	if len(in[0].Shape) == 0 {
		return nil, k.config.InvalidInput(0, "at least one axis", "a number", "")
	}
	return like(in[0], axis, k.bank.filters), nil
}

func (k *melFilter) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	axis, ok := frequency(in.Spec())
	if !ok || len(in.Shape) == 0 {
		return badSample("an axis f", fmt.Sprintf("%s of layout %q", in, in.Layout), "set the layout of the spectrogram")
	}
	outer, bins, inner := around(in.Shape, axis)
	from, err := element.Floats(b, in)
	if err != nil {
		return err
	}
	var buf [maxRank]int
	to, err := tensor.Of[float32](b.Out(0, s, reshaped(buf[:], in.Shape, axis, k.bank.filters)...))
	if err != nil {
		return err
	}
	t := op.PerWorker[melTable](b)
	if t.ends == nil || t.bins != bins {
		k.bank.make(t, bins)
	}
	if bins == 0 {
		clear(to)
		return nil
	}
	for o := range outer {
		src, dst := from[o*bins*inner:], to[o*k.bank.filters*inner:]
		if inner == 1 {
			t.column(dst, src[:bins])
		} else if inner > 0 {
			t.rowsOf(dst, inner, src, inner, inner)
		}
	}
	return nil
}
