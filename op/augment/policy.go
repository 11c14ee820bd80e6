package augment

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// stage is one augmentation of a sub-policy.
type stage struct {
	augmentation augmentation
	probability  float32
	bin          int
}

// policy is a list of sub-policies. A sample takes one of them.
type policy struct {
	subs    [][]stage
	longest int
	signed  bool // a stage has a signed magnitude
}

const wantStage = `a name, a probability and, for a name with a magnitude, a bin, as "rotate 0.7 2"`

// parsePolicy reads a policy. Each text is a sub-policy: stages with ";" between them.
func parsePolicy(texts []string, suite []augmentation, bins int) (policy, error) {
	var p policy
	for i, text := range texts {
		var sub []stage
		for part := range strings.SplitSeq(text, ";") {
			s, err := parseStage(part, suite, bins)
			if err != nil {
				return p, errs.Wrap("", fmt.Sprintf("sub-policy %d, %q", i, text), err)
			}
			p.signed = p.signed || s.augmentation.signed
			sub = append(sub, s)
		}
		p.subs, p.longest = append(p.subs, sub), max(p.longest, len(sub))
	}
	return p, nil
}

func parseStage(text string, suite []augmentation, bins int) (s stage, err error) {
	bad := func(want, got, remedy string) error {
		return &errs.Error{Kind: errs.Invalid, Subject: strconv.Quote(strings.TrimSpace(text)), Want: want,
			Got: got, Remedy: remedy}
	}
	fields := strings.Fields(text)
	if len(fields) < 2 || len(fields) > 3 {
		return s, bad(wantStage, fmt.Sprintf("%d words", len(fields)), "")
	}
	known := make([]string, len(suite))
	found := false
	for i := range suite {
		if known[i] = suite[i].name(); known[i] == fields[0] && !found {
			s.augmentation, found = suite[i], true
		}
	}
	if !found {
		return s, bad("an augmentation of the suite: "+strings.Join(known, ", "), strconv.Quote(fields[0]),
			errs.DidYouMean(fields[0], known))
	}
	p, err := strconv.ParseFloat(fields[1], 32)
	if err != nil || !(p >= 0 && p <= 1) {
		return s, bad("a probability from 0 to 1", fields[1], "")
	}
	s.probability = float32(p)
	ranged := s.augmentation.ranged()
	switch {
	case ranged != (len(fields) == 3):
		want := "a bin, because " + fields[0] + " has a magnitude"
		if !ranged {
			want = "no bin, because " + fields[0] + " has no magnitude"
		}
		return s, bad(want, strings.Join(fields[1:], " "), "")
	case ranged:
		s.bin, err = strconv.Atoi(fields[2])
		if err != nil || s.bin < 0 || s.bin >= bins {
			return s, bad(fmt.Sprintf("a bin from 0 to %d", bins-1), fields[2],
				"raise num_magnitude_bins, or take a smaller bin")
		}
	}
	return s, nil
}

// policyBins is the number of bins of the policies below.
const policyBins = 11

// policies are the policies of AutoAugment by name.
var policies = map[string][]string{
	"image_net": {
		"equalize 0.8; shear_y 0.8 4", "color 0.4 9; equalize 0.6", "color 0.4 1; rotate 0.6 8",
		"solarize 0.8 3; equalize 0.4", "solarize 0.4 2; solarize 0.6 2", "color 0.2 0; equalize 0.8",
		"equalize 0.4; solarize_add 0.8 3", "shear_x 0.2 9; rotate 0.6 8", "color 0.6 1; equalize 1",
		"invert 0.4; rotate 0.6 0", "equalize 1; shear_y 0.6 3", "color 0.4 7; equalize 0.6",
		"posterize 0.4 6; auto_contrast 0.4", "solarize 0.6 8; color 0.6 9", "solarize 0.2 4; rotate 0.8 9",
		"rotate 1 7; translate_y 0.8 9", "solarize 0.8 4", "shear_y 0.8 0; color 0.6 4", "color 1 0; rotate 0.6 2",
		"equalize 0.8", "equalize 1; auto_contrast 0.6", "shear_y 0.4 7; solarize_add 0.6 7",
		"posterize 0.8 2; solarize 0.6 10", "solarize 0.6 8; equalize 0.6", "color 0.8 6; rotate 0.4 5",
	},
	"reduced_image_net": {
		"posterize 0.4 8; rotate 0.6 9", "solarize 0.6 5; auto_contrast 0.6", "equalize 0.8; equalize 0.6",
		"posterize 0.6 7; posterize 0.6 6", "equalize 0.4; solarize 0.2 4", "equalize 0.4; rotate 0.8 8",
		"solarize 0.6 3; equalize 0.6", "posterize 0.8 5; equalize 1", "rotate 0.2 3; solarize 0.6 8",
		"equalize 0.6; posterize 0.4 6", "rotate 0.8 8; color 0.4 0", "rotate 0.4 9; equalize 0.6", "equalize 0.8",
		"invert 0.6; equalize 1", "color 0.6 4; contrast 1 8", "rotate 0.8 8; color 1 2", "color 0.8 8; solarize 0.8 7",
		"sharpness 0.4 7; invert 0.6", "shear_x 0.6 5; equalize 1", "color 0.4 0; equalize 0.6",
		"equalize 0.4; solarize 0.2 4", "solarize 0.6 5; auto_contrast 0.6", "invert 0.6; equalize 1",
		"color 0.6 4; contrast 1 8", "equalize 0.8; equalize 0.6",
	},
	"reduced_cifar10": {
		"invert 0.1; contrast 0.2 6", "rotate 0.7 2; translate_x 0.3 9", "sharpness 0.8 1; sharpness 0.9 3",
		"shear_y 0.5 8; translate_y 0.7 9", "auto_contrast 0.5; equalize 0.9", "shear_y 0.2 7; posterize 0.3 7",
		"color 0.4 3; brightness 0.6 7", "sharpness 0.3 9; brightness 0.7 9", "equalize 0.6; equalize 0.5",
		"contrast 0.6 7; sharpness 0.6 5", "color 0.7 7; translate_x 0.5 8", "equalize 0.3; auto_contrast 0.4",
		"translate_y 0.4 3; sharpness 0.2 6", "brightness 0.9 6; color 0.2 8", "solarize 0.5 2",
		"equalize 0.2; auto_contrast 0.6", "equalize 0.2; equalize 0.6", "color 0.9 9; equalize 0.6",
		"auto_contrast 0.8; solarize 0.2 8", "brightness 0.1 3; color 0.7 0", "solarize 0.4 5; auto_contrast 0.9",
		"translate_y 0.9 9; translate_y 0.7 9", "auto_contrast 0.9; solarize 0.8 3", "equalize 0.8; invert 0.1",
		"translate_y 0.7 9; auto_contrast 0.9",
	},
	"svhn": {
		"shear_x 0.9 4; invert 0.2", "shear_y 0.9 8; invert 0.7", "equalize 0.6; solarize 0.6 6", "invert 0.9; equalize 0.6",
		"equalize 0.6; rotate 0.9 3", "shear_x 0.9 4; auto_contrast 0.8", "shear_y 0.9 8; invert 0.4",
		"shear_y 0.9 5; solarize 0.2 6", "invert 0.9; auto_contrast 0.8", "equalize 0.6; rotate 0.9 3",
		"shear_x 0.9 4; solarize 0.3 3", "shear_y 0.8 8; invert 0.7", "equalize 0.9; translate_y 0.6 6",
		"invert 0.9; equalize 0.6", "contrast 0.3 3; rotate 0.8 4", "invert 0.8", "shear_y 0.7 6; solarize 0.4 8",
		"invert 0.6; rotate 0.8 4", "shear_y 0.3 7; translate_x 0.9 3", "shear_x 0.1 6; invert 0.6",
		"solarize 0.7 2; translate_y 0.6 7", "shear_y 0.8 4; invert 0.8", "shear_x 0.7 9; translate_y 0.8 3",
		"shear_y 0.8 5; auto_contrast 0.7", "shear_x 0.7 2; invert 0.1",
	},
}
