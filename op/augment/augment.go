// Package augment holds the operators of automatic augmentation: each sample takes augmentations
// that are drawn from a suite or from a policy.
//
// One operator draws and applies, so that a sample costs what its augmentations cost. Its random
// numbers are the numbers of the sample's place in the stream. The augmentations compute what the
// operators brightness, contrast, saturation, filter, equalize, warp_affine and rotate compute.
//
// # Suites
//
// A suite is a list of texts. A text has the name of an augmentation and, if it has a magnitude,
// the range of the magnitude:
//
//	"equalize"
//	"rotate 0 30 signed"		// half of the samples take the negative angle
//	"posterize 8 4 whole"		// the distance from 8 is truncated to an integer
//	"shear_x 0 0.3 signed single"	// the magnitudes are computed in float32, as torchvision does
//
// num_magnitude_bins bins divide the range evenly. With "signed", brightness, contrast, color and
// sharpness multiply by 1 plus the magnitude, otherwise by the magnitude.
//
// A program makes functions of its own known by [Register]. Images have one channel or three, and
// any number if the suite has only shears, translations, rotations and own functions. color leaves
// gray images as they are.
//
// # Policies
//
// A policy is a list of texts, too. A text is a sub-policy: augmentations of the suite, each with a
// probability and a bin:
//
//	"posterize 0.4 6; auto_contrast 0.4"
//
//go:generate go test -run TestPythonTables -update .
package augment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// scheme says how the augmentations of a sample are drawn.
type scheme uint8

const (
	random  scheme = iota // n augmentations of the suite, with one magnitude
	trivial               // one augmentation, with any magnitude
	learned               // a sub-policy
)

const wantImages = "pictures or sequences: uint8 of layout HWC or FHWC"

// drawn are the parameters by which the operators without random numbers get their draws, in the
// order of the operators that draw them.
var drawn = []op.Parameter{
	{Name: "operations", Type: op.Ints, PerSample: true, Doc: "The augmentations, by their numbers in the suite."},
	{Name: "magnitudes", Type: op.Floats, PerSample: true, Doc: "The bins."},
	{Name: "runs", Type: op.Floats, PerSample: true, Doc: "A number from 0 to 1 for each step, which takes place if it is below its probability."},
	{Name: "sub_policy", Type: op.Int, PerSample: true, Doc: "The sub-policy."},
	{Name: "signs", Type: op.Ints, PerSample: true, Doc: "For each step, whether its magnitude is negative."},
}

func init() {
	register("rand_augment",
		"Applies n augmentations to each image, one after the other. Each is drawn from a suite; all have the magnitude m "+
			"(RandAugment).", random, []op.Parameter{
			{Name: "excluded", Type: op.Strings, Default: []string{}, Doc: "Names of augmentations that the suite shall not have."},
			{Name: "m", Type: op.Float, Required: true, Doc: "The bin of all magnitudes: a number from 0 to num_magnitude_bins - 1."},
			{Name: "magnitude_deviation", Type: op.Float, Default: 0.0,
				Doc: "Standard deviation of the bins. Each step draws its bin from a normal distribution around m."},
			{Name: "monotonic_mag", Type: op.Bool, Default: true,
				Doc: "Whether a larger bin always changes an image more; otherwise the suite has the ranges of auto_augment."},
			{Name: "n", Type: op.Int, Required: true, Doc: "The number of augmentations: 0 or more."},
			{Name: "num_magnitude_bins", Type: op.Int, Default: 31, Doc: "The number of bins."},
			{Name: "probability", Type: op.Float, Default: 1.0, Doc: "The probability that a step takes place."},
		})
	register("trivial_augment_wide",
		"Applies one augmentation to each image. It and its magnitude are drawn (TrivialAugment, wide).", trivial,
		[]op.Parameter{
			{Name: "excluded", Type: op.Strings, Default: []string{}, Doc: "Names of augmentations that the suite shall not have."},
			{Name: "num_magnitude_bins", Type: op.Int, Default: 31, Doc: "The number of bins."},
		})
	register("auto_augment",
		"Applies a sub-policy to each image: augmentations with their probabilities and magnitudes (AutoAugment).", learned,
		[]op.Parameter{
			{Name: "num_magnitude_bins", Type: op.Int, Default: policyBins, Doc: "The number of bins."},
			{Name: "policy", Type: op.Strings, Default: []string{},
				Doc: `A policy, in place of policy_name: its sub-policies, such as "posterize 0.4 6; auto_contrast 0.4". An augmentation of the suite is followed by its probability and its bin.`},
			{Name: "policy_name", Type: op.String, Default: "image_net",
				Doc: `The policy: "image_net", "reduced_image_net", "reduced_cifar10" or "svhn".`},
		})
}

// register registers an operator twice: with random numbers, and as an operator that gets its
// draws.
func register(name, doc string, how scheme, own []op.Parameter) {
	params := append(slices.Clone(own),
		op.Parameter{Name: "augmentations", Type: op.Strings, Default: []string{},
			Doc: `The suite: augmentations with the ranges of their magnitudes, such as "rotate 0 30 signed". ` +
				`By default it is the suite of the publication.`},
		op.Parameter{Name: "clamp", Type: op.Bool, Default: false,
			Doc: "Whether the pixels at the border are repeated outside of an image, in place of fill_value."},
		op.Parameter{Name: "fill_value", Type: op.Floats, Default: []float64{128},
			Doc: "Value outside of an image that is warped: one for all channels, or one for each."},
		op.Parameter{Name: "interp_type", Type: op.Interp, Default: op.InterpLinear,
			Doc: `INTERP_LINEAR or INTERP_NN; with the pixels "truncated" also INTERP_CUBIC.`},
		op.Parameter{Name: "max_translate_abs", Type: op.Floats, Default: []float64{},
			Doc: "The longest translation in pixels: one number, or one for the height and one for the width."},
		op.Parameter{Name: "max_translate_rel", Type: op.Floats, Default: []float64{},
			Doc: "The longest translation as a share of the height and width: one number, or one for each."},
		op.Parameter{Name: "pixels", Type: op.String, Default: "rounded",
			Doc: `How pixels are computed: "rounded" as by the operators of the same names, or "truncated" as by Pillow.`},
		op.Parameter{Name: "shape", Type: op.Ints, PerSample: true,
			Doc: "Height and width that translations are shares of; by default the extents of the image."},
	)
	byName := func(a, b op.Parameter) int { return strings.Compare(a.Name, b.Name) }
	s := op.Schema{
		Name: name, Doc: doc,
		Inputs:    []op.Port{{Name: "images", Doc: wantImages, DTypes: []tensor.DType{tensor.Uint8}, Layouts: []string{"HWC", "FHWC"}}},
		Outputs:   []op.Port{{Name: "augmented", Doc: "images of the same shape"}},
		Precision: op.Tolerance,
		Random:    true,
		New:       func(c *op.Config) (op.Kernel, error) { return newKernel(c, how) },
	}
	s.Params = slices.SortedFunc(slices.Values(append(slices.Clone(params),
		op.Parameter{Name: "seed", Type: op.Int, Default: -1,
			Doc: "Seed of this operator; -1: the pipeline's seed."})), byName)
	op.Register(s)
	s.Module, s.Random = []string{"_augment"}, false
	s.Params = append(slices.Clone(drawn), slices.SortedFunc(slices.Values(params), byName)...)
	op.Register(s)
}

// style says how pixels are computed.
type style struct {
	border    border
	nearest   bool
	cubic     bool
	truncated bool
}

// augment is the kernel.
type augment struct {
	config      *op.Config
	how         scheme
	suite       []augmentation
	policy      policy
	n, bins     int
	level       float64 // m
	deviation   float64
	probability float32
	style       style
	fill        []byte // outside of an image: one, or one for each channel
	shape       op.Vector[int]
	shaped      bool
	draws       // if the draws are arguments
}

func newKernel(c *op.Config, how scheme) (op.Kernel, error) {
	k, err := newAugment(c, how)
	if err == nil {
		err = k.draws.check(k)
	}
	if err != nil {
		return nil, err
	}
	return op.Each(k), nil
}

func newAugment(c *op.Config, how scheme) (*augment, error) {
	k := &augment{config: c, how: how, bins: op.Get[int](c, "num_magnitude_bins"), n: 1, probability: 1,
		shape: op.GetVector[int](c, "shape"), shaped: c.Has("shape"), draws: newDraws(c)}
	if k.bins < 1 || k.bins > 1<<20 {
		return nil, c.Invalid("num_magnitude_bins", fmt.Sprintf("1 to %d", 1<<20), fmt.Sprint(k.bins), "")
	}
	if err := k.readStyle(); err != nil {
		return nil, err
	}
	if err := k.readSuite(); err != nil {
		return nil, err
	}
	var err error
	switch how {
	case random:
		err = k.readRandom()
	case learned:
		err = k.readPolicy()
	}
	return k, err
}

func (k *augment) readRandom() error {
	c := k.config
	k.n, k.level, k.deviation = op.Get[int](c, "n"), op.Get[float64](c, "m"), op.Get[float64](c, "magnitude_deviation")
	k.probability = float32(op.Get[float64](c, "probability"))
	switch {
	case k.n < 0 || k.n > 1<<10:
		return c.Invalid("n", fmt.Sprintf("0 to %d", 1<<10), fmt.Sprint(k.n), "")
	case !(k.level >= 0 && k.level <= float64(k.bins-1)):
		return c.Invalid("m", fmt.Sprintf("a number from 0 to num_magnitude_bins - 1, which is %d", k.bins-1),
			fmt.Sprint(k.level), "")
	case !(k.deviation >= 0 && k.deviation <= math.MaxFloat32):
		return c.Invalid("magnitude_deviation", "0 or more", fmt.Sprint(k.deviation), "")
	case !(k.probability >= 0 && k.probability <= 1):
		return c.Invalid("probability", "a number from 0 to 1", fmt.Sprint(k.probability), "")
	}
	return nil
}

func (k *augment) readPolicy() error {
	c := k.config
	texts, name := op.Get[[]string](c, "policy"), op.Get[string](c, "policy_name")
	if c.Given("policy") && c.Given("policy_name") {
		return c.Invalid("policy", "policy or policy_name", "both", "leave one out")
	}
	argument := "policy"
	if !c.Given("policy") {
		argument = "policy_name"
		known := slices.Sorted(maps.Keys(policies))
		var ok bool
		if texts, ok = policies[name]; !ok {
			return c.Invalid(argument, strings.Join(known, ", "), fmt.Sprintf("%q", name), errs.DidYouMean(name, known))
		}
		if name == "reduced_image_net" && (k.shaped || c.Given("max_translate_abs") || c.Given("max_translate_rel")) {
			return c.Invalid(argument, "a policy that translates, with shape, max_translate_abs or max_translate_rel", name,
				"leave these arguments out")
		}
	}
	if len(texts) == 0 {
		return c.Invalid(argument, "at least one sub-policy", "none", "")
	}
	var err error
	if k.policy, err = parsePolicy(texts, k.suite, k.bins); err != nil {
		return errs.Wrap(c.Schema.FullName(), "node "+c.Node+", argument "+argument, err)
	}
	return nil
}

// limits are the longest translations by default: in pixels, and as shares.
var limits = [...][2]float64{random: {100, 100. / 224}, trivial: {32, 1}, learned: {250, 1}}

// readSuite makes the suite.
func (k *augment) readSuite() error {
	c := k.config
	texts := op.Get[[]string](c, "augmentations")
	own := c.Given("augmentations")
	if own {
		for _, name := range []string{"max_translate_abs", "max_translate_rel", "monotonic_mag"} {
			if c.Given(name) {
				return c.Invalid(name, "the suite of the operator", "augmentations, too", "put the ranges into augmentations")
			}
		}
	} else {
		t, err := k.translations()
		if err != nil {
			return err
		}
		rest := wideSuite
		switch {
		case k.how == learned:
			rest = policySuite
		case k.how == random && op.Get[bool](c, "monotonic_mag"):
			rest = randSuite
		case k.how == random:
			rest = unevenSuite
		}
		texts = append(t.entries(), rest...)
	}
	suite, err := parseSuite(texts)
	if err != nil {
		return errs.Wrap(c.Schema.FullName(), "node "+c.Node+", argument augmentations", err)
	}
	var excluded []string
	if k.how != learned {
		excluded = op.Get[[]string](c, "excluded")
	}
	all := make([]string, len(suite))
	for i := range suite {
		all[i] = suite[i].name()
	}
	for _, name := range excluded {
		if !slices.Contains(all, name) {
			return c.Invalid("excluded", "names of the suite: "+strings.Join(all, ", "), fmt.Sprintf("%q", name),
				errs.DidYouMean(name, all))
		}
	}
	k.suite = slices.DeleteFunc(suite, func(a augmentation) bool { return slices.Contains(excluded, a.name()) })
	if len(k.suite) == 0 {
		return c.Invalid("augmentations", "at least one augmentation that is not excluded", "none", "")
	}
	return nil
}

// translations reads the longest translations.
func (k *augment) translations() (t translations, err error) {
	c := k.config
	absolute, relative := c.Given("max_translate_abs"), c.Given("max_translate_rel")
	switch {
	case absolute && relative:
		return t, c.Invalid("max_translate_rel", "max_translate_abs or max_translate_rel", "both", "leave one out")
	case absolute && k.shaped:
		return t, c.Invalid("max_translate_abs", "no shape, because translations in pixels do not depend on it", "a shape",
			"use max_translate_rel")
	}
	t.pixels = !relative && !k.shaped
	name, standard := "max_translate_rel", limits[k.how][1]
	if t.pixels {
		name, standard = "max_translate_abs", limits[k.how][0]
	}
	v := op.Get[[]float64](c, name)
	switch {
	case !c.Given(name):
		v = []float64{standard, standard}
	case len(v) == 1:
		v = []float64{v[0], v[0]}
	case len(v) != 2:
		return t, c.Invalid(name, "one number, or two for height and width", fmt.Sprint(v), "")
	}
	for _, x := range v {
		if !(math.Abs(x) <= math.MaxFloat32) {
			return t, c.Invalid(name, "finite numbers", fmt.Sprint(v), "")
		}
	}
	t.y, t.x = v[0], v[1]
	return t, nil
}

// readStyle reads how pixels are computed.
func (k *augment) readStyle() error {
	c := k.config
	switch pixels := op.Get[string](c, "pixels"); pixels {
	case "rounded":
	case "truncated":
		k.style.truncated = true
	default:
		return c.Invalid("pixels", `"rounded" or "truncated"`, fmt.Sprintf("%q", pixels), errs.DidYouMean(pixels,
			[]string{"rounded", "truncated"}))
	}
	switch t := op.Get[op.InterpType](c, "interp_type"); {
	case t == op.InterpNN:
		k.style.nearest = true
	case t == op.InterpCubic && k.style.truncated:
		k.style.cubic = true
	case t != op.InterpLinear:
		return c.Unsupported("interp_type", "INTERP_LINEAR or INTERP_NN", t.String())
	}
	k.style.border.clamp = op.Get[bool](c, "clamp")
	if k.style.border.clamp && (k.style.truncated || c.Given("fill_value")) {
		return c.Invalid("clamp", `no fill_value, and the pixels "rounded"`, "one of them", "leave clamp out")
	}
	fill := op.Get[[]float64](c, "fill_value")
	if len(fill) == 0 {
		return c.Invalid("fill_value", "one number, or one for each channel", "none", "")
	}
	for _, v := range fill {
		if math.IsNaN(v) {
			return c.Invalid("fill_value", "numbers", fmt.Sprint(fill), "")
		}
		k.fill = append(k.fill, op.Round[uint8](v))
	}
	for i := range k.style.border.fill {
		k.style.border.fill[i] = k.fill[i%len(k.fill)]
	}
	return nil
}

func (k *augment) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	s := in[0]
	got := s.DType.String() + s.Shape.String() + " " + s.Layout
	if s.DType != tensor.Uint8 {
		return nil, k.config.InvalidInput(0, wantImages, got, "augment before the images become floats, or cast them")
	}
	if s.Shape == nil {
		if s.Layout == "" {
			s.Layout = "HWC"
		}
		return []tensor.Spec{s}, nil
	}
	if err := k.checkImages(s.Shape, s.Layout); err != nil {
		return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node+", input 0", err)
	}
	if s.Layout == "" {
		s.Layout = map[int]string{3: "HWC", 4: "FHWC"}[len(s.Shape)]
	}
	return []tensor.Spec{s}, nil
}

// checkImages returns an error unless a sample can be augmented. An extent of -1 is not known yet.
func (k *augment) checkImages(shape tensor.Shape, layout string) error {
	n := len(shape)
	ok := n == 3 || n == 4
	if layout != "" && layout != "HWC" && layout != "FHWC" || layout != "" && len(layout) != n {
		ok = false
	}
	if ok {
		return k.checkChannels(shape[n-1])
	}
	return &errs.Error{Kind: errs.Invalid, Want: wantImages, Got: strings.TrimSpace(shape.String() + " " + layout)}
}
