package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

// tableOptions are the flags of commands that need the tables behind the hashes of a state.
type tableOptions struct {
	Tables      []string
	Readers     []string
	Description string
}

func (o *tableOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.Tables, "table", nil,
		"`FILE` with a table of the order: lengths of samples, sizes of shards, or the samples of a filter; "+
			"may be given several times")
	f.StringVar(&o.Description, "description", "",
		"`FILE` with the text of Loader.Description, needed if the state has only a digest of the order; "+
			"a job keeps it in its run, where it is found")
	f.StringSliceVar(&o.Readers, "readers", nil,
		"`NAMES` of the readers of a pipeline, in the order of its graph, if the state does not tell the order")
}

// tell returns the timeline of a state of Bivouac's.
func (o *tableOptions) tell(s *saved, with timeline.Options) (*timeline.Timeline, error) {
	with.Readers = o.Readers
	switch {
	case o.Description != "":
		b, err := os.ReadFile(o.Description)
		if err != nil {
			return nil, unopened("data", o.Description, err)
		}
		with.Description = strings.TrimSpace(string(b))
	case digestOf(s.doc) != "":
		identity := digestOf(s.doc)
		if with.Description = keptDescription(s, identity); with.Description != "" {
			break
		}
		return nil, &errs.Error{Kind: errs.Unsupported, Subject: "order",
			Want: "the description of the order, because the state has only its digest", Got: identity,
			Remedy: "give the text that Loader.Description returns with --description FILE"}
	}
	for _, name := range o.Tables {
		t, err := readTable(name)
		if err != nil {
			return nil, err
		}
		with.Tables = append(with.Tables, t)
	}
	t, err := timeline.OpenDocument(*s.doc, with)
	if m := (*order.MissingTables)(nil); errors.As(err, &m) {
		return nil, &errs.Error{Kind: errs.Unsupported, Want: "the tables, because the state has only their hashes",
			Got: m.Error(), Err: m,
			Remedy: "give each with --table FILE: numbers in a .npy file, a JSON list, or a text file with one number a line"}
	}
	return t, err
}

// digestOf returns the digest of an order in a state, of the loader or of a reader of the pipeline,
// or "" if the state has no digest.
func digestOf(d *state.Document) string {
	for _, name := range slices.Sorted(maps.Keys(d.Fields)) {
		if (name == "order" || strings.HasPrefix(name, "order ")) && order.IsDigest(d.Fields[name]) {
			return d.Fields[name]
		}
	}
	return ""
}

// keptDescription returns the description of the order with an identity that a job keeps in the
// directory of its run, if the state belongs to it, or "".
func keptDescription(s *saved, identity string) string {
	_, digest, _ := strings.Cut(identity, "digest=")
	digest, _, _ = strings.Cut(digest, " ")
	run := place(place(place(s.name).parent()).parent()) // s.name is the item of a step
	b, err := place(run.join("metadata", "order-"+digest+".txt")).read(context.Background(), mostState)
	if err != nil || order.IdentityOf(string(b)) != identity {
		return ""
	}
	return string(b)
}

// mostTable bounds the size of a file with a table.
const mostTable = 16 << 30

// readTable reads numbers from a .npy file, a JSON list, or a text file.
func readTable(name string) (order.Table, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, unopened("data", name, err)
	}
	if info.Size() > mostTable {
		return nil, &errs.Error{Kind: errs.Exhausted, Op: "data", Subject: name, Want: "a table of at most 16 GiB", Got: fmt.Sprint(info.Size(), " bytes")}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, unopened("data", name, err)
	}
	var t order.Table
	switch trimmed := bytes.TrimSpace(b); {
	case bytes.HasPrefix(b, []byte("\x93NUMPY")):
		t, err = arrayTable(b)
	case bytes.HasPrefix(trimmed, []byte("[")):
		err = json.Unmarshal(trimmed, &t)
	default:
		t, err = textTable(b)
	}
	if err != nil {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: "data", Subject: name, Want: "whole numbers: a .npy file of one dimension, a JSON list, or a text file with one number a line", Err: err}
	}
	return t, nil
}

// arrayTable reads an array of integers or booleans.
func arrayTable(b []byte) (order.Table, error) {
	a, err := npy.Decode(b)
	if err != nil {
		return nil, err
	}
	if d := a.DType; len(a.Shape) != 1 || !(d.IsInteger() || d == tensor.Bool) {
		return nil, &errs.Error{Kind: errs.Invalid, Want: "integers or booleans of one dimension", Got: fmt.Sprint(d, a.Shape)}
	}
	if a, err = tensor.Cast(tensor.Int64, a); err != nil {
		return nil, err
	}
	return tensor.Of[int64](a)
}

// textTable reads numbers that stand between white space.
func textTable(b []byte) (order.Table, error) {
	t := order.Table{}
	for word := range bytes.FieldsSeq(b) {
		n, err := strconv.ParseInt(string(word), 10, 64)
		if err != nil {
			return nil, err
		}
		t = append(t, n)
	}
	return t, nil
}

// torchOptions are the flags for values that a state of torchdata does not hold.
type torchOptions struct {
	Samples   int64
	BatchSize int64
	told      bool // the command has flags for them
}

func (o *torchOptions) addTorchFlags(cmd *cobra.Command) {
	o.told = true
	f := cmd.Flags()
	atLeast(f, &o.Samples, "samples", 1, 0, "length of the data set, for a state of torchdata")
	atLeast(f, &o.BatchSize, "batch-size", 1, 0, "size of the batches, for a state of torchdata")
}

// torchTimeline returns the epoch of a state of StatefulDataLoader with shuffle=True. The state
// holds the generator from before the permutation was drawn.
func (o *torchOptions) torchTimeline(s *saved, opt timeline.Options) (*timeline.Timeline, error) {
	if o.Samples < 1 || o.BatchSize < 1 {
		return nil, usageError{&errs.Error{Kind: errs.Invalid, Op: "data", Subject: "--samples and --batch-size",
			Want: "the values of the loader, which a state of torchdata does not hold"}}
	}
	main, delivered := s.tree, integer(s.tree, "_num_yielded")
	if s.form == formWorkers {
		snapshot := member(s.tree, "_snapshot")
		main, delivered = member(snapshot, "_main_snapshot"), integer(snapshot, "_snapshot_step")+integer(s.tree, "_steps_since_snapshot")
	}
	generator := member(member(member(main, "_sampler_iter_state"), "sampler_iter_state"), "generator")
	if generator == nil {
		return nil, &errs.Error{Kind: errs.Unsupported, Want: "the state of a loader with shuffle, which holds a generator", Got: "a sampler that only the program knows"}
	}
	raw, err := json.Marshal(generator)
	if err != nil {
		return nil, err
	}
	g, err := torchdata.DecodeGenerator(raw)
	if err != nil {
		return nil, err
	}
	r, err := torchdata.NewRandom(torchdata.RandomOptions{N: o.Samples, Generator: &g})
	if err != nil {
		return nil, err
	}
	return timeline.OneEpoch(firstEpoch{r}, o.BatchSize, delivered, opt)
}

// firstEpoch is the first epoch of an order without end.
type firstEpoch struct{ *torchdata.Random }

var _ order.Order = firstEpoch{}

func (e firstEpoch) Len() (int64, bool) { return e.EpochLen(), true }

func (e firstEpoch) String() string { return fmt.Sprint("first epoch of ", e.Random) }

func member(m map[string]any, name string) map[string]any {
	v, _ := m[name].(map[string]any)
	return v
}

func integer(m map[string]any, name string) int64 {
	n, _ := m[name].(json.Number)
	i, err := n.Int64()
	if err != nil {
		return -1
	}
	return i
}
