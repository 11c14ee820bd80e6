//go:build !bivouac_wheel

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/state"
)

// ReplayOptions are the flags of `bivouac replay`.
type ReplayOptions struct {
	stepsOptions
	behindOptions
	From, To int64
	With     string
	WithData string
	Content  bool
}

func (o *ReplayOptions) addFlags(cmd *cobra.Command) {
	o.data.addFlags(cmd)
	o.behindOptions.addFlags(cmd)
	f := cmd.Flags()
	atLeast(f, &o.From, "from", 0, -1, "step after which to begin; by default the beginning")
	atLeast(f, &o.To, "to", 0, -1, "last step; by default the newest saved one")
	f.StringVar(&o.With, "with", "", "another `RUN` to compare with, step by step")
	f.StringVar(&o.WithData, "with-data", "", "`DATA` that the other run read, as --data")
	f.BoolVar(&o.Content, "content", false, "read the samples again and digest their contents too")
}

func newReplayCommand(g *global) *cobra.Command {
	var o ReplayOptions
	o.ranks.Rank = -1
	cmd := with(&cobra.Command{
		Use:   "replay RUN [--from A] [--to B]",
		Short: "Go through the data of a run again, and print a digest of each step",
		Long: `Go through the data of a run again, from the step after A to step B, and print a
digest of each step: of the ids of its samples, on all ranks and in their order. Steps
count as in the journal. Nothing is read but one saved state, from which the place of
each step is computed.

--content also reads the samples and digests what is in them. It needs the data, which
the run names if the program opened them with package loader/dataset, or --data.

--with RUN2 compares with another run: a fork, a run on another machine, a run with
another number of ranks. With --json a line for each step is an object.

` + exitCodesHelp + `
Runs that differ are exit status 4.`,
		Example: `  bivouac replay runs/a --from 100 --to 120
  bivouac replay runs/a --with runs/b --content`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.WithData != "" && o.With == "" {
				return misused(cmd, "--with-data", "--with beside it", "none", "")
			}
			return o.replay(cmd.Context(), args[0], g)
		},
	}, o.addFlags, g.addStepPrefix, g.addJSON, g.addURLs)
	for _, name := range []string{"from", "to"} {
		cmd.RegisterFlagCompletionFunc(name, g.completeSteps) //nolint:errcheck // the flag exists
	}
	return cmd
}

// replayed is what `replay --json` prints of a step.
type replayed struct {
	Step    int64  `json:"step"`
	Epoch   int64  `json:"epoch"`
	Samples int    `json:"samples"`
	IDs     string `json:"ids"`               // digest of the ids
	Content string `json:"content,omitempty"` // digest of what is in the samples
	// Other is the same step of the other run.
	Other *replayed `json:"other,omitempty"`
	Same  *bool     `json:"same,omitempty"`
}

func (r replayed) equal(o replayed) bool {
	return r.Samples == o.Samples && r.IDs == o.IDs && r.Content == o.Content
}

// player goes through the data of a run.
type player struct {
	name string
	s    *saved
	t    *timeline.Timeline
	data *behind // nil without contents
	all  state.Digest
}

// player opens a run to go through its steps from some step on.
func (o *ReplayOptions) player(ctx context.Context, run string, with behindOptions, from int64,
	g *global) (*player, error) {
	s, t, _, err := o.openState(ctx, run, g)
	if err != nil {
		return nil, err
	}
	if s.jobStep < 0 {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "replay", Subject: run, Want: "a run of a job, or a step of one",
			Got: "another state", Remedy: "bivouac data replay goes through the samples of a state"}
	}
	if s, t, err = o.earlier(ctx, run, g, s, t, t.Here().Step+from-s.jobStep); err != nil {
		return nil, err
	}
	p := &player{name: run, s: s, t: t}
	if o.Content {
		if p.data, err = with.open(ctx, s); err != nil {
			return nil, err
		}
		if p.data == nil {
			return nil, &errs.Error{Kind: errs.NotFound, Op: "replay", Subject: run, Want: "what the data of the run were",
				Got: "nothing: the run keeps no data.yaml", Remedy: "name them with --data, or leave --content out"}
		}
	}
	return p, nil
}

func (p *player) close() {
	if p.data != nil {
		p.data.Close() //nolint:errcheck // only read
	}
}

// place returns the step of the stream that a step of the job trained on.
func (p *player) place(step int64) int64 { return p.t.Here().Step + step - 1 - p.s.jobStep }

// step digests the samples of a step of the job.
func (p *player) step(ctx context.Context, step int64) (replayed, error) {
	at := p.place(step)
	names, readers, err := new(readerOptions).of(p.t)
	if err != nil {
		return replayed{}, errs.Wrap("replay", p.name, err)
	}
	all, ids, err := (&rankOptions{Rank: -1}).steps(names, readers, at, 1)
	if err != nil {
		return replayed{}, errs.Wrap("replay", p.name, err)
	}
	var digest state.Digest
	digest.Add(ids...)
	p.all.Add(ids...)
	out := replayed{Step: step, Epoch: all[0].Epoch, Samples: len(ids), IDs: digest.Sum()}
	if p.data != nil {
		out.Content, err = p.content(ctx, ids)
	}
	return out, err
}

// content digests the fields of samples: names, dtypes, shapes and bytes.
func (p *player) content(ctx context.Context, ids []int64) (string, error) {
	h := sha256.New()
	for _, id := range ids {
		f, err := p.data.sample(ctx, id)
		if err != nil {
			return "", errs.Wrap("replay", p.data.describe(id), err)
		}
		for i, name := range f.Names {
			io.WriteString(h, strconv.Itoa(len(name))+":"+name) //nolint:errcheck // a hash takes all
			describeTo(h, f.Values[i])
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func (o *ReplayOptions) replay(ctx context.Context, run string, g *global) (err error) {
	from := max(o.From, 0)
	p, err := o.player(ctx, run, o.behindOptions, from, g)
	if err != nil {
		return err
	}
	defer p.close()
	to := o.To
	if to < 0 {
		to = p.newest(ctx, run, g)
	}
	if from > to {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "replay", Subject: "--from",
			Want: fmt.Sprint("a step before the end, ", to), Got: strconv.FormatInt(from, 10)}}
	}
	o.warnOpenTail(p.s, p.t, p.place(to), g)
	var other *player
	if o.With != "" {
		if other, err = o.player(ctx, o.With, behindOptions{Data: o.WithData}, from, g); err != nil {
			return err
		}
		defer other.close()
		o.warnOpenTail(other.s, other.t, other.place(to), g)
	}
	differ, first, samples := int64(0), int64(0), 0
	for step := from + 1; step <= to; step++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r, err := p.step(ctx, step)
		if err != nil {
			return err
		}
		samples += r.Samples
		if other != nil {
			as, err := other.step(ctx, step)
			if err != nil {
				return err
			}
			same := r.equal(as)
			r.Other, r.Same = &as, &same
			if !same {
				if differ == 0 {
					first = step
				}
				differ++
			}
		}
		if err := r.print(g); err != nil {
			return err
		}
	}
	if !g.json {
		g.printf("%d steps, %d samples, digest %s\n", to-from, samples, p.all.Sum())
		if other != nil && differ == 0 {
			g.printf("equal: %s has the same\n", o.With)
		}
	}
	if differ > 0 {
		return &errs.Error{Kind: errs.Mismatch, Op: "replay", Subject: run + " and " + o.With,
			Got: fmt.Sprintf("%d of %d steps differ, from step %d on", differ, to-from, first)}
	}
	return nil
}

// newest returns the newest saved step, or the step of the state if it is a single one.
func (p *player) newest(ctx context.Context, run string, g *global) int64 {
	if dir, err := openRun(ctx, run, g); err == nil && len(dir.steps) > 0 {
		return dir.steps[len(dir.steps)-1].Step
	}
	return p.s.jobStep
}

func (r replayed) print(g *global) error {
	if g.json {
		return g.printJSONLine(r)
	}
	mark := ""
	if r.Same != nil {
		mark = map[bool]string{true: "=  ", false: "~  "}[*r.Same]
	}
	g.printf("%sstep %d  epoch %d  %d samples  %s", mark, r.Step, r.Epoch, r.Samples, r.IDs)
	if r.Content != "" {
		g.printf("  content %s", r.Content)
	}
	if r.Other != nil && !*r.Same {
		g.printf("  other: %d samples  %s", r.Other.Samples, r.Other.IDs)
		if r.Other.Content != "" {
			g.printf("  content %s", r.Other.Content)
		}
	}
	g.printf("\n")
	return nil
}
