package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/state"
)

// moveOptions are the flags of commands that write another state.
type moveOptions struct {
	dataOptions
	Output string
}

func (o *moveOptions) addFlags(cmd *cobra.Command) {
	o.dataOptions.addFlags(cmd)
	cmd.Flags().StringVarP(&o.Output, "output", "o", "-", "file for the new state, or - for standard output")
}

// move writes the state of a run before another step.
func (o *moveOptions) move(cmd *cobra.Command, t *timeline.Timeline, name string, step int64, g *global) error {
	w := newWork(g)
	b, err := t.Seek(cmd.Context(), step, samplesDone(w, "digest"))
	w.close()
	if err != nil {
		return errs.Wrap("data", name, err)
	}
	if o.Output == "-" {
		_, err := g.stdout.Write(append(b, '\n'))
		return err
	}
	if err := os.WriteFile(o.Output, b, 0o666); err != nil {
		return &errs.Error{Kind: errs.IO, Op: "data", Subject: o.Output, Err: err}
	}
	return nil
}

func newDataSeekCommand(g *global) *cobra.Command {
	var o moveOptions
	var step, epoch int64
	cmd := &cobra.Command{
		Use:   "seek STATE --step N | --epoch N [-o FILE]",
		Short: "Write the state of the same run at another step or epoch",
		Long: `Write the state that the run had, or will have, before a step or an epoch: a loader
that is given it goes on from there. Digest and coverage are computed from the
order, some ten nanoseconds a sample.

` + exitCodesHelp,
		Example: `  bivouac data seek runs/digits --step 4000 -o state
  bivouac data seek state --epoch 3 -o later`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (step < 0) == (epoch < 0) {
				return usageError{&errs.Error{Kind: errs.Invalid, Op: "data", Subject: "--step and --epoch", Want: "exactly one of them"}}
			}
			t, err := o.open(cmd.Context(), args[0], g)
			if err != nil {
				return err
			}
			if epoch >= 0 {
				if step, err = firstStep(t, epoch); err != nil {
					return errs.Wrap("data", args[0], err)
				}
			}
			return o.move(cmd, t, args[0], step, g)
		},
	}
	with(cmd, o.addFlags, g.addStepPrefix)
	atLeast(cmd.Flags(), &step, "step", 0, -1, "the step that comes next, from 0")
	atLeast(cmd.Flags(), &epoch, "epoch", 0, -1, "the epoch that begins")
	return cmd
}

// firstStep returns the step with which an epoch begins.
func firstStep(t *timeline.Timeline, epoch int64) (int64, error) {
	b, ok, err := t.Begin(epoch)
	if err == nil && !ok {
		err = &errs.Error{Kind: errs.Invalid, Op: "data", Subject: fmt.Sprint("epoch ", epoch),
			Got: "an epoch that the state does not describe"}
	}
	return b.Step, err
}

func newDataSkipCommand(g *global) *cobra.Command {
	var o moveOptions
	var batches int64
	cmd := &cobra.Command{
		Use:   "skip STATE --batches N [-o FILE]",
		Short: "Write the state of the same run some batches later",
		Long: `Write the state of the same run some batches later: a loader that is given it
leaves them out. The digest is the digest of a run that delivered them.

` + exitCodesHelp,
		Example: `  bivouac data skip state --batches 100 -o later`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if batches < 1 {
				return usageError{&errs.Error{Kind: errs.Invalid, Op: "data", Subject: "--batches", Want: "at least 1", Got: fmt.Sprint(batches)}}
			}
			t, err := o.open(cmd.Context(), args[0], g)
			if err != nil {
				return err
			}
			return o.move(cmd, t, args[0], t.Here().Step+batches, g)
		},
	}
	with(cmd, o.addFlags, g.addStepPrefix)
	atLeast(cmd.Flags(), &batches, "batches", 1, 0, "how many batches to leave out")
	return cmd
}

func newDataDiffCommand(g *global) *cobra.Command {
	var o dataOptions
	cmd := &cobra.Command{
		Use:   "diff STATE STATE",
		Short: "Say whether two saved states belong to equal runs",
		Long: `Compare two saved states. Two states of Bivouac's loader belong to equal runs if
data set, order and options agree and each digest matches the order up to its
position: then both runs delivered the same samples in the same order, up to the
shorter one. Other states are compared member by member.

` + exitCodesHelp + `
States of runs that differ are exit status 4.`,
		Example: `  bivouac data diff runs/a runs/b`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := o.read(cmd.Context(), args[0], g)
			if err != nil {
				return err
			}
			b, err := o.read(cmd.Context(), args[1], g)
			if err != nil {
				return err
			}
			facts, differ, err := o.compare(cmd, a, b, g)
			if err != nil {
				return err
			}
			err = g.show(facts, func() { printFacts(g, facts) })
			if differ != "" {
				return &errs.Error{Kind: errs.Mismatch, Op: "data diff", Subject: a.name + " and " + b.name, Got: differ}
			}
			return err
		},
	}
	return with(cmd, o.addFlags, g.addStepPrefix, g.addJSON)
}

// compare returns facts about two states, and how their runs differ.
func (o *dataOptions) compare(cmd *cobra.Command, a, b *saved, g *global) (facts []fact, differ string, err error) {
	if !o.comparable(a) || !o.comparable(b) {
		facts = compareLeaves(a.all(), b.all())
		if len(facts) > 0 {
			return facts, fmt.Sprint(len(facts), " members differ"), nil
		}
		return []fact{{"states", "equal"}}, "", nil
	}
	if err := a.doc.Check(*b.doc); err != nil {
		return compareFields(a.doc, b.doc), "other data set or options", nil
	}
	for _, s := range []*saved{a, b} {
		facts = append(facts, fact{s.name, fmt.Sprintf("%d samples, epoch %d, digest %s", s.doc.Position, s.doc.Epoch, s.doc.Digest)})
	}
	if a.doc.Position == b.doc.Position && a.doc.Epoch == b.doc.Epoch {
		if a.doc.Digest != b.doc.Digest {
			return facts, "other samples, or in another order", nil
		}
		return append(facts, fact{"runs", "equal: the same samples in the same order"}), "", nil
	}
	for _, s := range []*saved{a, b} {
		t, err := o.timeline(s)
		if err != nil {
			return facts, "", err
		}
		w := newWork(g)
		_, err = t.Verify(cmd.Context(), samplesDone(w, "verify"))
		w.close()
		if err != nil {
			return facts, s.name + " does not match its order: " + err.Error(), nil
		}
	}
	return append(facts, fact{"runs", fmt.Sprintf("equal up to the shorter one; they are %d samples apart", max(a.doc.Position, b.doc.Position)-min(a.doc.Position, b.doc.Position))}), "", nil
}

// comparable reports whether a state tells which samples were delivered.
func (o *dataOptions) comparable(s *saved) bool {
	if s.doc == nil || s.doc.Kind == "loader" {
		return s.doc != nil
	}
	_, err := o.timeline(s)
	return err == nil
}

// all returns the leaves of a state, and its writer.
func (s *saved) all() []fact {
	facts := []fact{{"form", s.form}}
	if s.dali == nil {
		if s.tree == nil && s.parse() != nil {
			return facts
		}
		return leaves(facts, "", s.tree)
	}
	for _, op := range s.dali.Ops {
		facts = append(facts, fact{op.Name, fmt.Sprintf("%q", op.State)})
	}
	if e := s.dali.External; e != nil {
		facts = append(facts, fact{"pipeline", string(e.Pipeline)}, fact{"iterator", string(e.Iterator)})
	}
	return facts
}

// compareLeaves returns the leaves that differ.
func compareLeaves(a, b []fact) (differ []fact) {
	is := map[string]string{}
	for _, f := range b {
		is[f.Name] = f.Value
	}
	was := map[string]bool{}
	for _, f := range a {
		was[f.Name] = true
		switch v, ok := is[f.Name]; {
		case !ok:
			differ = append(differ, fact{f.Name, f.Value + " → missing"})
		case v != f.Value:
			differ = append(differ, fact{f.Name, f.Value + " → " + v})
		}
	}
	for _, f := range b {
		if !was[f.Name] {
			differ = append(differ, fact{f.Name, "missing → " + f.Value})
		}
	}
	return differ
}

// compareFields returns the fields in which two documents differ.
func compareFields(a, b *state.Document) []fact {
	facts := func(d *state.Document) []fact {
		return leaves([]fact{{"kind", d.Kind}, {"fingerprint", d.Fingerprint}}, "", anyMap(d.Fields))
	}
	return compareLeaves(facts(a), facts(b))
}

func anyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
