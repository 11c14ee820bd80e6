package main

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng"
)

// stateDump is what `state --json` prints.
type stateDump struct {
	File    string      `json:"file"`
	Form    string      `json:"form"`
	Bytes   int         `json:"bytes"`
	Entries []stateText `json:"entries"`
}

// stateText is one state in a file.
type stateText struct {
	Key   string `json:"key,omitempty"`
	Type  string `json:"type,omitempty"`
	Form  string `json:"form"`
	Facts []fact `json:"facts"`
}

// The forms of states that occur in a checkpoint of dynamic mode, or alone.
const (
	formDynamic   = "checkpoint of dynamic mode"
	formReader    = "reader of DALI's"
	formGenerator = "generator"
	formText      = "text"
)

func newStateCommand(g *global) *cobra.Command {
	var src stateSource
	return with(&cobra.Command{
		Use:   "state FILE|RUN|STEP",
		Short: "Print a saved state in readable form",
		Long: `Print what a file with saved states holds: a checkpoint of dynamic mode, with the state of
each of its objects; the state of a pipeline, a loader or a reader; a checkpoint of a
pipeline of DALI. FILE may be - for standard input, and a run or a step of a job: then the
state that it kept. bivouac data looks into the samples of a loader's.

` + exitCodesHelp,
		Example: `  bivouac state runs/digits
  bivouac state state.json --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := src.read(cmd.Context(), args[0], g)
			if err != nil {
				return err
			}
			d := stateDump{File: s.name, Form: s.form, Bytes: len(s.raw)}
			if d.Entries, err = s.entries(); err != nil {
				return errs.Wrap("state", args[0], err)
			}
			return g.show(d, func() { g.printState(d) })
		},
	}, src.addFlags, g.addStepPrefix, g.addJSON, g.addURLs)
}

func (g *global) printState(d stateDump) {
	g.printf("%s: %s, %d bytes\n", d.File, d.Form, d.Bytes)
	for _, e := range d.Entries {
		if e.Key != "" {
			title := e.Key
			if e.Type != "" {
				title += " (" + e.Type + ")"
			}
			g.printf("\n%s: %s\n", title, e.Form)
		}
		printFacts(g, e.Facts)
	}
}

// entries returns the states in a file: one state, or the states of a checkpoint of dynamic mode.
func (s *saved) entries() ([]stateText, error) {
	if s.form != formDynamic {
		return []stateText{{Form: s.form, Facts: append(slices.Clone(s.job), s.facts()...)}}, nil
	}
	list, err := checkpoint.Entries(string(s.raw))
	if err != nil {
		return nil, err
	}
	out := []stateText{}
	for _, e := range list {
		t := describeText(e.State)
		t.Key, t.Type = e.Key, e.Type
		out = append(out, t)
	}
	return out, nil
}

// describeText describes a state in a checkpoint of dynamic mode.
func describeText(text string) stateText {
	if alone, ok := single(text); ok {
		return alone
	}
	raw := []byte(text)
	if digits, ok := strings.CutPrefix(text, "base64:"); ok {
		if b, err := base64.StdEncoding.DecodeString(digits); err == nil {
			raw = b
		}
	}
	s := &saved{raw: raw}
	if err := s.recognize(); err != nil || s.form == formDynamic {
		return stateText{Form: formText, Facts: []fact{{"text", text}}}
	}
	return stateText{Form: s.form, Facts: s.facts()}
}

// single describes the state of a generator or of a DALI reader.
func single(text string) (stateText, bool) {
	if p, err := rng.ParsePhilox(text); err == nil {
		return stateText{Form: formGenerator, Facts: philoxFacts(p.String())}, true
	}
	var r stateproto.Reader
	if err := r.UnmarshalText([]byte(text)); err != nil {
		return stateText{}, false
	}
	facts := []fact{{"epoch", fmt.Sprint(r.Loader.Epoch)}, {"samples since its start", fmt.Sprint(r.Loader.Age)}, {"random state at its start", r.Loader.RNG}}
	if b := r.Bivouac; b != nil {
		facts = append(facts, fact{"order", b.Order}, fact{"batch", fmt.Sprint(b.Batch, " samples")},
			fact{"epoch of batches", fmt.Sprintf("%d, %d samples left", b.Epoch, b.Left)}, fact{"fingerprint", b.Fingerprint})
	}
	return stateText{Form: formReader, Facts: facts}, true
}

// philoxFacts takes apart Philox_KEY_SEQUENCE:BLOCK_PHASE.
func philoxFacts(text string) []fact {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '_' || r == ':' })
	return []fact{{"key", parts[1]}, {"sequence", parts[2]}, {"block", parts[3]}, {"word of the block", parts[4]}}
}
