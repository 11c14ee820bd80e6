package augment

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
)

// step is an augmentation that a sample takes.
type step struct {
	*augmentation
	magnitude float64
}

// draws are the draws of the operators that draw no random numbers.
type draws struct {
	given                 bool
	operations, signs     op.Vector[int]
	magnitudes, runs      op.Vector[float64]
	subPolicy             op.Scalar[int]
	hasMagnitudes, hasRun bool
	hasSigns              bool
}

func newDraws(c *op.Config) draws {
	return draws{
		given:      !c.Schema.Random,
		operations: op.GetVector[int](c, "operations"), signs: op.GetVector[int](c, "signs"),
		magnitudes: op.GetVector[float64](c, "magnitudes"), runs: op.GetVector[float64](c, "runs"),
		subPolicy:     op.GetScalar[int](c, "sub_policy"),
		hasMagnitudes: c.Has("magnitudes"), hasRun: c.Has("runs"), hasSigns: c.Has("signs"),
	}
}

// check returns an error unless the draws that a scheme needs are there.
func (d *draws) check(k *augment) error {
	if !d.given {
		return nil
	}
	need := slices.Clone(map[scheme][]string{random: {"operations"}, trivial: {"operations", "magnitudes"},
		learned: {"runs", "sub_policy"}}[k.how])
	if k.signed() {
		need = append(need, "signs")
	}
	for _, name := range need {
		if !k.config.Has(name) {
			return k.config.Invalid(name, "the draws", "no value", "the argument is required")
		}
	}
	return nil
}

// signed reports whether an augmentation has a signed magnitude.
func (k *augment) signed() bool {
	if k.how == learned {
		return k.policy.signed
	}
	return slices.ContainsFunc(k.suite, func(a augmentation) bool { return a.signed })
}

// Draws says which random numbers a sample needs: how many augmentations there are to choose from,
// or sub-policies, how many steps a sample takes at most, and whether steps have magnitudes and
// signs.
type Draws struct {
	Choices, Steps int
	Ranged, Signed bool
}

// DrawsOf returns the draws of rand_augment, trivial_augment_wide or auto_augment with constant
// arguments.
func DrawsOf(operator string, args op.Args) (Draws, error) {
	s, err := op.Lookup(operator)
	if err != nil {
		return Draws{}, err
	}
	name, set, err := op.Arguments(args)
	if err != nil {
		return Draws{}, err
	}
	if name == "" {
		name = operator
	}
	c, _, err := op.Resolve(s, name, 1, set)
	if err != nil {
		return Draws{}, err
	}
	how, ok := map[string]scheme{"rand_augment": random, "trivial_augment_wide": trivial,
		"auto_augment": learned}[operator]
	if !ok {
		return Draws{}, &errs.Error{Kind: errs.Invalid, Op: "augment.DrawsOf", Subject: operator,
			Want: "an operator of automatic augmentation", Got: "another operator"}
	}
	k, err := newAugment(c, how)
	if err != nil {
		return Draws{}, err
	}
	if how == learned {
		return Draws{len(k.policy.subs), k.policy.longest, true, k.policy.signed}, nil
	}
	ranged := slices.ContainsFunc(k.suite, func(a augmentation) bool { return a.ranged() })
	return Draws{len(k.suite), k.n, ranged, k.signed()}, nil
}

// room is a worker's memory for arguments.
type room struct {
	operations, signs, shape []int
	magnitudes, runs         []float64
}

// negative reports whether step i has the negative magnitude.
func (r *room) negative(i int) bool { return i < len(r.signs) && r.signs[i] != 0 }

// read reads the arguments of a sample.
func (d *draws) read(b *op.Block, s int, r *room) (sub int, err error) {
	for _, v := range []struct {
		from op.Vector[int]
		to   *[]int
	}{{d.operations, &r.operations}, {d.signs, &r.signs}} {
		if *v.to, err = v.from.At(b, s, *v.to); err != nil {
			return 0, err
		}
	}
	for _, v := range []struct {
		from op.Vector[float64]
		to   *[]float64
	}{{d.magnitudes, &r.magnitudes}, {d.runs, &r.runs}} {
		if *v.to, err = v.from.At(b, s, *v.to); err != nil {
			return 0, err
		}
	}
	return d.subPolicy.At(b, s)
}

func badDraw(argument, want string, got any) error {
	return &errs.Error{Kind: errs.Invalid, Subject: "argument " + argument, Want: want, Got: fmt.Sprint(got)}
}

// plan appends the steps of a sample to p.steps.
func (k *augment) plan(b *op.Block, s int, p *painter) error {
	p.steps = p.steps[:0]
	if k.given {
		return k.planGiven(b, s, p)
	}
	stream := b.RNG(s)
	if k.how == learned {
		g := rng.Element(stream, 0)
		sub := k.policy.subs[rng.Index(&g, uint32(len(k.policy.subs)))]
		for i := range sub {
			g := rng.Element(stream, i+1)
			if run, sign := rng.Uniform32(&g, 0, 1), rng.Index(&g, 2); run < sub[i].probability {
				k.add(p, &sub[i].augmentation, float64(sub[i].bin), sign == 1)
			}
		}
		return nil
	}
	for i := range k.n {
		g := rng.Element(stream, i)
		a := &k.suite[rng.Index(&g, uint32(len(k.suite)))]
		negative, run := rng.Index(&g, 2) == 1, rng.Uniform32(&g, 0, 1)
		level := k.level
		if k.how == trivial {
			level = float64(rng.Index(&g, uint32(k.bins)))
		} else if k.deviation > 0 {
			level += float64(k.deviation * g.Normal())
			level = min(max(level, 0), float64(k.bins-1))
		}
		if run < k.probability {
			k.add(p, a, level, negative)
		}
	}
	return nil
}

// planGiven takes the draws from arguments.
func (k *augment) planGiven(b *op.Block, s int, p *painter) error {
	r := &p.room
	sub, err := k.read(b, s, r)
	if err != nil {
		return err
	}
	if k.how == learned {
		if sub < 0 || sub >= len(k.policy.subs) {
			return badDraw("sub_policy", fmt.Sprintf("a number from 0 to %d", len(k.policy.subs)-1), sub)
		}
		stages := k.policy.subs[sub]
		if len(r.runs) < len(stages) || k.hasSigns && len(r.signs) < len(stages) {
			return badDraw("runs and signs", fmt.Sprintf("%d numbers each", len(stages)), fmt.Sprintf("%d and %d",
				len(r.runs), len(r.signs)))
		}
		for i := range stages {
			if float32(r.runs[i]) < stages[i].probability {
				k.add(p, &stages[i].augmentation, float64(stages[i].bin), r.negative(i))
			}
		}
		return nil
	}
	if len(r.operations) != k.n || k.hasSigns && len(r.signs) != k.n || k.hasMagnitudes && len(r.magnitudes) != k.n ||
		k.hasRun && len(r.runs) != k.n {
		return badDraw("operations, signs, magnitudes and runs", fmt.Sprintf("%d numbers each", k.n),
			fmt.Sprintf("%d, %d, %d and %d", len(r.operations), len(r.signs), len(r.magnitudes), len(r.runs)))
	}
	for i, o := range r.operations {
		if o < 0 || o >= len(k.suite) {
			return badDraw("operations", fmt.Sprintf("numbers from 0 to %d", len(k.suite)-1), o)
		}
		level := k.level
		if k.hasMagnitudes {
			if level = r.magnitudes[i]; !(level >= 0 && level <= float64(k.bins-1)) {
				return badDraw("magnitudes", fmt.Sprintf("numbers from 0 to %d", k.bins-1), level)
			}
		}
		if !k.hasRun || float32(r.runs[i]) < k.probability {
			k.add(p, &k.suite[o], level, r.negative(i))
		}
	}
	return nil
}

// add appends a step.
func (k *augment) add(p *painter, a *augmentation, level float64, negative bool) {
	if a.kind == identity {
		return
	}
	m := a.magnitude(level, k.bins)
	if !k.style.truncated {
		m = float64(float32(m))
	}
	if a.signed && negative {
		m = -m
	}
	p.steps = append(p.steps, step{a, m})
}
