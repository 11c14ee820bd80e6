package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/compat/grain"
	"github.com/bivouac-ml/bivouac/compat/streaming"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/state"
)

// stateProof is what `data verify --json` prints.
type stateProof struct {
	State    string
	Form     string
	Proved   bool // the samples match the order; else only the form was checked
	Samples  int64
	Digest   string
	Coverage *[2]timeline.Coverage `json:",omitempty"`
	Why      string                `json:",omitempty"` // why the check stopped at the form
}

func newDataVerifyCommand(g *global) *cobra.Command {
	var o dataOptions
	var set setOptions
	return with(&cobra.Command{
		Use:   "verify DATA|STATE|RUN|STEP",
		Short: "Read every record of a data set, or check a saved state against its order",
		Long: `Read every record of a data set and compare it with the checksums that its format has.
Damaged records are counted, and the first of them are named. The argument is a data
set if it is a data.yaml, a pattern, a file with the usual name of a format, or a
folder with such files, or if --reader is given.

` + setHelp + `Otherwise check a saved state. For a state of Bivouac's loader or pipeline the ids of all
samples up to its position are drawn again from the order, some ten nanoseconds each;
position, digest and coverage must match them. For other states only the form and the
hash of the options are checked, and the output says so. JSON that is not a state of
a known form is damaged.

` + exitCodesHelp,
		Example: `  bivouac data verify data.yaml
  bivouac data verify runs/digits`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if isDataSet(cmd.Context(), args[0], &set) {
				return verifySet(cmd.Context(), g, args[0], &set)
			}
			s, err := o.read(cmd.Context(), args[0], g)
			if err != nil {
				return err
			}
			if err := s.check(); err != nil {
				return errs.Wrap("data verify", s.name, err)
			}
			p := stateProof{State: s.name, Form: s.form}
			t, why, err := o.provable(s)
			if err != nil {
				return err
			}
			if t == nil {
				p.Why = "only the form of such a state can be checked" + why
				return g.show(p, func() { g.printf("well formed: %s; %s\n", s.form, p.Why) })
			}
			w := newWork(g)
			proof, err := t.Verify(cmd.Context(), samplesDone(w, "verify"))
			w.close()
			if err != nil {
				return errs.Wrap("data", s.name, err)
			}
			p.Proved, p.Samples, p.Digest, p.Coverage = true, proof.Samples, proof.Digest, &proof.Coverage
			if g.json {
				return g.printJSON(p)
			}
			g.printf("sound: %d samples in %d batches, in the order of\n", proof.Samples, t.Here().Step)
			_, readers, err := (&readerOptions{}).of(t)
			for _, r := range readers {
				g.printf("  %s\n", r.Order())
			}
			g.printf("digest %s\n", proof.Digest)
			return err
		},
	}, o.addFlags, set.addFlags, g.addStepPrefix, g.addJSON, g.addURLs)
}

// provable returns the timeline of a state of Bivouac. It returns nil if the state does not tell
// which samples were delivered; why says more, if there is more to say.
func (o *dataOptions) provable(s *saved) (t *timeline.Timeline, why string, err error) {
	if s.doc == nil {
		return nil, "", nil
	}
	t, err = o.timeline(s)
	if errs.KindOf(err) == errs.Unsupported && s.doc.Kind != "loader" {
		return nil, ": " + err.Error(), nil
	}
	return t, "", err
}

// check checks a state against its form.
func (s *saved) check() error {
	switch {
	case s.doc != nil:
		if want := state.HashFields(s.doc.Fields); s.doc.Config != "" && s.doc.Config != want {
			return damagedState("config", want+", the hash of the fields", s.doc.Config)
		}
		if s.doc.Position < 0 || s.doc.Epoch < 0 || s.doc.Batch < 0 {
			return damagedState("position, epoch and batch",
				"at least 0", strconv.FormatInt(min(s.doc.Position, s.doc.Epoch, s.doc.Batch), 10))
		}
		return nil
	case s.form == formWorkers:
		return s.checkWorkers()
	case s.form == formTorch:
		return wholeNumbers(s.tree, "_sampler_iter_yielded", "_num_yielded")
	case s.form == formNodes:
		return wholeNumbers(s.tree, "num_yielded")
	case s.form == formStream:
		_, err := streaming.ParseState(s.raw)
		return err
	case s.form == formGrain && s.tree["last_seen_indices"] != nil:
		_, err := grain.ParseLoaderState(s.raw)
		return err
	case s.form == formGrain:
		for _, name := range []string{"next_index", "global_next_index"} {
			if s.tree[name] != nil {
				return wholeNumbers(s.tree, name)
			}
		}
	case s.form == formJSON:
		return damagedState("", "a state of a known form", "JSON of unknown shape")
	}
	return nil
}

// checkWorkers checks the state of the loader of torchdata with workers: it needs one snapshot for
// each worker, and plausible counts.
func (s *saved) checkWorkers() error {
	if err := wholeNumbers(s.tree, "_steps_since_snapshot"); err != nil {
		return err
	}
	snapshot := member(s.tree, "_snapshot")
	if err := wholeNumbers(snapshot, "_snapshot_step"); err != nil {
		return err
	}
	main, workers := member(snapshot, "_main_snapshot"), member(snapshot, "_worker_snapshots")
	if err := wholeNumbers(main, "_num_workers", "_sampler_iter_yielded"); err != nil {
		return err
	}
	n := integer(main, "_num_workers")
	if int64(len(workers)) != n {
		return damagedState("_snapshot._worker_snapshots", strconv.FormatInt(n, 10)+" workers", strconv.Itoa(len(workers)))
	}
	for i := range n {
		name := "worker_" + strconv.FormatInt(i, 10)
		if w := member(workers, name); w == nil || integer(w, "worker_id") != i {
			return damagedState("_snapshot._worker_snapshots."+name, "the state of worker "+strconv.FormatInt(i, 10),
				"another state, or no state")
		}
	}
	if last := integer(snapshot, "_last_yielded_worker_id"); last < -1 || last >= n {
		return damagedState("_snapshot._last_yielded_worker_id", "a worker below "+strconv.FormatInt(n, 10), show(snapshot["_last_yielded_worker_id"]))
	}
	return nil
}

// wholeNumbers checks that members are whole numbers of at least 0.
func wholeNumbers(m map[string]any, names ...string) error {
	for _, name := range names {
		if m == nil || integer(m, name) < 0 {
			return damagedState(name, "a whole number of at least 0", show(m[name]))
		}
	}
	return nil
}

func damagedState(subject, want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Subject: subject, Want: want, Got: got}
}
