package dalivec

// divergence is a kind of case in which Bivouac does other than DALI on purpose.
type divergence struct {
	name    string
	applies func(c *Case) bool
	// judge returns why what was computed is not what Bivouac means it to be.
	judge func(s *Set, c *Case, got Results, err error) error
}

// divergences of single operators; docs/compat/dali.md gives the reasons.
var divergences = []divergence{firstFrame, negativeLess, axisTwice, maskedFrames, branchDTypes, cutSound, arrayDType}

// Divergences returns the kinds of cases of single operators that are divergent.
func Divergences() []string {
	var names []string
	for _, d := range divergences {
		names = append(names, d.name)
	}
	return names
}

func divergenceOf(c *Case) *divergence {
	for _, d := range divergences {
		if d.applies(c) {
			return &d
		}
	}
	return nil
}
