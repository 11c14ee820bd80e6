// Package cropgen draws windows of random area, aspect ratio and place, which
// several operators cut out of images.
//
// A window draws from a branch of its sample's stream, in this order. Each attempt draws the area,
// as a fraction of the image's area, and the logarithm of the aspect ratio, both evenly from their
// ranges. An attempt succeeds if a window of this size fits, and its aspect ratio after rounding to
// pixels is within the range. Then the row and the column of the window's corner are drawn. If even
// the widest or the tallest window is smaller than the smallest area, this window is taken and only
// its place is drawn. If all attempts fail, the largest window with an allowed aspect ratio is
// taken, reduced to the largest area.
//
// Arithmetic is float32, as in DALI. With DALI's streams the windows equal DALI's windows.
package cropgen

import (
	"fmt"
	"github.com/bivouac-ml/bivouac/internal/libm"
	"math"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
)

// Params returns the parameters of a Generator.
func Params() []op.Parameter {
	return []op.Parameter{
		{Name: "random_area", Type: op.Floats, Default: []float64{0.08, 1}, Doc: "Range of the window's area as a fraction of the image's."},
		{Name: "random_aspect_ratio", Type: op.Floats, Default: []float64{3. / 4, 4. / 3}, Doc: "Range of the window's width over its height."},
		{Name: "num_attempts", Type: op.Int, Default: 10, Doc: "Number of draws before the largest window that fits is taken."},
	}
}

// salt separates the numbers of windows from other numbers that an operator draws.
const salt = 0x12345678abcdefe

// Window is a part of an image, in pixels.
type Window struct{ Y, X, H, W int }

// Generator draws windows. It is immutable and safe for concurrent use.
type Generator struct {
	areaLow, areaHigh   float32
	ratioLow, ratioHigh float32
	logLow, logHigh     float32
	attempts            int
}

// New makes a Generator from the arguments that Params describes.
func New(c *op.Config) (*Generator, error) {
	area, ratio := op.Get[[]float64](c, "random_area"), op.Get[[]float64](c, "random_aspect_ratio")
	if len(area) != 2 || !(area[0] >= 0 && area[0] <= area[1] && area[1] <= math.MaxFloat32) {
		return nil, c.Invalid("random_area", "two numbers of at least 0 in ascending order", fmt.Sprint(area), "")
	}
	if len(ratio) != 2 || !(ratio[0] > 0 && ratio[0] <= ratio[1] && ratio[1] <= math.MaxFloat32) {
		return nil, c.Invalid("random_aspect_ratio", "two positive numbers in ascending order", fmt.Sprint(ratio), "")
	}
	attempts := op.Get[int](c, "num_attempts")
	if attempts < 0 {
		return nil, c.Invalid("num_attempts", "0 or more", fmt.Sprint(attempts), "")
	}
	g := &Generator{
		areaLow: float32(area[0]), areaHigh: float32(area[1]),
		ratioLow: float32(ratio[0]), ratioHigh: float32(ratio[1]),
		attempts: attempts,
	}
	g.logLow, g.logHigh = libm.Log(g.ratioLow), libm.Log(g.ratioHigh)
	return g, nil
}

// Draw returns a window within an image of h x w, from a branch of the sample's generator r. The
// window of an image without pixels is empty.
func (g *Generator) Draw(r rng.Philox, h, w int) Window {
	if h <= 0 || w <= 0 {
		return Window{}
	}
	branch := r.Branch(salt)
	words := libstdcxx.Words{Philox: &branch}
	height, width := g.size(words, h, w)
	y := words.UniformInt(0, int32(h-height))
	x := words.UniformInt(0, int32(w-width))
	return Window{Y: int(y), X: int(x), H: height, W: width}
}

func (g *Generator) size(words libstdcxx.Words, h, w int) (height, width int) {
	pixels := float32(h * w)
	widest := limit(float32(h)*g.ratioHigh, w)
	tallest := limit(float32(w)*(1/g.ratioLow), h)
	least := pixels * g.areaLow
	switch {
	case float32(h*widest) < least:
		return h, widest
	case float32(w*tallest) < least:
		return tallest, w
	}
	for range g.attempts {
		area := words.UniformReal(g.areaLow, g.areaHigh) * pixels
		ratio := libm.Exp(words.UniformReal(g.logLow, g.logHigh))
		width, height = extent(area*ratio), extent(area/ratio)
		if width > w || height > h {
			continue
		}
		if got := float32(width) / float32(height); got >= g.ratioLow && got <= g.ratioHigh {
			return height, width
		}
	}
	height, width = h, w
	if got := float32(w) / float32(h); got > g.ratioHigh {
		width = widest
	} else if got < g.ratioLow {
		height = tallest
	}
	shrink := sqrt(min(1, g.areaHigh*float32(w)*float32(h)/float32(height*width)))
	return limit(float32(height)*shrink, height), limit(float32(width)*shrink, width)
}

// limit returns a length as an integer from 1 to most.
func limit(length float32, most int) int {
	if length >= float32(most) {
		return most
	}
	return max(1, int(length))
}

// extent returns the side of a square of the given area, in whole pixels.
func extent(area float32) int {
	const huge = math.MaxInt32
	return max(1, int(min(math.Round(float64(sqrt(area))), huge)))
}

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }
