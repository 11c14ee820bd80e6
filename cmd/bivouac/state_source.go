package main

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

// stateSource has the flags that choose a saved state in a run or a step.
type stateSource struct {
	At   int64
	Item string
}

// addFlags declares the flags, and --step-prefix.
func (s *stateSource) addFlags(cmd *cobra.Command) {
	atLeast(cmd.Flags(), &s.At, "at", 0, anyStep, "step of a run; by default the newest")
	cmd.Flags().StringVar(&s.Item, "item", "",
		"item of a checkpoint that holds the state; by default data, or the only such item")
}

// read reads a saved state: a file, - for standard input, an item of a checkpoint, or
// of a step of a run.
func (s stateSource) read(ctx context.Context, name string, g *global) (*saved, error) {
	if is, err := place(name).isDirectory(ctx); name == "-" || err != nil || !is {
		if place(name).remote() {
			return nil, cmp.Or(err, error(&errs.Error{Kind: errs.Unsupported, Op: "state", Subject: name,
				Want: "a run or a step of a job", Got: "an object", Remedy: "copy it to a disk first"}))
		}
		if s.Item != "" || s.At != anyStep {
			return nil, usageError{&errs.Error{Kind: errs.Invalid, Op: "data", Subject: "--item and --at", Want: "a run or a checkpoint", Got: name}}
		}
		return readState(name)
	}
	item := s.Item
	found, err := resolve(ctx, name, s.At, g)
	if err != nil && item == "" && errs.KindOf(err) == errs.Invalid {
		// The directory of an item is no run, and says so. Runs and other directories may lie
		// beside files that make their parent look like a checkpoint.
		if parent := place(name).parent(); checkpoint.IsCheckpoint(ctx, parent, nil) {
			item = place(name).base()
			found, err = resolve(ctx, parent, s.At, g)
		}
	}
	if err != nil {
		return nil, err
	}
	return itemState(ctx, found.path, item)
}

// itemState reads the state in an item of a checkpoint, or in the only item that holds a state.
func itemState(ctx context.Context, path, item string) (*saved, error) {
	info, err := checkpoint.Metadata(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	var names []string
	var states []*saved
	for _, it := range info.Items {
		names = append(names, it.Name)
		if item != "" && it.Name != item {
			continue
		}
		b, err := itemBytes(ctx, path, it)
		if err != nil || b == nil {
			if item != "" && err != nil {
				return nil, err
			}
			continue
		}
		s := &saved{name: place(path).join(it.Name), raw: b, jobStep: -1}
		switch err := s.recognize(); {
		case err != nil && (item != "" || it.Name == dataItem):
			return nil, errs.Wrap("data", s.name, err)
		case err != nil || item == "" && s.form == formJSON:
		case it.Name == dataItem:
			return s, nil
		default:
			states = append(states, s)
		}
	}
	if len(states) == 1 {
		return states[0], nil
	}
	e := &errs.Error{Kind: errs.NotFound, Op: "data", Subject: path, Want: "an item that is a saved state", Got: "items " + some(names)}
	switch {
	case len(states) > 1:
		e.Kind, e.Want, e.Got, e.Remedy = errs.Invalid, "one saved state", strconv.Itoa(len(states)), "choose one with --item: "+names[0]
	case item != "":
		e.Want, e.Remedy = "item "+strconv.Quote(item), errs.DidYouMean(item, names)
	}
	return nil, e
}

// dataItem is the item in which a job keeps the state of its data.
const dataItem = "data"

// itemBytes reads an item that may be a state: JSON, or a file of one process as Grain's handler
// writes it. It returns nil for other items.
func itemBytes(ctx context.Context, path string, it checkpoint.ItemInfo) ([]byte, error) {
	switch it.Kind {
	case "json":
		return checkpoint.ReadDocument(ctx, path, it.Name, nil)
	case "tree", "proto":
		return nil, nil
	}
	dir := place(place(path).join(it.Name))
	list, err := dir.list(ctx)
	if errs.KindOf(err) == errs.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if !e.dir && strings.HasPrefix(e.name, "process_") && strings.HasSuffix(e.name, ".json") {
			return place(dir.join(e.name)).read(ctx, mostState)
		}
	}
	return nil, nil
}

// jobDocument is the document in the item of a job: the state of its stream at a step.
type jobDocument struct {
	Version  int             `json:"version"`
	Identity string          `json:"identity"`
	Step     *int64          `json:"step"`
	Stream   json.RawMessage `json:"stream"`
}

// unwrap takes the state of a stream from the document of a job; ok is false for another state.
func (s *saved) unwrap() (ok bool, err error) {
	var d jobDocument
	if json.Unmarshal(s.raw, &d) != nil || d.Step == nil || len(d.Stream) == 0 || d.Version == 0 {
		return false, nil
	}
	if d.Version != 1 {
		return true, &errs.Error{Kind: errs.Unsupported, Subject: "version", Want: "1", Got: strconv.Itoa(d.Version), Remedy: "a newer version of Bivouac wrote the job's document"}
	}
	if *d.Step < 0 {
		return true, &errs.Error{Kind: errs.Corrupt, Subject: "step", Want: "at least 0", Got: strconv.FormatInt(*d.Step, 10)}
	}
	s.jobStep = *d.Step
	s.job = []fact{{"job step", strconv.FormatInt(*d.Step, 10)}}
	if d.Identity != "" {
		s.job = append(s.job, fact{"identity", d.Identity})
	}
	s.raw = d.Stream
	var text string
	if json.Unmarshal(d.Stream, &text) == nil {
		s.raw = []byte(text)
	}
	return true, nil
}
