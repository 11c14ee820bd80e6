package main

import (
	"math"

	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/errs"
)

// verdict is what `verify --json` prints of one checkpoint.
type verdict struct {
	Path     string   `json:"path"`
	Verdict  string   `json:"verdict"` // sound, readable, damaged; "" if it could not be checked
	Sound    bool     `json:"sound"`
	Manifest bool     `json:"manifest"`
	Coverage string   `json:"coverage"`
	Percent  float64  `json:"percent"` // share of the bytes of leaves and documents that checksums cover
	Files    int      `json:"files"`
	Leaves   int      `json:"leaves"`
	Bytes    int64    `json:"bytes"`
	Problems []string `json:"problems"`
	Mendable bool     `json:"mendable"` // bivouac repair can mend all of it
	Orbax    []string `json:"orbax"`    // why Orbax would refuse it
	Unread   string   `json:"unread,omitempty"`
	Parts    []cover  `json:"parts"`

	failed  error // why it could not be checked
	ofOrbax bool  // it is of a layout of Orbax
}

// cover is how much of a leaf or document is covered.
type cover struct {
	Kind    string  `json:"kind"` // leaf or document
	Item    string  `json:"item,omitempty"`
	Path    string  `json:"path"`
	Bytes   int64   `json:"bytes"`
	Covered int64   `json:"covered"`
	Percent float64 `json:"percent"`
	Error   string  `json:"error,omitempty"`
}

// newVerdict returns the verdict of a report.
func newVerdict(path string, r *integrity.Report) verdict {
	v := verdict{Path: path, Problems: []string{}, Orbax: []string{}, Parts: []cover{}}
	v.Manifest, v.Coverage, v.Files, v.Leaves, v.Bytes = r.Manifest, r.Coverage, r.Files, r.Leaves, r.Bytes
	v.Percent, v.Mendable = share(r.Share()), r.Mendable
	for _, p := range r.Problems {
		v.Problems = append(v.Problems, p.Error())
	}
	for _, p := range r.Orbax {
		v.Orbax = append(v.Orbax, p.Error())
		v.ofOrbax = v.ofOrbax || errs.KindOf(p) != errs.Unsupported
	}
	for _, p := range r.Parts {
		v.Parts = append(v.Parts, newCover(p))
	}
	v.Verdict, v.Sound = r.Verdict().String(), r.Verdict() == integrity.Sound
	return v
}

func newCover(p integrity.Coverage) cover {
	c := cover{Kind: "leaf", Item: p.Item, Path: p.Path, Bytes: p.Bytes, Covered: p.Covered, Percent: 100}
	if p.Document {
		c.Kind = "document"
	}
	if p.Bytes > 0 {
		c.Percent = share(float64(p.Covered) / float64(p.Bytes))
	}
	if p.Err != nil {
		c.Error = oneLine(p.Err)
	}
	return c
}

// share is a part of 1 in percent, with two digits: 100 only where it is all.
func share(part float64) float64 {
	if part >= 1 {
		return 100
	}
	return math.Floor(part*1e4) / 1e2
}

func printVerdicts(g *global, verdicts []verdict, o VerifyOptions) {
	for _, v := range verdicts {
		switch {
		case v.Verdict == "":
			g.printf("UNKNOWN   %s\n          %s\n", v.Path, v.Unread)
			continue
		case v.Verdict == integrity.Damaged.String():
			g.printf("DAMAGED   %s\n", v.Path)
			for _, p := range v.Problems {
				g.printf("          %s\n", p)
			}
			if v.Mendable {
				g.printf("          repair can mend it: bivouac repair --apply %s\n", v.Path)
			}
		case v.Sound:
			g.printf("sound     %s  %d files, %d leaves, %s; covered: %s\n", v.Path, v.Files, v.Leaves, size(v.Bytes),
				v.Coverage)
		default:
			g.printf("readable  %s  %d files, %d leaves, %s; %g %% of the bytes are covered\n", v.Path, v.Files, v.Leaves,
				size(v.Bytes), v.Percent)
			g.printf("          covered: %s\n", v.Coverage)
			v.printBare(g)
		}
		for _, p := range v.Orbax {
			if v.ofOrbax || o.For != "" {
				g.printf("          loads here, not in Orbax: %s\n", p)
			}
		}
		if o.Leaves {
			v.printParts(g)
		}
	}
}

// printBare names the files and arrays whose damage would not be noticed.
func (v *verdict) printBare(g *global) {
	bare := map[string][]string{}
	for _, p := range v.Parts {
		if p.Covered < p.Bytes {
			bare[p.Kind] = append(bare[p.Kind], p.Path)
		}
	}
	for _, kind := range []string{"leaf", "document"} {
		if list := bare[kind]; len(list) > 0 {
			g.printf("          not covered: %s: %s\n", map[string]string{"leaf": "leaves", "document": "documents"}[kind],
				some(list))
		}
	}
}

// printParts prints how much of each leaf and document is covered.
func (v *verdict) printParts(g *global) {
	for _, p := range v.Parts {
		name := p.Path
		if p.Item != "" {
			name = p.Item + "  " + name
		}
		g.printf("          %6g %%  %10s  %-8s  %s", p.Percent, size(p.Bytes), p.Kind, name)
		if p.Error != "" {
			g.printf("  %s", p.Error)
		}
		g.printf("\n")
	}
}
