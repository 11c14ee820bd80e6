// Package random has the generator of dynamic mode and the functions that draw from it. The
// generator is Philox. Its state can be printed, saved and set, in DALI's form.
//
//	g := random.New(42)
//	v := g.Uint32()
//	saved := g.State().String() // "Philox_000000000000002A_0000000000000000:0000000000000000_1"
//	other, err := random.FromState(saved)
//
//	angle := random.Uniform(ctx, g, random.UniformArgs{Range: op.Const([]float64{-10, 10})})
//	angles := random.UniformBatch(ctx, g, 64, random.UniformArgs{Range: op.Const([]float64{-10, 10})})
//
// A seed gives the same numbers as DALI's dynamic.random.RNG, and a function draws the same numbers
// as DALI's function. A call takes rng.ForkWords numbers, for any size of its batch. They are the
// state of a new generator. Sample i of the batch draws i*65537 sequences further on.
//
// # Generators and contexts
//
// There is no global generator. A function draws from the generator that it is given. If it is nil,
// the function draws from the generator of its context, [From]: the generator of [With], or else
// the generator of the EvalContext, whose seed is random. With(ctx, New(seed)) is DALI's set_seed.
//
// The functions of operators are generated from the schemas, together with dynamic/fn.
package random

import (
	"fmt"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng"
)

// State is the state of a generator. States of the same place are equal by ==. The text of a State
// has DALI's form: key, sequence, block and phase.
type State struct{ philox rng.Philox }

// String returns the 59 characters of the state.
func (s State) String() string { return s.philox.String() }

// MarshalText returns the same as String.
func (s State) MarshalText() ([]byte, error) { return s.philox.MarshalText() }

// UnmarshalText reads a text of String. It fails with errs.Invalid for other texts, and then does
// not change s.
func (s *State) UnmarshalText(text []byte) error { return s.philox.UnmarshalText(text) }

// ParseState reads a text of State.String. It fails with errs.Invalid for other texts.
func ParseState(text string) (State, error) {
	p, err := rng.ParsePhilox(text)
	return State{p}, err
}

// RNG draws random numbers. It is safe for concurrent use, but the numbers are reproducible only if
// goroutines draw in a fixed order. An RNG must not be copied; use Clone.
type RNG struct {
	mu     sync.Mutex
	philox rng.Philox
}

// New returns a generator at the beginning of a seed's numbers.
func New(seed uint64) *RNG { return &RNG{philox: rng.NewPhilox(seed, 0, 0)} }

// FromState returns a generator with the given state, which is a State or its text.
func FromState(state any) (*RNG, error) {
	g := &RNG{}
	return g, g.SetState(state)
}

// Uint32 returns the next number.
func (g *RNG) Uint32() uint32 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.philox.Uint32()
}

// Draw draws rng.ForkWords numbers and returns the generator that they define, for one call of an
// operator.
func (g *RNG) Draw() rng.Philox {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.philox.Fork()
}

// Advance skips n numbers in constant time.
func (g *RNG) Advance(n uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.philox.Skip(n)
}

// Clone returns an independent generator at the same place.
func (g *RNG) Clone() *RNG {
	g.mu.Lock()
	defer g.mu.Unlock()
	return &RNG{philox: g.philox}
}

// Place returns the place of g as a generator. Equal places are equal by ==.
func (g *RNG) Place() rng.Philox {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.philox.Canonical()
}

// Move moves g to a place.
func (g *RNG) Move(place rng.Philox) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.philox = place
}

// State returns the state of g.
func (g *RNG) State() State { return State{g.Place()} }

// GetState returns g.State(), so that a checkpoint can hold an *RNG.
func (g *RNG) GetState() (any, error) { return g.State(), nil }

// SetState moves g to a state: a State, or its text as a string or bytes. It fails with
// errs.Invalid for other texts and with errs.Mismatch for other values; then g does not move.
func (g *RNG) SetState(state any) error {
	var p rng.Philox
	var err error
	switch s := state.(type) {
	case State:
		p = s.philox
	case string:
		p, err = rng.ParsePhilox(s)
	case []byte:
		p, err = rng.ParsePhilox(string(s))
	default:
		err = &errs.Error{Kind: errs.Mismatch, Op: "RNG.SetState", Want: "a random.State or its text",
			Got: fmt.Sprintf("%T", state)}
	}
	if err == nil {
		g.Move(p)
	}
	return err
}
