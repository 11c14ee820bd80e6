package audio

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

const silenceDoc = "integers of 8 to 64 bits, or float32"

func init() {
	op.Register(op.Schema{
		Name: "nonsilent_region",
		Doc: "Finds where a signal begins and ends to be louder than a threshold. The power of a window is the mean of its squares. " +
			"The region reaches from the first to the last window that is loud enough.",
		Inputs: []op.Port{{Name: "signal", Doc: "a signal of one axis: " + silenceDoc}},
		Outputs: []op.Port{
			{Name: "begin", Doc: "the first element of the region, int32"},
			{Name: "length", Doc: "its number of elements, int32; 0 if all is silent"},
		},
		Params: []op.Parameter{
			{Name: "cutoff_db", Type: op.Float, Default: -60.0, Doc: "The threshold in decibels, relative to reference_power."},
			{Name: "reference_power", Type: op.Float, Default: 0.0,
				Doc: "The power of 0 decibels. If it is left out, the power of the loudest window."},
			{Name: "reset_interval", Type: op.Int, Default: 8192,
				Doc: "Elements of float32 after which the sum of a window is computed anew; -1 means never. A multiple of window_length."},
			{Name: "window_length", Type: op.Int, Default: 2048, Doc: "Elements of a window."},
		},
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &nonsilent{config: c, cutoff: float32(op.Get[float64](c, "cutoff_db")), reference: float32(op.Get[float64](c,
				"reference_power")),
				reset: op.Get[int](c, "reset_interval"), window: op.Get[int](c, "window_length")}
			if err := positive(c, "window_length"); err != nil {
				return nil, err
			}
			switch {
			case c.Given("reference_power") && !(k.reference > 0):
				return nil, c.Invalid("reference_power", "more than 0", fmt.Sprint(k.reference),
					"leave it out for the power of the loudest window")
			case k.window > math.MaxInt32:
				return nil, c.Invalid("window_length", fmt.Sprintf("at most %d", math.MaxInt32), fmt.Sprint(k.window), "")
			case k.reset < -1 || k.reset == 0:
				return nil, c.Invalid("reset_interval", "-1, or at least 1", fmt.Sprint(k.reset), "")
			}
			return op.Each(k), nil
		},
	})
}

type nonsilent struct {
	config            *op.Config
	cutoff, reference float32
	reset, window     int
}

func (k *nonsilent) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	d := in[0].DType
	if !numeric(d) || d == tensor.Float64 {
		return nil, badInput(k.config, silenceDoc, d.String(), "cast the input")
	}
	if n := len(in[0].Shape); in[0].Shape != nil && n != 1 {
		return nil, k.config.InvalidInput(0, "one axis", fmt.Sprintf("%d axes", n),
			"reshape the input, or take the mean of the channels")
	}
	if d == tensor.Float32 && k.reset > 0 && k.reset%k.window != 0 {
		return nil, k.config.Invalid("reset_interval", fmt.Sprintf("a multiple of window_length, %d", k.window),
			fmt.Sprint(k.reset), "set both")
	}
	out := tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{}}
	return []tensor.Spec{out, out}, nil
}

func (k *nonsilent) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	if len(in.Shape) != 1 {
		return badSample("one axis", in.String(), "reshape the input, or take the mean of the channels")
	}
	power := op.Scratch[float32](b, in.Len())
	switch in.DType {
	case tensor.Float32:
		from, err := tensor.Of[float32](in)
		if err != nil {
			return err
		}
		k.floats(power, from)
	case tensor.Uint64: // DALI squares numbers as they come, modulo 2^64
		integers(power, element.View[uint64](in.Data), k.window)
	default:
		from := op.Scratch[int64](b, in.Len())
		if err := element.Into(tensor.Int64, element.Bytes(from), in.DType, in.Data); err != nil {
			return err
		}
		integers(power, from, k.window)
	}
	begin, length := k.region(power)
	for i, v := range []int{begin, length} {
		to, err := tensor.Of[int32](b.Out(i, s))
		if err != nil {
			return err
		}
		to[0] = int32(v)
	}
	return nil
}

// floats writes the power of the window that ends at each element. Elements before the first count
// as 0. The sum moves along, and is computed anew from time to time.
func (k *nonsilent) floats(power, from []float32) {
	factor := 1 / float32(k.window)
	interval := k.reset
	if interval < 0 {
		interval = max(1, len(from))
	}
	for start := 0; start < len(from); start += interval {
		sum := float32(0)
		for i := max(0, start-k.window+1); i <= start; i++ {
			sum += float32(from[i] * from[i])
		}
		power[start] = sum * factor
		for i := start + 1; i < min(start+interval, len(from)); i++ {
			sum += float32(from[i] * from[i])
			if j := i - k.window; j >= 0 {
				sum -= float32(from[j] * from[j])
			}
			power[i] = sum * factor
		}
	}
}

// integers works like floats. Sums are exact, or modulo 2^64.
func integers[T int64 | uint64](power []float32, from []T, window int) {
	factor := 1 / float32(window)
	sum := uint64(0)
	for i, v := range from {
		sum += uint64(v) * uint64(v)
		if j := i - window; j >= 0 {
			sum -= uint64(from[j]) * uint64(from[j])
		}
		power[i] = float32(sum) * factor
	}
}

// region returns the first element and the number of elements that loud windows cover.
func (k *nonsilent) region(power []float32) (begin, length int) {
	reference := k.reference
	if reference == 0 {
		for i, v := range power {
			if i == 0 || v > reference {
				reference = v
			}
		}
	}
	threshold := reference * float32(math.Pow(10, float64(k.cutoff/10)))
	end := len(power)
	for begin < end && !(power[begin] >= threshold) {
		begin++
	}
	if begin == end {
		return 0, 0
	}
	for !(power[end-1] >= threshold) {
		end--
	}
	begin = max(0, begin-k.window+1)
	return begin, end - begin
}
