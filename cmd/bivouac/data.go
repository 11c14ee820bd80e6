package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
)

func newDataCommand(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Look into a data set, or into the saved state of a loader",
		Long: `Look into a data set (ls, show, sample, stat, verify): its samples, shards, bytes and
columns, single samples, and whether every record can be read. recipe shows what a
recipe for images makes of the samples.

Or look into the saved state of a loader or pipeline: a file, - for standard input, or
the run or step of a job that kept it (--at N is the step, --item its item).

A state of Bivouac's loader or pipeline names its order, so that it alone tells about
any step of the run: which samples were step 1234 on rank 3, when sample 77 comes
again, whether two runs saw the same samples. States of torchdata (JSON), Grain,
streaming and DALI can be inspected and compared.

The state has only a hash of each table of an order: the lengths of samples, which
make packs and buckets; the sizes of shards of windows, unless all are equal; the
samples of a filter. Give each table with --table FILE: numbers in a .npy file, a
JSON list, or a text file. The hash shows which table a file holds.

If batches consist of packs, finding a step goes through the packs of an epoch.

The readers of a pipeline deliver together. If the state does not tell which reader
is the first in the graph, --readers NAME,NAME,… gives their order.

` + exitCodesHelp,
		Example: `  bivouac data ls data.yaml
  bivouac data peek runs/digits --step 9`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newDataLsCommand(g),
		newDataShowCommand(g),
		newDataSampleCommand(g),
		newDataStatCommand(g),
		newDataInspectCommand(g),
		newDataVerifyCommand(g),
		newDataRecipeCommand(g),
		newDataPeekCommand(g),
		newDataReplayCommand(g),
		newDataExplainCommand(g),
		newDataSeekCommand(g),
		newDataSkipCommand(g),
		newDataDiffCommand(g),
	)
	return cmd
}

// saved is a state that was read from a file.
type saved struct {
	name string
	form string // the writer
	raw  []byte
	doc  *state.Document        // of Bivouac; else nil
	tree map[string]any         // JSON, with json.Number; nil for a document
	dali *stateproto.Checkpoint // of DALI
	// alone are the facts about the state of one object of dynamic mode.
	alone []fact
	// job are the facts about the job that kept the state.
	job []fact
	// jobStep is how many steps that job had done, or -1.
	jobStep int64
}

// The forms of states.
const (
	formBivouac = "bivouac"
	formWorkers = "torchdata StatefulDataLoader, with workers"
	formTorch   = "torchdata StatefulDataLoader, without workers"
	formNodes   = "nodes loader, of torchdata's shape"
	formGrain   = "grain"
	formStream  = "streaming"
	formDALI    = "dali"
	formJSON    = "JSON of unknown shape"
)

// mostState bounds the size of a state.
const mostState = 64 << 20

// readState reads a file and finds the form of its state.
func readState(name string) (*saved, error) {
	f := io.Reader(os.Stdin)
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, unopened("data", name, err)
		}
		defer file.Close() //nolint:errcheck // only read
		f = file
	}
	b, err := io.ReadAll(io.LimitReader(f, mostState+1))
	if err != nil {
		return nil, &errs.Error{Kind: errs.IO, Op: "data", Subject: name, Err: err}
	}
	if len(b) > mostState {
		return nil, &errs.Error{Kind: errs.Exhausted, Op: "data", Subject: name, Want: "a state of at most 64 MiB"}
	}
	s := &saved{name: name, raw: b, jobStep: -1}
	return s, errs.Wrap("data", name, s.recognize())
}

// recognize finds the writer of a state.
func (s *saved) recognize() error {
	if wrapped, err := s.unwrap(); wrapped && err == nil {
		return s.recognizeStream()
	} else if err != nil {
		return err
	}
	return s.recognizeStream()
}

// recognizeStream finds the writer of the state of a stream.
func (s *saved) recognizeStream() error {
	if first := bytes.TrimLeft(s.raw, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		if one, ok := single(strings.TrimSpace(string(s.raw))); ok {
			s.form, s.alone = one.Form, one.Facts
			return nil
		}
		c, err := stateproto.Parse(s.raw)
		if err != nil || len(s.raw) == 0 {
			return &errs.Error{Kind: errs.Corrupt, Want: "a state: JSON, or a checkpoint of DALI", Got: "neither", Err: err}
		}
		s.form, s.dali = formDALI, c
		return nil
	}
	doc, damage := state.Unmarshal(s.raw)
	if damage == nil {
		s.form, s.doc = formBivouac, &doc
		return nil
	}
	if err := s.parse(); err != nil {
		return err
	}
	has := func(names ...string) bool {
		for _, n := range names {
			if _, ok := s.tree[n]; !ok {
				return false
			}
		}
		return true
	}
	switch {
	case has("states", "version"):
		s.form = formDynamic
		_, err := checkpoint.Entries(string(s.raw))
		return err
	case has("kind", "position", "version"):
		s.form = formBivouac
		return damage
	case has("_snapshot", "_steps_since_snapshot"):
		s.form = formWorkers
	case has("_sampler_iter_yielded", "_num_yielded"):
		s.form = formTorch
	case has("root", "num_yielded"):
		s.form = formNodes
	case has("next_index") || has("global_next_index") || has("last_seen_indices"):
		s.form = formGrain
	case has("epoch", "sample_in_epoch"):
		s.form = formStream
	default:
		s.form = formJSON
	}
	return nil
}

// parse reads the state as JSON of any shape.
func (s *saved) parse() error {
	canonical, err := state.Canonical(s.raw)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(canonical))
	dec.UseNumber()
	if err := dec.Decode(&s.tree); err != nil {
		return &errs.Error{Kind: errs.Corrupt, Err: err}
	}
	return nil
}

// dataOptions are the flags of commands that need the order.
type dataOptions struct {
	timeline.Options
	torchOptions
	stateSource
	tableOptions
	tailGiven bool // --drop-last was given
}

// otherTail returns the other policy for the end of epochs.
func (o *dataOptions) otherTail() order.Tail {
	return order.DropLast(o.Tail != order.Drop)
}

func (o *dataOptions) addFlags(cmd *cobra.Command) {
	o.stateSource.addFlags(cmd)
	o.tableOptions.addFlags(cmd)
	cmd.Flags().BoolFunc("drop-last",
		"say that short batches at the end of epochs are left out, if a state of the first epoch does not say it",
		func(text string) error {
			drop, err := strconv.ParseBool(text)
			o.Tail, o.tailGiven = order.DropLast(drop), true
			return err
		})
}

// read reads a state. While it goes through the packs of a run, it shows the progress.
func (o *dataOptions) read(ctx context.Context, name string, g *global) (*saved, error) {
	var w *work
	o.Walk = func(epoch, done, total int64) error {
		if w == nil {
			w = newWork(g)
		}
		if !w.begun && done < total {
			w.screen.Begin(fmt.Sprint("packs of epoch ", epoch), total)
			w.begun = true
		}
		if w.begun {
			w.screen.Advance(done, "")
		}
		if done == total || ctx.Err() != nil {
			w.close()
			w = nil
		}
		return ctx.Err()
	}
	return o.stateSource.read(ctx, name, g)
}

// open reads the state of a loader whose order is in it.
func (o *dataOptions) open(ctx context.Context, name string, g *global) (*timeline.Timeline, error) {
	s, err := o.read(ctx, name, g)
	if err != nil {
		return nil, err
	}
	return o.timeline(s)
}

func (o *dataOptions) timeline(s *saved) (*timeline.Timeline, error) {
	if o.told && (s.form == formTorch || s.form == formWorkers) {
		t, err := o.torchTimeline(s, o.Options)
		return t, errs.Wrap("data", s.name, err)
	}
	if s.doc == nil {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "data", Subject: s.name,
			Want: "a state of Bivouac's loader or pipeline, which holds its order", Got: "a state of " + s.form}
	}
	t, err := o.tell(s, o.Options)
	return t, errs.Wrap("data", s.name, err)
}

// samplesDone returns a function that shows how many samples of a task are done.
func samplesDone(w *work, task string) func(done, total int64) {
	return func(done, total int64) {
		if !w.begun {
			w.screen.Begin(task, total)
			w.begun = true
		}
		if done%(1<<20) == 0 || done == total {
			w.screen.Advance(done, "")
		}
	}
}
