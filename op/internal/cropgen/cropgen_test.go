package cropgen

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
)

func generator(args map[string]any) (*Generator, error) {
	s := &op.Schema{Name: "test", Params: Params()}
	set := map[string]op.Argument{}
	for name, v := range args {
		set[name] = op.Argument{Const: v}
	}
	c, _, err := op.Resolve(s, "test", 0, set)
	if err != nil {
		return nil, err
	}
	return New(c)
}

// The windows were recorded from DALI's random_crop_generator and, where only
// their size shows (-1), decoders.image_random_crop: sample s of iteration i draws
// from sequence i*batch + s*65537.
func TestRecordedWindows(t *testing.T) {
	b, err := os.ReadFile("testdata/windows.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name    string
		Seed    uint64
		Args    map[string]any
		Images  [][2]int
		Windows [][][4]int
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	windows := 0
	for _, c := range cases {
		if n, ok := c.Args["num_attempts"].(float64); ok {
			c.Args["num_attempts"] = int(n)
		}
		g, err := generator(c.Args)
		if err != nil {
			t.Fatal(err)
		}
		for it, batch := range c.Windows {
			for s, want := range batch {
				r := rng.NewPhilox(c.Seed, uint64(it*len(batch)+s*65537), 0)
				got := g.Draw(r, c.Images[s][0], c.Images[s][1])
				if want[0] < 0 {
					got.Y, got.X = -1, -1
				}
				if windows++; got != (Window{want[0], want[1], want[2], want[3]}) {
					t.Errorf("%s: iteration %d sample %d of %v: %+v, want %v", c.Name, it, s, c.Images[s], got, want)
				}
			}
		}
	}
	if windows < 100 {
		t.Errorf("only %d windows", windows)
	}
}

func TestWindowLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(1, 1<<20))
		h, w := side.Draw(t, "h"), side.Draw(t, "w")
		area, ratio := rapid.Float64Range(0, 2), rapid.Float64Range(1e-30, 1e30)
		a, b, c, d := area.Draw(t, "area"), area.Draw(t, "area"), ratio.Draw(t, "ratio"), ratio.Draw(t, "ratio")
		g, err := generator(map[string]any{
			"random_area": []float64{min(a, b), max(a, b)}, "random_aspect_ratio": []float64{min(c, d), max(c, d)},
			"num_attempts": rapid.IntRange(1, 4).Draw(t, "attempts"),
		})
		if err != nil {
			t.Fatal(err)
		}
		r := rng.NewPhilox(rapid.Uint64().Draw(t, "seed"), 0, 0)
		got := g.Draw(r, h, w)
		if got.H < 1 || got.W < 1 || got.Y < 0 || got.X < 0 || got.Y+got.H > h || got.X+got.W > w {
			t.Fatalf("%+v in %dx%d", got, h, w)
		}
	})
}

// TestWindowDistribution shows that areas, aspect ratios and places are even.
func TestWindowDistribution(t *testing.T) {
	g, err := generator(map[string]any{"random_area": []float64{0.2, 0.9}, "random_aspect_ratio": []float64{0.95, 1.05}})
	if err != nil {
		t.Fatal(err)
	}
	keyer := rng.NewKeyer(1)
	const n = 20000
	var area, center float64
	for i := range n {
		w := g.Draw(keyer.Stream(int64(i), 0, 5, 0), 160, 160)
		a, ratio := float64(w.H*w.W)/(160*160), float64(w.W)/float64(w.H)
		if a < 0.19 || a > 0.91 || ratio < 0.94 || ratio > 1.06 {
			t.Fatalf("window %+v has area %g, aspect ratio %g", w, a, ratio)
		}
		area += a / n
		center += (float64(w.X) + float64(w.W)/2) / 160 / n
	}
	if math.Abs(area-0.55) > 0.01 || math.Abs(center-0.5) > 0.01 {
		t.Errorf("mean area %g, mean centre %g", area, center)
	}
}

func TestNoPixels(t *testing.T) {
	g, err := generator(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Draw(rng.NewPhilox(1, 0, 0), 0, 7); got != (Window{}) {
		t.Errorf("%+v", got)
	}
}

func TestRefused(t *testing.T) {
	for _, args := range []map[string]any{
		{"random_area": []float64{0.5, 0.1}}, {"random_area": []float64{-1, 1}}, {"random_area": 0.5},
		{"random_aspect_ratio": []float64{0, 1}}, {"random_aspect_ratio": []float64{2, 1}}, {"random_aspect_ratio": []float64{1, 1e300}},
		{"num_attempts": -1},
	} {
		if _, err := generator(args); !errors.Is(err, errs.Invalid) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
