package augment

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// kind is what an augmentation does.
type kind uint8

const (
	identity kind = iota
	shearX
	shearY
	translateX // by a share of the width
	translateY // by a share of the height
	translateXPixels
	translateYPixels
	rotate
	brightness
	contrast
	color
	sharpness
	posterize
	solarize
	solarizeAdd
	invert
	equalize
	autoContrast
	own // of a program, see Register
)

// kinds are the names of the kinds, with whether they have a magnitude.
var kinds = []struct {
	name   string
	ranged bool
}{
	{"identity", false}, {"shear_x", true}, {"shear_y", true}, {"translate_x", true}, {"translate_y", true},
	{"translate_x_pixels", true}, {"translate_y_pixels", true}, {"rotate", true}, {"brightness", true},
	{"contrast", true}, {"color", true}, {"sharpness", true}, {"posterize", true}, {"solarize", true},
	{"solarize_add", true}, {"invert", false}, {"equalize", false}, {"auto_contrast", false},
}

// augmentation is an entry of a suite: what it does, and the range of its magnitude.
type augmentation struct {
	kind   kind
	lo, hi float64
	signed bool // half of the samples take the negative magnitude
	whole  bool // the distance from lo is truncated to an integer
	single bool // magnitudes are computed in float32

	function *function // of own
}

// name is the name by which policies and excluded call an augmentation. Translations by a share and
// by pixels have one name.
func (a *augmentation) name() string {
	if a.kind == own {
		return a.function.name
	}
	return strings.TrimSuffix(kinds[a.kind].name, "_pixels")
}

// ranged reports whether an augmentation has a magnitude.
func (a *augmentation) ranged() bool {
	if a.kind == own {
		return a.function.ranged
	}
	return kinds[a.kind].ranged
}

func names() []string {
	list := make([]string, len(kinds))
	for i := range kinds {
		list[i] = kinds[i].name
	}
	return list
}

const wantAugmentation = "a name, and for a name with a magnitude the start and the end of its range, " +
	`as "rotate 0 30 signed"`

// parseAugmentation reads an entry of a suite: "equalize", "rotate 0 30 signed".
func parseAugmentation(text string) (augmentation, error) {
	bad := func(got, remedy string) error {
		return &errs.Error{Kind: errs.Invalid, Subject: strconv.Quote(text), Want: wantAugmentation, Got: got, Remedy: remedy}
	}
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return augmentation{}, bad("no name", "")
	}
	a, err := lookup(fields[0])
	if err != nil {
		var e *errs.Error
		errors.As(err, &e)
		return a, bad("the unknown name "+strconv.Quote(fields[0]), e.Remedy)
	}
	rest := fields[1:]
	if !a.ranged() {
		if len(rest) > 0 {
			return a, bad(fields[0]+", which has no magnitude, with a range", "leave the range out")
		}
		return a, nil
	}
	if len(rest) < 2 {
		return a, bad("no range", "")
	}
	for i, to := range []*float64{&a.lo, &a.hi} {
		v, err := strconv.ParseFloat(rest[i], 64)
		if err != nil || math.IsNaN(v) || math.Abs(v) > math.MaxFloat32 {
			return a, bad(rest[i]+" in the range", "")
		}
		*to = v
	}
	for _, word := range rest[2:] {
		switch word {
		case "signed":
			a.signed = true
		case "whole":
			a.whole = true
		case "single":
			a.single = true
		default:
			return a, bad("the unknown word "+strconv.Quote(word), errs.DidYouMean(word, []string{"signed", "whole", "single"}))
		}
	}
	if a.kind == solarizeAdd && (max(a.lo, a.hi) >= 128 || min(a.lo, a.hi) < 0 || a.signed) {
		return a, bad("another range than 0 to 127", "solarize_add adds 0 to less than 128")
	}
	return a, nil
}

// parseSuite reads a suite.
func parseSuite(list []string) ([]augmentation, error) {
	suite := make([]augmentation, len(list))
	for i, text := range list {
		var err error
		if suite[i], err = parseAugmentation(text); err != nil {
			return nil, err
		}
	}
	return suite, nil
}

// magnitude returns the magnitude of a bin: bins are spread evenly over the range, from its start
// to its end. A level that is not an integer lies between two bins.
func (a *augmentation) magnitude(level float64, bins int) float64 {
	if bins == 1 {
		return a.lo
	}
	last := float64(bins - 1)
	if a.whole && a.kind != translateX && a.kind != translateY { // those are shares of an extent that is not known here
		return a.lo + math.Trunc((a.hi-a.lo)*(level/last))
	}
	if a.single {
		return a.spread(level, bins)
	}
	if level == last {
		return a.hi
	}
	return float64(level*((a.hi-a.lo)/last)) + a.lo
}

// spread is magnitude in float32, from both ends of the range. Thresholds are shares of 255.
func (a *augmentation) spread(level float64, bins int) float64 {
	unit := 1.0
	if a.kind == solarize {
		unit = 255
	}
	lo, hi := float32(a.lo/unit), float32(a.hi/unit)
	step := (hi - lo) / float32(bins-1)
	v := float64(lo) + float64(float64(step)*level) // rounded once
	if level >= float64(bins/2) {
		v = float64(hi) - float64(float64(step)*(float64(bins-1)-level))
	}
	return float64(float32(v)) * unit
}

// translations are the limits of the translations of a suite, in pixels or as shares.
type translations struct {
	y, x   float64
	pixels bool
}

func (t translations) entries() []string {
	unit := ""
	if t.pixels {
		unit = "_pixels"
	}
	return []string{fmt.Sprintf("translate_x%s 0 %v signed", unit, t.x), fmt.Sprintf("translate_y%s 0 %v signed",
		unit, t.y)}
}

// The suites of RandAugment and TrivialAugment without their translations, which come first.
var (
	randSuite = []string{
		"shear_x 0 0.3 signed", "shear_y 0 0.3 signed", "rotate 0 30 signed", "brightness 0 0.9 signed",
		"contrast 0 0.9 signed", "color 0 0.9 signed", "sharpness 0 0.9 signed", "posterize 8 4", "solarize 256 0",
		"equalize", "auto_contrast", "identity",
	}
	unevenSuite = []string{
		"shear_x 0 0.3 signed", "shear_y 0 0.3 signed", "rotate 0 30 signed", "brightness 0.1 1.9", "contrast 0.1 1.9",
		"color 0.1 1.9", "sharpness 0.1 1.9", "posterize 0 4", "solarize 0 256", "equalize", "auto_contrast", "identity",
	}
	wideSuite = []string{
		"shear_x 0 0.99 signed", "shear_y 0 0.99 signed", "rotate 0 135 signed", "brightness 0.01 0.99 signed",
		"contrast 0.01 0.99 signed", "color 0.01 0.99 signed", "sharpness 0.01 0.99 signed", "posterize 8 2",
		"solarize 256 0", "equalize", "auto_contrast", "identity",
	}
	policySuite = []string{
		"shear_x 0 0.3 signed", "shear_y 0 0.3 signed", "rotate 0 30 signed", "brightness 0.1 1.9", "contrast 0.1 1.9",
		"color 0.1 1.9", "sharpness 0.1 1.9", "posterize 0 4", "solarize 0 256", "solarize_add 0 110", "invert",
		"equalize", "auto_contrast", "identity",
	}
)
