package dali

import (
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/augment"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// AugmentArgs are the arguments that the functions of nvidia.dali.auto_aug share. The zero value of
// a field is DALI's default.
type AugmentArgs struct {
	// Shape has the height and width that translations are shares of. Without it they are in pixels.
	Shape op.Arg[[]int]
	// FillValue is the value outside of an image, 128 by default. Clamp repeats the pixels at the
	// border in its place, as fill_value=None does.
	FillValue  op.Arg[int]
	Clamp      bool
	InterpType op.Arg[op.InterpType] // INTERP_LINEAR by default
	// MaxTranslateAbs and MaxTranslateRel are the longest translations, without and with Shape: one
	// number, or one for the height and one for the width.
	MaxTranslateAbs, MaxTranslateRel []float64
	Seed                             op.Arg[int] // of all random numbers
	// Augmentations is the suite, as package op/augment describes it. By default it is DALI's.
	Augmentations []string
}

// RandAugmentArgs are the arguments of RandAugment.
type RandAugmentArgs struct {
	N, M             int
	NumMagnitudeBins int // 31 by default
	NonMonotonic     bool
	Excluded         []string
	AugmentArgs
}

// TrivialAugmentArgs are the arguments of TrivialAugmentWide.
type TrivialAugmentArgs struct {
	NumMagnitudeBins int // 31 by default
	Excluded         []string
	AugmentArgs
}

// AutoAugmentArgs are the arguments of AutoAugment. Policy, in place of PolicyName, has
// sub-policies as package op/augment describes them.
type AutoAugmentArgs struct {
	PolicyName       string // "image_net" by default
	Policy           []string
	NumMagnitudeBins int // 11 by default
	AugmentArgs
}

// RandAugment is nvidia.dali.auto_aug.rand_augment: it appends the random operators that DALI
// appends, and one operator that applies what they draw. So the images are DALI's. A policy of
// DALI is many operators; their names and conditions are not in the graph.
func RandAugment(b *pipeline.Builder, images pipeline.Node, a RandAugmentArgs) pipeline.Node {
	args := op.Args{"n": a.N, "m": a.M, "monotonic_mag": !a.NonMonotonic}
	if len(a.Augmentations) > 0 && !a.NonMonotonic {
		delete(args, "monotonic_mag")
	}
	return automatic(b, "rand_augment", images, a.AugmentArgs, args, a.NumMagnitudeBins, a.Excluded)
}

// TrivialAugmentWide is nvidia.dali.auto_aug.trivial_augment_wide; see [RandAugment].
func TrivialAugmentWide(b *pipeline.Builder, images pipeline.Node, a TrivialAugmentArgs) pipeline.Node {
	return automatic(b, "trivial_augment_wide", images, a.AugmentArgs, op.Args{}, a.NumMagnitudeBins, a.Excluded)
}

// AutoAugment is nvidia.dali.auto_aug.auto_augment; see [RandAugment].
func AutoAugment(b *pipeline.Builder, images pipeline.Node, a AutoAugmentArgs) pipeline.Node {
	args := op.Args{}
	if a.PolicyName != "" {
		args["policy_name"] = a.PolicyName
	}
	if len(a.Policy) > 0 {
		args["policy"] = a.Policy
	}
	return automatic(b, "auto_augment", images, a.AugmentArgs, args, a.NumMagnitudeBins, nil)
}

// automatic appends the draws of an operator of automatic augmentation, in DALI's order, and the
// operator that applies them.
func automatic(b *pipeline.Builder, operator string, images pipeline.Node, a AugmentArgs, args op.Args, bins int,
	excluded []string) pipeline.Node {
	if bins != 0 {
		args["num_magnitude_bins"] = bins
	}
	if len(excluded) > 0 {
		args["excluded"] = excluded
	}
	if err := a.set(args); err != nil {
		b.Fail(errs.Wrap(operator, "", err))
		return pipeline.Node{}
	}
	shape, shaped := args["shape"]
	if _, node := shape.(op.Value); node {
		args["shape"] = []int{1, 1} // the draws do not depend on it
	}
	d, err := augment.DrawsOf(operator, args)
	if err != nil {
		b.Fail(err)
		return pipeline.Node{}
	}
	if shaped {
		args["shape"] = shape
	}
	draw := func(list bool, of op.Args) pipeline.Node {
		if seed, ok := a.Seed.Argument(); ok {
			of["seed"] = seed.Const
		}
		if list {
			of["shape"] = []int{d.Steps}
		}
		return b.Op("random.uniform", of)[0]
	}
	// number draws numbers below n. DALI leaves out the operator that chooses among one.
	number := func(list bool, n int) any {
		if n == 1 {
			return make([]int, max(d.Steps, 1))
		}
		return draw(list, op.Args{"values": upTo(n), "dtype": tensor.Int32})
	}
	switch operator {
	case "rand_augment":
		if d.Steps == 0 {
			return images
		}
		args["operations"] = number(d.Steps > 1, d.Choices)
		if d.Signed {
			args["signs"] = number(d.Steps > 1, 2)
		}
	case "trivial_augment_wide":
		if bins == 0 {
			bins = 31
		}
		if args["magnitudes"] = []float64{0}; d.Ranged {
			args["magnitudes"] = number(false, bins)
		}
		if d.Signed {
			args["signs"] = number(false, 2)
		}
		args["operations"] = number(false, d.Choices)
	case "auto_augment":
		args["runs"] = draw(true, op.Args{"range": []float64{0, 1}, "dtype": tensor.Float32})
		args["sub_policy"] = draw(false, op.Args{"values": upTo(d.Choices), "dtype": tensor.Int32})
		if d.Signed {
			args["signs"] = number(true, 2)
		}
	}
	return b.Op("_augment."+operator, args, images)[0]
}

// upTo returns the numbers below n.
func upTo(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i)
	}
	return values
}

// set sets the arguments that were given.
func (a *AugmentArgs) set(args op.Args) error {
	shape, shaped := a.Shape.Argument()
	switch {
	case shaped && shape.From != nil:
		args["shape"] = shape.From
	case shaped:
		args["shape"] = shape.Const
	case len(a.MaxTranslateRel) > 0:
		return &errs.Error{Kind: errs.Invalid, Subject: "argument MaxTranslateRel",
			Want: "a Shape, of which translations are shares",
			Got:  "no Shape", Remedy: "set Shape, or use MaxTranslateAbs"}
	}
	if fill, ok := a.FillValue.Argument(); ok {
		args["fill_value"] = fill.Const
	}
	if interp, ok := a.InterpType.Argument(); ok {
		args["interp_type"] = interp.Const
	}
	if a.Clamp {
		args["clamp"] = true
	}
	for name, v := range map[string][]float64{"max_translate_abs": a.MaxTranslateAbs,
		"max_translate_rel": a.MaxTranslateRel} {
		if len(v) > 0 {
			args[name] = v
		}
	}
	if len(a.Augmentations) > 0 {
		args["augmentations"] = a.Augmentations
	}
	return nil
}
