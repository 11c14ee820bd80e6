package torchdata

import (
	"encoding/json"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
)

// RandomSamplerOptions describe a RandomSampler or a TorchRandomSampler.
type RandomSamplerOptions struct {
	// Replacement draws each sample from the whole data set.
	Replacement bool
	// NumSamples is the length of an epoch, at least 1. nil means the length of the data set. Without
	// replacement, if NumSamples is above the length of the data set, one permutation follows the
	// other.
	NumSamples *int64
	// Generator is the generator of the sampler, which it shares with other users. nil means a
	// generator with a seed drawn from Global.
	Generator *Generator
	// Global is torch's global generator. It is used if Generator is nil. nil means a generator seeded
	// with DefaultSeed.
	Global *Generator
}

// count returns the length of an epoch.
func (o *RandomSamplerOptions) count(s Samples) int64 {
	if o.NumSamples != nil {
		return *o.NumSamples
	}
	return s.Len()
}

func (o *RandomSamplerOptions) check(op string, s Samples) error {
	if n := o.count(s); n < 1 || n > MaxSamples {
		return badCount(op, "NumSamples", n, 1)
	}
	if n := s.Len(); n < 0 || n > MaxSamples {
		return badCount(op, "samples", n, 0)
	}
	return nil
}

// seededFrom returns a generator with a seed drawn from the global generator.
func seededFrom(global *Generator) *Generator {
	g := NewGenerator(uint64(globalOf(global).Int63()))
	return &g
}

func globalOf(g *Generator) *Generator {
	if g == nil {
		d := NewGenerator(DefaultSeed)
		return &d
	}
	return g
}

// RandomSampler is torchdata's RandomSampler. Each epoch continues with the generator where the
// last epoch left it. The cursor has the state {yielded, generator}, with the generator as it was
// before the epoch's first permutation. A cursor that continues from a state draws only what it
// needs: it does not make permutations that it would skip.
//
// It is not safe for concurrent use.
type RandomSampler struct {
	samples Samples
	o       RandomSamplerOptions
}

// NewRandomSampler returns the sampler of a data set. The error is of kind errs.Invalid if an epoch
// has no samples.
func NewRandomSampler(s Samples, o RandomSamplerOptions) (*RandomSampler, error) {
	if o.Generator == nil {
		o.Generator = seededFrom(o.Global)
	}
	if err := o.check("torchdata.NewRandomSampler", s); err != nil {
		return nil, err
	}
	return &RandomSampler{s, o}, nil
}

// Len implements order.Sampler.
func (s *RandomSampler) Len() int64 { return s.o.count(s.samples) }

// Open implements order.Sampler. The cursor is state.Stateful.
func (s *RandomSampler) Open() order.Cursor[int64] {
	c := &randomCursor{gen: s.o.Generator, n: s.samples.Len(), num: s.Len(), replacement: s.o.Replacement}
	c.began = *c.gen
	c.draw()
	return c
}

type randomCursor struct {
	gen         *Generator // shared
	began       Generator  // before the first unit
	encoded     json.RawMessage
	n, num      int64
	replacement bool
	start       Generator // before the current unit
	unit        []int64   // nil if not drawn yet
	used        int64     // samples of the unit that were yielded
	yielded     int64
}

// unitLen returns how many samples are drawn at once.
func (c *randomCursor) unitLen() int64 {
	if c.replacement {
		return chunk
	}
	return c.n
}

// draw takes the random numbers of the next unit. Its samples are made when the first one is
// requested.
func (c *randomCursor) draw() {
	c.start, c.unit, c.used = *c.gen, nil, 0
	words := wordsOfRandperm(c.n)
	if c.replacement {
		words = chunk * wordsOfInt63n(c.n)
	}
	c.gen.Discard(words)
}

func (c *randomCursor) samples() []int64 {
	if c.unit == nil {
		c.unit = make([]int64, c.unitLen())
		g := c.start
		if !c.replacement {
			widen(c.unit, randperm(c.n, &g))
			return c.unit
		}
		for i := range c.unit {
			c.unit[i] = g.Int63n(c.n)
		}
	}
	return c.unit
}

// Next implements order.Cursor.
func (c *randomCursor) Next() (int64, bool, error) {
	if c.yielded == c.num {
		return 0, false, nil
	}
	if c.unitLen() == 0 {
		return 0, false, badCount("torchdata.RandomSampler", "samples", 0, 1)
	}
	if c.used == c.unitLen() {
		c.draw()
	}
	c.used++
	c.yielded++
	return c.samples()[c.used-1], true, nil
}

// randomState is the state of a cursor.
type randomState struct {
	Yielded   int64           `json:"yielded"`
	Generator json.RawMessage `json:"generator"`
}

// AppendState implements state.Stateful.
func (c *randomCursor) AppendState(b []byte) ([]byte, error) {
	if c.encoded == nil {
		var err error
		if c.encoded, err = EncodeGenerator(&c.began); err != nil {
			return nil, err
		}
	}
	return appendJSON(b, randomState{c.yielded, c.encoded})
}

// SetState implements state.Stateful. It sets the generator of the sampler.
func (c *randomCursor) SetState(b []byte) error {
	const op = "torchdata.RandomSampler.SetState"
	var s randomState
	if err := decode(op, b, &s); err != nil {
		return err
	}
	g, err := DecodeGenerator(s.Generator)
	if err != nil {
		return errs.Wrap(op, "generator", err)
	}
	if s.Yielded < 0 || s.Yielded > c.num {
		return &errs.Error{Kind: errs.Mismatch, Op: op, Subject: "yielded", Want: countWant(c.num), Got: jsonText(s.Yielded)}
	}
	*c.gen, c.began, c.encoded = g, g, s.Generator
	c.draw()
	for rest := s.Yielded; rest > 0; {
		if c.used == c.unitLen() {
			c.draw()
		}
		c.used = min(rest, c.unitLen())
		rest -= c.used
	}
	c.yielded = s.Yielded
	return nil
}

// TorchRandomSampler is the RandomSampler of torch.utils.data, which has no state. A loader that
// resumes reads the samples of a new epoch and skips the delivered ones. Without a generator each
// epoch draws the seed of one from the global generator.
type TorchRandomSampler struct {
	samples Samples
	o       RandomSamplerOptions
}

// NewTorchRandomSampler returns the sampler of a data set. The error is of kind errs.Invalid if an
// epoch has no samples.
func NewTorchRandomSampler(s Samples, o RandomSamplerOptions) (*TorchRandomSampler, error) {
	if err := o.check("torchdata.NewTorchRandomSampler", s); err != nil {
		return nil, err
	}
	return &TorchRandomSampler{s, o}, nil
}

// Len implements order.Sampler.
func (s *TorchRandomSampler) Len() int64 { return s.o.count(s.samples) }

// Open implements order.Sampler.
func (s *TorchRandomSampler) Open() order.Cursor[int64] {
	return &lazy[int64]{begin: func() (func() (int64, bool, error), error) {
		g := s.o.Generator
		if g == nil {
			g = seededFrom(s.o.Global)
		}
		c := &torchRandom{gen: g, n: s.samples.Len(), num: s.Len(), replacement: s.o.Replacement}
		c.whole = c.num / c.most()
		return c.Next, nil
	}}
}

// torchRandom draws whole units. At the end it draws one more unit and takes the missing samples
// from it, even if none are missing.
type torchRandom struct {
	gen         *Generator
	n, num      int64
	replacement bool
	whole       int64 // units that are left
	last        bool  // the last one is drawn
	unit        []int64
}

func (c *torchRandom) most() int64 {
	if c.replacement {
		return chunk
	}
	return max(c.n, 1)
}

func (c *torchRandom) Next() (int64, bool, error) {
	for len(c.unit) == 0 {
		if c.last {
			return 0, false, nil
		}
		take := c.most()
		if c.whole == 0 {
			c.last, take = true, c.num%c.most()
		}
		c.whole--
		c.unit = c.draw(take)
	}
	id := c.unit[0]
	c.unit = c.unit[1:]
	return id, true, nil
}

func (c *torchRandom) draw(take int64) []int64 {
	unit := make([]int64, take)
	if !c.replacement {
		widen(unit, randperm(c.n, c.gen))
		return unit
	}
	for i := range unit {
		unit[i] = c.gen.Int63n(c.n)
	}
	return unit
}
