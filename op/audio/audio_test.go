package audio_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/op/audio"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// noise returns a random signal.
func noise(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 2))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * 0.3)
	}
	return x
}

// tone returns a sine of some cycles per element.
func tone(n int, cycles float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(0.5 * math.Sin(2*math.Pi*cycles*float64(i)))
	}
	return x
}

func floats(t testing.TB, x tensor.Tensor) []float32 {
	t.Helper()
	v, err := tensor.Of[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// run runs an operator on one sample.
func run(t testing.TB, name string, args op.Args, in tensor.Tensor) tensor.Tensor {
	t.Helper()
	return optest.MustRun(t, optest.Case{Op: name, Args: args, Inputs: optest.Inputs(in)}).Outputs[0][0]
}

// log_mel equals the chain of operators to the bit, for every argument.
func TestLogMelIsTheChain(t *testing.T) {
	pick := func(args op.Args, names ...string) op.Args {
		out := op.Args{}
		for _, n := range names {
			if v, ok := args[n]; ok {
				out[n] = v
			}
		}
		return out
	}
	window := make([]float64, 48)
	for i := range window {
		window[i] = float64(i%7) - 2
	}
	for i, args := range []op.Args{
		{"nfft": 512, "window_length": 400, "window_step": 160, "sample_rate": 16000.0, "nfilter": 80,
			"preemph_coeff": 0.97},
		{"window_length": 64, "window_step": 31},
		{"window_length": 48, "window_step": 16, "window_fn": window, "power": 1, "multiplier": 20.0, "reference": 1.0},
		{"window_length": 60, "window_step": 16, "center_windows": false, "border": "zero", "preemph_coeff": 0.5},
		{"window_length": 64, "window_step": 16, "reflect_padding": false, "mel_formula": "htk", "normalize": false,
			"cutoff_db": -20.0},
		{"window_length": 128, "window_step": 64, "freq_low": 300.0, "freq_high": 4000.0, "nfilter": 7,
			"border": "reflect", "preemph_coeff": 0.9},
	} {
		for _, n := range []int{1, 63, 1000, 4321} {
			if n == 1 && args["center_windows"] == false {
				continue
			}
			in := optest.Of("", []int{n}, noise(n, uint64(n))...)
			x := in
			if _, ok := args["preemph_coeff"]; ok {
				x = run(t, "preemphasis_filter", pick(args, "preemph_coeff", "border"), in)
			}
			x = run(t, "spectrogram", pick(args, "nfft", "window_length", "window_step", "window_fn", "power",
				"center_windows", "reflect_padding"), x)
			x = run(t, "mel_filter_bank", pick(args, "sample_rate", "nfilter", "mel_formula", "normalize", "freq_low",
				"freq_high"), x)
			want := run(t, "to_decibels", pick(args, "multiplier", "reference", "cutoff_db"), x)
			got := run(t, "log_mel", args, in)
			if !got.Shape.Equal(want.Shape) || got.Layout != want.Layout || !slices.Equal(got.Data, want.Data) {
				t.Errorf("arguments %d, %d elements: %v %q, want %v %q with the same bits", i, n, got, got.Layout, want,
					want.Layout)
			}
		}
	}
}

// Later runs allocate nothing.
func TestAllocations(t *testing.T) {
	signal := optest.Inputs(optest.Of("", []int{3000}, noise(3000, 1)...))
	mels := optest.Inputs(optest.Of("ft", []int{65, 30}, noise(65*30, 1)...))
	optest.CheckAllocations(t, []optest.Case{
		{Op: "spectrogram", Inputs: signal}, {Op: "power_spectrum", Args: op.Args{"nfft": 300}, Inputs: signal},
		{Op: "log_mel", Args: op.Args{"preemph_coeff": 0.9}, Inputs: signal}, {Op: "mel_filter_bank", Inputs: mels},
		{Op: "to_decibels", Inputs: mels}, {Op: "mfcc", Inputs: mels}, {Op: "preemphasis_filter", Inputs: signal},
		{Op: "nonsilent_region", Inputs: signal}, {Op: "audio_resample", Args: op.Args{"scale": 0.5}, Inputs: signal},
		{Op: "time_mask", Args: op.Args{"max_width": 5}, Inputs: mels}, {Op: "freq_mask", Args: op.Args{"max_width": 5},
			Inputs: mels},
		{Op: "time_stretch", Args: op.Args{"rate": 1.3, "nfft": 256}, Inputs: signal}, {Op: "pitch_shift",
			Args: op.Args{"steps": 2.0, "nfft": 256}, Inputs: signal},
	})
}

// Decibels have the bits that DALI recorded: one unit in the last place tells a wrong factor.
func TestDecibelsAreDALIs(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		in, want []float32
	}{
		{[]float32{nan, 1, 2}, []float32{-200.00002, -3.0103002, 0}},
		{[]float32{1, nan, 2}, []float32{-3.0103002, -200.00002, 0}},
		{[]float32{0, 0, 0}, []float32{-200.00002, -200.00002, -200.00002}},
		{[]float32{1e-45, 1e-38, 1}, []float32{-200.00002, -200.00002, 0}},
	} {
		got := floats(t, run(t, "to_decibels", nil, optest.Of("", []int{3}, c.in...)))
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.in, got, c.want)
		}
	}
}

// Masks depend on the seed and the position only, not on the block, and stay within their limits.
func TestMasks(t *testing.T) {
	const times, frequencies, samples = 40, 23, 300
	ones := make([]float32, times*frequencies)
	for i := range ones {
		ones[i] = 1
	}
	var inputs [][]tensor.Tensor
	inputs = append(inputs, nil)
	for range samples {
		inputs[0] = append(inputs[0], optest.Of("ft", []int{frequencies, times}, ones...))
	}
	args := op.Args{"max_width": 12, "max_fraction": 0.25, "fill_value": -3.0}
	all := optest.MustRun(t, optest.Case{Op: "time_mask", Args: args, Inputs: inputs, Seed: 5})
	parts := optest.MustRun(t, optest.Case{Op: "time_mask", Args: args, Inputs: inputs, Seed: 5, Block: 7})
	widths := map[int]int{}
	for s, out := range all.Outputs[0] {
		if !slices.Equal(out.Data, parts.Outputs[0][s].Data) {
			t.Fatalf("sample %d depends on its block", s)
		}
		v := floats(t, out)
		width := 0
		for i := range times {
			if v[i] == -3 {
				width++
			} else if v[i] != 1 {
				t.Fatalf("sample %d: %v", s, v[i])
			}
			for f := range frequencies {
				if v[f*times+i] != v[i] {
					t.Fatalf("sample %d: frequency %d differs at %d", s, f, i)
				}
			}
		}
		widths[width]++
	}
	if len(widths) != 11 { // 0 to a quarter of 40
		t.Errorf("widths %v, want 0 to 10", widths)
	}
	for w, n := range widths {
		if n < 10 || n > 55 {
			t.Errorf("width %d: %d of %d", w, n, samples)
		}
	}
	tf := optest.Of("tf", []int{times, frequencies}, ones...)
	v := floats(t, run(t, "freq_mask", op.Args{"max_width": 5, "masks": 40}, tf))
	masked := 0
	for f := range frequencies {
		if v[f] == 0 {
			masked++
		}
		if v[f] != v[(times-1)*frequencies+f] {
			t.Errorf("time changes frequency %d", f)
		}
	}
	if masked == 0 {
		t.Error("40 ranges mask nothing")
	}
}

// peak returns the cycles per element of the loudest frequency.
func peak(t *testing.T, x []float32) float64 {
	t.Helper()
	n := 1 << 12
	v := floats(t, run(t, "power_spectrum", op.Args{"nfft": n}, optest.Of("", []int{n}, x[:n]...)))
	best := 0
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	return float64(best) / float64(n)
}

// A stretched tone has another length and the same pitch. A shifted tone has the same length and
// another pitch. Both stay as loud.
func TestStretchAndShift(t *testing.T) {
	const n = 12000
	in := optest.Of("", []int{n}, tone(n, 0.03)...)
	power := func(x []float32) (sum float64) {
		for _, v := range x[2000 : len(x)-2000] {
			sum += float64(v) * float64(v)
		}
		return sum / float64(len(x)-4000)
	}
	for _, rate := range []float64{0.5, 0.8, 1, 1.5} {
		x := floats(t, run(t, "time_stretch", op.Args{"rate": rate}, in))
		if len(x) != int(math.Ceil(n/rate)) || math.Abs(peak(t, x[1000:])-0.03) > 0.0005 {
			t.Errorf("rate %v: %d elements of %v cycles", rate, len(x), peak(t, x[1000:]))
		}
		if p := power(x); math.Abs(p-0.125) > 0.01 {
			t.Errorf("rate %v: power %v", rate, p)
		}
	}
	for _, steps := range []float64{-12, -3, 0, 7, 12} {
		x := floats(t, run(t, "pitch_shift", op.Args{"steps": steps}, in))
		want := 0.03 * math.Exp2(steps/12)
		if len(x) != n || math.Abs(peak(t, x[1000:])-want) > 0.0005 {
			t.Errorf("steps %v: %d elements of %v cycles, want %v", steps, len(x), peak(t, x[1000:]), want)
		}
	}
	same := floats(t, run(t, "time_stretch", op.Args{"rate": 1.0}, in))
	for i, v := range same {
		if d := math.Abs(float64(v - floats(t, in)[i])); d > 1e-3 {
			t.Fatalf("rate 1: element %d: %v", i, d)
		}
	}
}

// A window with a NaN is NaN, and other windows are not touched.
func TestNaNStays(t *testing.T) {
	x := noise(1000, 4)
	clean := floats(t, run(t, "spectrogram", op.Args{"window_length": 64, "window_step": 64}, optest.Of("", []int{1000},
		x...)))
	x[500] = float32(math.NaN())
	dirty := floats(t, run(t, "spectrogram", op.Args{"window_length": 64, "window_step": 64}, optest.Of("", []int{1000},
		x...)))
	const count = 16
	for i, v := range dirty {
		if at := i % count; at == 8 {
			if v == v {
				t.Fatalf("element %d is %v", i, v)
			}
		} else if math.Float32bits(v) != math.Float32bits(clean[i]) {
			t.Fatalf("element %d: %v, want %v", i, v, clean[i])
		}
	}
}

// Arguments and inputs that make no sense are refused, and so are sizes that no memory has.
func TestRefusals(t *testing.T) {
	signal := optest.Of("", []int{100}, noise(100, 1)...)
	for _, c := range []struct {
		op   string
		args op.Args
		in   tensor.Tensor
		kind errs.Kind
	}{
		{"spectrogram", op.Args{"nfft": 1 << 40}, signal, errs.Invalid},
		{"spectrogram", op.Args{"window_length": 1 << 40, "window_step": 1}, signal, errs.Invalid},
		{"log_mel", op.Args{"border": "wrap"}, signal, errs.Invalid},
		{"log_mel", op.Args{"window_length": 64, "nfilter": 0}, signal, errs.Invalid},
		{"audio_resample", op.Args{"scale": 1e30}, signal, errs.Invalid},
		{"audio_resample", op.Args{"out_length": 1 << 40}, signal, errs.Exhausted},
		{"time_mask", op.Args{"max_width": 3}, signal, errs.Invalid},
		{"time_mask", op.Args{}, signal, errs.Invalid},
		{"freq_mask", op.Args{"max_width": -1}, optest.Of("ft", []int{10, 10}, noise(100, 1)...), errs.Invalid},
		{"time_stretch", op.Args{"rate": 0.0}, signal, errs.Invalid},
		{"time_stretch", op.Args{"rate": math.NaN()}, signal, errs.Invalid},
		{"time_stretch", op.Args{"rate": 1.0, "nfft": 10}, signal, errs.Invalid},
		{"pitch_shift", op.Args{"steps": 1000.0}, signal, errs.Invalid},
		{"pitch_shift", op.Args{"steps": 1.0}, optest.Of("", []int{10, 10}, noise(100, 1)...), errs.Invalid},
		{"to_decibels", op.Args{}, optest.Of("", []int{2}, int16(1), int16(2)), errs.Unsupported},
	} {
		r, err := optest.Run(optest.Case{Op: c.op, Args: c.args, Inputs: optest.Inputs(c.in)})
		if err == nil {
			err = r.Errors[0]
		}
		if !errors.Is(err, c.kind) {
			t.Errorf("%s %v: %v, want kind %v", c.op, c.args, err, c.kind)
		}
	}
}

func BenchmarkSpectrogram(b *testing.B) {
	optest.Bench(b, optest.Case{Op: "spectrogram", Inputs: optest.Inputs(optest.Of("", []int{16000}, noise(16000,
		1)...))})
}

func BenchmarkLogMel(b *testing.B) {
	args := op.Args{"nfft": 512, "window_length": 400, "window_step": 160, "sample_rate": 16000.0, "nfilter": 80,
		"preemph_coeff": 0.97}
	optest.Bench(b, optest.Case{Op: "log_mel", Args: args, Inputs: optest.Inputs(optest.Of("", []int{16000},
		noise(16000, 1)...))})
}

func BenchmarkResample(b *testing.B) {
	optest.Bench(b, optest.Case{Op: "audio_resample", Args: op.Args{"in_rate": 44100.0, "out_rate": 16000.0},
		Inputs: optest.Inputs(optest.Of("", []int{44100}, noise(44100, 1)...))})
}
