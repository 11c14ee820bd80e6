package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/state"
)

// rankOptions say of which ranks batches are wanted.
type rankOptions struct {
	Rank  int // negative: all
	World int // 0: the number of the run
}

func (o *rankOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	atLeast(f, &o.Rank, "rank", 0, -1, "only the samples of this rank; by default of all ranks")
	atLeast(f, &o.World, "world", 1, 0, "number of ranks; by default the number at the time of the save")
}

// of returns the number of ranks.
func (o *rankOptions) of(t *timeline.Timeline) (int, error) {
	world := o.World
	if world == 0 {
		world = t.World()
	}
	if world < 1 || world > 1<<20 || o.Rank >= world {
		return 0, usageError{&errs.Error{Kind: errs.Invalid, Op: "data", Subject: "--rank and --world", Want: "a rank below the number of ranks", Got: fmt.Sprint(o.Rank, " and ", world)}}
	}
	return world, nil
}

// stepInfo is what `peek --json` prints of a step.
type stepInfo struct {
	Step      int64     `json:"step"`
	Epoch     int64     `json:"epoch"`
	Index     int64     `json:"index"` // of the first sample of the step in the epoch
	Delivered bool      `json:"delivered"`
	JobStep   *int64    `json:"job_step,omitempty"` // as the journal counts: the step that trained on it
	Reader    string    `json:"reader,omitempty"`   // of a pipeline with several
	Rank      int       `json:"rank"`               // the first of Ranks
	Ranks     [][]int64 `json:"ranks"`
	// Packs are the samples of each pack of each of Ranks, where batches are of packs.
	Packs [][][]int64 `json:"packs,omitempty"`
	// Names are the names of the samples of Ranks, if the data are known.
	Names [][]string `json:"names,omitempty"`
}

// readerOptions say of which readers of a pipeline samples are wanted.
type readerOptions struct{ Reader string }

func (o *readerOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.Reader, "reader", "",
		"only the samples of this reader of a pipeline; by default of all readers")
}

// of returns a timeline for each of the readers, with the name of the reader. If there is only one
// reader, its name is empty.
func (o *readerOptions) of(t *timeline.Timeline) (names []string, all []*timeline.Timeline, err error) {
	names = t.Readers()
	switch {
	case o.Reader != "":
		names = []string{o.Reader}
	case len(names) < 2:
		return []string{""}, []*timeline.Timeline{t}, nil
	}
	for _, name := range names {
		one, err := t.Of(name)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, one)
	}
	return names, all, nil
}

// steps returns the samples that each reader delivers in a step, and the ids of all samples as one
// list.
func (o *rankOptions) steps(names []string, readers []*timeline.Timeline, step int64, world int) (all []stepInfo, ids []int64, err error) {
	for i, t := range readers {
		s, own, err := o.step(t, step, world)
		if err != nil {
			return nil, nil, err
		}
		s.Reader = names[i]
		all, ids = append(all, s), append(ids, own...)
	}
	return all, ids, nil
}

func (o *rankOptions) step(t *timeline.Timeline, step int64, world int) (stepInfo, []int64, error) {
	b, err := t.Batch(step)
	if err != nil {
		return stepInfo{}, nil, err
	}
	s := stepInfo{Step: step, Epoch: b.Epoch, Index: b.Index, Delivered: t.Delivered(b.Place)}
	first, last := 0, world-1
	if o.Rank >= 0 {
		s.Rank, first, last = o.Rank, o.Rank, o.Rank
	}
	for rank := first; rank <= last; rank++ {
		s.Ranks = append(s.Ranks, b.Rank(rank, world))
		if b.Packs != nil {
			s.Packs = append(s.Packs, b.PacksOf(rank, world))
		}
	}
	return s, b.IDs, nil
}

func (s stepInfo) print(g *global) {
	when := "to come"
	if s.Delivered {
		when = "delivered"
	}
	if s.JobStep != nil {
		when += fmt.Sprint(", in step ", *s.JobStep, " of the job")
	}
	if s.Reader != "" {
		when += "  reader " + s.Reader
	}
	g.printf("step %d  epoch %d, from sample %d of it  %s\n", s.Step, s.Epoch, s.Index, when)
	for i, ids := range s.Ranks {
		text := strings.Trim(fmt.Sprint(ids), "[]")
		if s.Packs != nil {
			text = strings.Trim(strings.ReplaceAll(fmt.Sprint(s.Packs[i]), "] [", " | "), "[]")
		}
		g.printf("  rank %d  %s\n", s.Rank+i, text)
		if s.Names != nil {
			for k, id := range ids {
				g.printf("    %d  %s\n", id, s.Names[i][k])
			}
		}
	}
}

// stepsOptions are the options that peek, replay and explain share.
type stepsOptions struct {
	data   dataOptions
	ranks  rankOptions
	reader readerOptions
}

// addFlags also adds --json.
func (o *stepsOptions) addFlags(cmd *cobra.Command) {
	o.data.addFlags(cmd)
	o.data.addTorchFlags(cmd)
	o.ranks.addFlags(cmd)
	o.reader.addFlags(cmd)
}

// open returns the timeline of a state, and the number of ranks.
func (o *stepsOptions) open(ctx context.Context, state string, g *global) (t *timeline.Timeline, world int, err error) {
	_, t, world, err = o.openState(ctx, state, g)
	return t, world, err
}

// openState works like open, and returns the state too.
func (o *stepsOptions) openState(ctx context.Context, state string, g *global) (s *saved, t *timeline.Timeline,
	world int, err error) {
	if s, err = o.data.read(ctx, state, g); err != nil {
		return nil, nil, 0, err
	}
	if t, err = o.data.timeline(s); err != nil {
		return nil, nil, 0, err
	}
	world, err = o.ranks.of(t)
	return s, t, world, err
}

func newDataReplayCommand(g *global) *cobra.Command {
	var o stepsOptions
	var from, to int64
	cmd := &cobra.Command{
		Use:   "replay STATE [--from N] [--to N]",
		Short: "List the samples of all steps, in their order, with their digest",
		Long: `List the samples of steps one after the other, by default of all that were
delivered up to the state, and then the digest of their ids. With --json a line
for each step, and each reader of a pipeline with several, is an object.

` + exitCodesHelp,
		Example: `  bivouac data replay runs/digits --from 1 --to 10`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, world, err := o.open(cmd.Context(), args[0], g)
			if err != nil {
				return err
			}
			if to < 0 {
				to = t.Here().Step
			}
			if from > to {
				return usageError{&errs.Error{Kind: errs.Invalid, Op: "data replay", Subject: "--from", Want: fmt.Sprint("a step before the end, ", to), Got: strconv.FormatInt(from, 10)}}
			}
			names, readers, err := o.reader.of(t)
			if err != nil {
				return errs.Wrap("data", args[0], err)
			}
			var digest state.Digest
			samples := 0
			for step := from; step < to; step++ {
				if err := cmd.Context().Err(); err != nil {
					return err
				}
				all, ids, err := o.ranks.steps(names, readers, step, world)
				if err != nil {
					return errs.Wrap("data", args[0], err)
				}
				digest.Add(ids...)
				samples += len(ids)
				for _, s := range all {
					if !g.json {
						s.print(g)
					} else if err := g.printJSONLine(s); err != nil {
						return err
					}
				}
			}
			if !g.json {
				g.printf("%d samples, digest %s\n", samples, digest.Sum())
			}
			return nil
		},
	}
	with(cmd, o.addFlags, g.addStepPrefix, g.addJSON)
	atLeast(cmd.Flags(), &from, "from", 0, 0, "the first step")
	atLeast(cmd.Flags(), &to, "to", 0, -1, "the step after the last one; by default the step of the state")
	return cmd
}

// sighting is what `explain --json` prints of an epoch.
type sighting struct {
	Epoch     int64  `json:"epoch"`
	Step      *int64 `json:"step"` // null: not delivered in this epoch
	Rank      int    `json:"rank"`
	Row       int    `json:"row"` // in the batch of the rank
	Delivered bool   `json:"delivered"`
	More      bool   `json:"more,omitempty"` // this epoch has further places, which are not listed
}

// one returns the timeline of the chosen reader, or of the only one.
func (o *readerOptions) one(t *timeline.Timeline) (*timeline.Timeline, error) {
	names, all, err := o.of(t)
	if err == nil && len(all) > 1 {
		err = usageError{&errs.Error{Kind: errs.Invalid, Op: "data explain", Subject: "--reader", Want: "one of " + strings.Join(names, ", "), Got: "nothing"}}
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

func newDataExplainCommand(g *global) *cobra.Command {
	var o stepsOptions
	var sample, epoch, epochs int64
	var most int
	cmd := &cobra.Command{
		Use:   "explain STATE --sample ID",
		Short: "Say when a sample was seen, and when it is seen again",
		Long: `Say in which step of an epoch, on which rank and in which row a sample was or will
be delivered: by default in the epoch of the state and in the epochs before and
after it. A mixture may deliver a sample more than once in an epoch: at most --most
of its places are listed.

` + exitCodesHelp,
		Example: `  bivouac data explain runs/digits --sample 1234`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if sample < 0 {
				return usageError{&errs.Error{Kind: errs.Invalid, Op: "data explain", Subject: "--sample", Want: "the id of a sample", Got: "nothing"}}
			}
			t, world, err := o.open(cmd.Context(), args[0], g)
			if err != nil {
				return err
			}
			if t, err = o.reader.one(t); err != nil {
				return errs.Wrap("data", args[0], err)
			}
			if epoch < 0 {
				epoch = max(0, t.Here().Epoch-1)
			}
			all := []sighting{}
			for e := epoch; e < epoch+epochs; e++ {
				places, err := t.All(cmd.Context(), e, sample, most+1)
				if err != nil {
					return errs.Wrap("data", args[0], err)
				}
				for i := range places[:min(most, len(places))] {
					s := sighting{Epoch: e, Step: &places[i].Step, Delivered: t.Delivered(places[i].Place), More: i+1 == most && len(places) > most}
					s.Rank, s.Row = places[i].Rank(world)
					all = append(all, s)
				}
				if len(places) == 0 {
					all = append(all, sighting{Epoch: e})
				}
			}
			return g.show(all, func() {
				for _, s := range all {
					s.print(g, sample)
				}
			})
		},
	}
	with(cmd, o.addFlags, g.addStepPrefix, g.addJSON)
	f := cmd.Flags()
	atLeast(f, &sample, "sample", 0, -1, "the id of the sample")
	atLeast(f, &epoch, "epoch", 0, -1, "the first epoch to look at")
	atLeast(f, &epochs, "epochs", 1, 3, "how many epochs")
	atLeast(f, &most, "most", 1, 10, "how many places of an epoch to list")
	return cmd
}

func (s sighting) print(g *global, sample int64) {
	switch {
	case s.Step == nil:
		g.printf("epoch %d  sample %d is not known to be delivered\n", s.Epoch, sample)
	case s.Delivered:
		g.printf("epoch %d  sample %d was delivered in step %d, on rank %d, row %d\n", s.Epoch, sample, *s.Step, s.Rank, s.Row)
	default:
		g.printf("epoch %d  sample %d will be delivered in step %d, on rank %d, row %d\n", s.Epoch, sample, *s.Step, s.Rank, s.Row)
	}
	if s.More {
		g.printf("epoch %d  sample %d comes again; see --most\n", s.Epoch, sample)
	}
}
