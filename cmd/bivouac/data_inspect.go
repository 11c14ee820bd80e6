package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/state"
)

// fact is a line of an inspection.
type fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func newDataInspectCommand(g *global) *cobra.Command {
	var src stateSource
	return with(&cobra.Command{
		Use:   "inspect STATE|RUN|STEP",
		Short: "Say in words what a saved state holds",
		Long: `Say in words what a saved state holds: where the run stands, in which order, with
which batches, what was skipped.

` + exitCodesHelp,
		Example: `  bivouac data inspect runs/digits
  bivouac data inspect state.json --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := src.read(cmd.Context(), args[0], g)
			if err != nil {
				return err
			}
			facts := append([]fact{{"form", s.form}, {"size", fmt.Sprint(len(s.raw), " bytes")}}, s.job...)
			facts = append(facts, s.facts()...)
			return g.show(facts, func() { printFacts(g, facts) })
		},
	}, src.addFlags, g.addStepPrefix, g.addJSON)
}

func printFacts(g *global, facts []fact) {
	width := 0
	for _, f := range facts {
		width = max(width, len(f.Name))
	}
	for _, f := range facts {
		g.printf("%-*s  %s\n", width, f.Name, excerpt(f.Value))
	}
}

func (s *saved) facts() []fact {
	switch {
	case s.doc != nil:
		return documentFacts(s.doc)
	case s.dali != nil:
		return daliFacts(s.dali)
	case s.form == formWorkers:
		return workerFacts(s.tree)
	case s.alone != nil:
		return s.alone
	}
	return leaves(nil, "", s.tree)
}

// documentFacts returns the facts of a document of Bivouac.
func documentFacts(d *state.Document) []fact {
	facts := []fact{{"kind", d.Kind}, {"position", fmt.Sprint(d.Position, " samples")}, {"epoch", fmt.Sprint(d.Epoch)}}
	if t, err := timeline.OpenDocument(*d, timeline.Options{}); err == nil {
		facts = append(facts, timelineFacts(t)...)
	} else if d.Kind == "loader" || d.Kind == "pipeline" {
		facts = append(facts, fact{"order known", "no: " + err.Error()})
	}
	if d.Kind == "loader" {
		facts = append(facts, fact{"goes on over", goesOnOver(d)})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Fields)) {
		facts = append(facts, fact{name, d.Fields[name]})
	}
	for _, f := range []fact{{"fingerprint", d.Fingerprint}, {"config", d.Config}, {"digest", d.Digest}} {
		if f.Value != "" {
			facts = append(facts, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Extra)) {
		if name == "index" || name == "step" || name == "history" {
			continue // already described
		}
		facts = append(facts, fact{name, string(d.Extra[name])})
	}
	return facts
}

// goesOnOver says which ranks can go on from the state of a loader.
func goesOnOver(d *state.Document) string {
	r, err := timeline.RanksOf(*d)
	switch {
	case err != nil:
		return "not known: " + err.Error()
	case r.Own && r.Iterable:
		return fmt.Sprintf("rank %d of %d alone; any number of ranks goes on from what loader.Merge makes of the states of all", r.Rank, r.World)
	case r.Own:
		return fmt.Sprintf("rank %d of %d alone, for batches were handed out out of order; any number of ranks goes on from states at the steps of SettleEvery and between epochs", r.Rank, r.World)
	case r.Iterable:
		return "any number of ranks that divides the number of streams"
	case r.World > 0:
		return fmt.Sprint(r.World, " ranks, for batches were handed out out of order")
	}
	return "any number of ranks"
}

func timelineFacts(t *timeline.Timeline) []fact {
	p := t.Here()
	share := 100.0
	if n := t.EpochLen(); n > 0 {
		share = 100 * float64(p.Index) / float64(n)
	}
	facts := []fact{
		{"in the epoch", fmt.Sprintf("%d of %d samples (%.1f %%)", p.Index, t.EpochLen(), share)},
		{"step", fmt.Sprint(p.Step, ", over ", t.World(), " ranks")},
	}
	if b, err := t.Batch(p.Step); err == nil {
		facts = append(facts, fact{"next batch", fmt.Sprint(len(b.IDs), " samples, of epoch ", b.Epoch)})
	}
	if readers := t.Readers(); len(readers) > 1 {
		facts = append(facts, fact{"readers", strings.Join(readers, ", ")})
	}
	if first := t.FirstStep(); first > 0 {
		facts = append(facts, fact{"known from", fmt.Sprint("step ", first)})
	}
	return facts
}

// workerFacts returns the facts of torchdata's loader with workers.
func workerFacts(tree map[string]any) []fact {
	snapshot, _ := tree["_snapshot"].(map[string]any)
	main, _ := snapshot["_main_snapshot"].(map[string]any)
	workers, _ := snapshot["_worker_snapshots"].(map[string]any)
	facts := []fact{
		{"batches", fmt.Sprintf("%s at the snapshot, and %s since", show(snapshot["_snapshot_step"]), show(tree["_steps_since_snapshot"]))},
		{"workers", fmt.Sprint(show(main["_num_workers"]), ", the last to deliver was ", show(snapshot["_last_yielded_worker_id"]))},
		{"epoch finished", show(tree["_iterator_finished"])},
	}
	facts = leaves(facts, "main", main)
	return leaves(facts, "", workers)
}

// daliFacts returns the facts of a checkpoint of DALI.
func daliFacts(c *stateproto.Checkpoint) (facts []fact) {
	for i := range c.Ops {
		op := &c.Ops[i]
		switch s := op.Snapshot().(type) {
		case *stateproto.Reader:
			facts = append(facts, fact{op.Name, fmt.Sprintf("reader: epoch %d, %d samples since its start", s.Loader.Epoch, s.Loader.Age)})
			if b := s.Bivouac; b != nil {
				facts = append(facts, fact{op.Name + " order", b.Order}, fact{op.Name + " fingerprint", b.Fingerprint})
			}
		case stateproto.Random:
			facts = append(facts, fact{op.Name, "random: " + s.String()})
		case stateproto.Opaque:
			facts = append(facts, fact{op.Name, fmt.Sprint(len(s), " bytes")})
		}
	}
	if e := c.External; e != nil {
		facts = append(facts, fact{"pipeline", string(e.Pipeline)}, fact{"iterator", string(e.Iterator)})
	}
	return facts
}

// leaves appends the leaves of JSON with their paths.
func leaves(facts []fact, path string, v any) []fact {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			facts = leaves(facts, strings.TrimPrefix(path+"."+name, "."), v[name])
		}
		if len(v) == 0 {
			facts = append(facts, fact{path, "{}"})
		}
	case []any:
		if len(v) == 0 || !hasObject(v) {
			return append(facts, fact{path, show(v)})
		}
		for i, e := range v {
			facts = leaves(facts, path+"["+strconv.Itoa(i)+"]", e)
		}
	default:
		facts = append(facts, fact{path, show(v)})
	}
	return facts
}

func hasObject(list []any) bool {
	return slices.ContainsFunc(list, func(e any) bool {
		_, ok := e.(map[string]any)
		return ok
	})
}

// show returns a value as JSON.
func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // a value from JSON always encodes
		return fmt.Sprint(v)
	}
	return string(b)
}

// excerpt returns the beginning of a long text.
func excerpt(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:most], ""), len(s))
}
