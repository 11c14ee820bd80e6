package random_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/random"
)

func TestMain(m *testing.M) {
	code := m.Run()
	dynamic.Default().Close() // which lasts as long as the process
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Functions draw from the generator that they are given, or else from the generator of the context
// or of the EvalContext.
func TestContexts(t *testing.T) {
	e, f := dynamic.NewEvalContext(dynamic.Options{}), dynamic.NewEvalContext(dynamic.Options{})
	defer e.Close()
	defer f.Close()
	ctx := dynamic.With(t.Context(), e)
	own := random.From(ctx)
	if random.From(ctx) != own || random.From(dynamic.With(ctx, f)) == own {
		t.Error("an EvalContext has one generator of its own")
	}
	if random.From(dynamic.With(ctx, f)).State() == own.State() {
		t.Error("generators that nobody gave a seed are equal")
	}
	g := random.New(5)
	seeded := random.With(ctx, g)
	if random.From(seeded) != g || random.Or(seeded, nil) != g || random.Or(seeded, own) != own ||
		random.From(random.With(seeded, nil)) != own {
		t.Error("the wrong generator")
	}
	draw := func(g *random.RNG) float32 {
		v, err := dynamic.Item[float32](seeded, random.Uniform(seeded, g, random.UniformArgs{}))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if a, b := draw(nil), draw(random.New(5)); a != b {
		t.Errorf("%v from the context, %v from the same seed", a, b)
	}
	if g.State() == random.New(5).State() {
		t.Error("the generator of the context did not move")
	}
}
