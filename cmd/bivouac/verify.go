package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// VerifyOptions are the flags of `bivouac verify`.
type VerifyOptions struct {
	trust
	parallel
	Step     int64
	Leaves   bool
	Long     bool
	Coverage percent
	For      string
	Since    since
	Sample   sample
	Metrics  string
}

// AddFlags declares the flags.
func (o *VerifyOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	atLeast(f, &o.Step, "step", 0, anyStep, "check only this step of a run; by default all steps")
	f.BoolVar(&o.Leaves, "leaves", false, "list how much of each leaf and document is covered")
	f.BoolVarP(&o.Long, "long", "l", false, "of several runs, print each checkpoint, and not only what is wrong")
	f.Var(&o.Coverage, "require-coverage",
		"exit with 4 if checksums cover less than this share of the bytes; without PERCENT, less than all of them")
	f.Lookup("require-coverage").NoOptDefVal = "100"
	f.StringVar(&o.For, "for", "", "orbax: exit with 4 if Orbax would refuse to load a checkpoint")
	f.Var(&o.Since, "since",
		"check only steps that were committed since: an age such as 36h or 7d, a date, or a time of RFC 3339")
	f.Var(&o.Sample, "sample",
		"read only a part of the steps of each run: a share, such as 5%, at random, or a part, such as 3/20")
	f.StringVar(&o.Metrics, "openmetrics", "",
		"write the numbers of each run to this file, for the textfile collector of node exporters")
	o.addFlag(cmd)
}

// percent is the value of a flag for a share; 0 means no demand.
type percent float64

// Set implements pflag.Value.
func (p *percent) Set(s string) error {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n >= 0 && n <= 100) {
		return &errs.Error{Kind: errs.Invalid, Want: "a number from 0 to 100", Got: strconv.Quote(s)}
	}
	*p = percent(n)
	return nil
}

// String implements pflag.Value.
func (p *percent) String() string {
	if *p == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*p), 'g', -1, 64)
}

// Type implements pflag.Value.
func (p *percent) Type() string { return "percent" }

func newVerifyCommand(g *global) *cobra.Command {
	var o VerifyOptions
	return with(&cobra.Command{
		Use:   "verify PATH…",
		Short: "Read checkpoints, or all steps of runs, and check every byte",
		Long: `Read a checkpoint, or all steps of a run directory, and compare every byte with
its checksums. The result for each checkpoint is one of three words:

  sound     no damage was found, and a checksum covers every byte
  readable  no damage was found, but some bytes have no checksum, as in checkpoints
            of other programs; the output says how much is covered, with --leaves
            for each leaf (bivouac adopt adds checksums of every byte)
  damaged   something is missing or was changed; if the checkpoint has parity, the
            output says whether bivouac repair can mend it

A directory that looks like a step but is not a whole checkpoint counts as damaged.
With --key, so does a checkpoint that the key did not sign, and a step of a run that
was signed as another step. A signed step that another program removed counts as
damaged too. Damaged is exit status 4; sound and readable are 0.

--require-coverage makes it 4 for checkpoints with too few covered bytes. --for orbax
makes it 4 for checkpoints that load here but not in Orbax 0.12.8 without further
arguments. Both say which checkpoints and why.

` + manyHelp + ` Several runs are read at once, and each has one line.
A run that cannot be read does not stop the others. Damage anywhere is exit status 4.

--sample 5% reads one step in twenty of each run, at least one, chosen anew in each
call. --sample 3/20 reads the third of twenty parts: twenty calls, from 1/20 to 20/20,
read all. What is left out counts as not checked, and the output says how many.

` + exitCodesHelp,
		Example: `  bivouac verify runs/digits
  bivouac verify runs --jsonl                 # every run below a directory
  bivouac verify 's3://bucket/runs/*' --since 24h --sample 5%`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := strayValue(cmd, args, "require-coverage"); err != nil {
				return err
			}
			return runVerify(cmd.Context(), args, o, g)
		},
	}, o.AddFlags, o.addFlags(g), g.addStepPrefix, g.addJSON, g.addURLs)
}

func runVerify(ctx context.Context, args []string, o VerifyOptions, g *global) error {
	if o.For != "" && o.For != "orbax" {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "verify", Subject: "--for", Want: "orbax", Got: o.For}}
	}
	key, err := o.key()
	if err != nil {
		return err
	}
	list, err := findNamed(ctx, args)
	if err != nil {
		return err
	}
	v := &verification{g: g, o: o, key: key, many: len(list) > 1, docs: documents{g: g, array: true}, work: newWork(g)}
	v.work.runs = len(list)
	err = each(ctx, o.jobs(), list, v.run, v.add)
	v.work.close()
	if err != nil {
		return err
	}
	return cmp.Or(v.end(len(list)), v.gauges.write(ctx, o.Metrics, "verify"), v.judge())
}

// verification is a verification of one or several runs.
type verification struct {
	g    *global
	o    VerifyOptions
	key  ed25519.PublicKey
	many bool
	work *work

	docs  documents
	table *table
	told  []verdict // verdicts to print
	sum   verifySummary

	gauges   gauges
	subjects [3][]string // runs with damaged, bare and refused checkpoints
	unknown  tally       // what could not be read
}

// verifySummary is the summary of `verify --jsonl`.
type verifySummary struct {
	Runs        int   `json:"runs"`        // or checkpoints that are not of a run
	Checkpoints int   `json:"checkpoints"` // that were checked
	LeftOut     int   `json:"left_out"`    // by --since and --sample
	Bytes       int64 `json:"bytes"`
	Sound       int   `json:"sound"`
	Readable    int   `json:"readable"`
	Damaged     int   `json:"damaged"`
	Bare        int   `json:"bare"`    // with too few covered bytes for --require-coverage
	Refused     int   `json:"refused"` // by Orbax, with --for
	Unknown     int   `json:"unknown"` // could not be read
}

// verifiedRun is the result for one run.
type verifiedRun struct {
	verdicts []verdict
	leftOut  int
}

// run verifies a run, or a checkpoint.
func (v *verification) run(ctx context.Context, t named) (*verifiedRun, error) {
	out := &verifiedRun{}
	var inspect func(context.Context, training.Info) error
	known := map[string]verdict{} // by path
	if v.key == nil && v.o.Sample.all() {
		inspect = func(ctx context.Context, in training.Info) error {
			path := place(t.path).join(in.Directory)
			if in.Time.Before(v.o.Since.at) {
				return nil
			}
			one := v.one(ctx, path, "")
			known[path] = one
			switch {
			case ctx.Err() != nil:
				return &errs.Error{Kind: errs.Canceled, Subject: path, Err: context.Cause(ctx)}
			case isGone(one.failed):
				return one.failed // it is looked for once more
			}
			return nil
		}
	}
	verdicts, found, err := toVerify(ctx, t.path, v.o.Step, v.key, inspect, v.g)
	if err != nil {
		return nil, err
	}
	chosen := v.o.choose(found)
	out.verdicts, out.leftOut = verdicts, len(found)-len(chosen)
	for _, f := range chosen {
		one, seen := known[f.path]
		if !seen {
			label := ""
			if v.key != nil && f.run {
				label = training.Label(*f.step)
			}
			one = v.one(ctx, f.path, label)
		}
		if ctx.Err() != nil {
			return nil, one.failed
		}
		out.verdicts = append(out.verdicts, one)
	}
	return out, nil
}

// one verifies a checkpoint, which must be signed as label if there is a key.
func (v *verification) one(ctx context.Context, path, label string) verdict {
	tell := func(int64, int64) {}
	if !v.many {
		tell = v.work.on(place(path).base())
	}
	return verify(ctx, path, integrity.VerifyOptions{Key: v.key, Label: label, Progress: tell})
}

// isGone reports whether a checkpoint was removed or replaced while it was read.
func isGone(err error) bool {
	return errors.Is(err, store.ErrRemoved) || errors.Is(err, store.ErrReplaced)
}

// choose returns the checkpoints that --since and --sample want. A checkpoint that the command line
// names is always read.
func (o *VerifyOptions) choose(found []resolved) []resolved {
	if len(found) == 1 && !found[0].run {
		return found
	}
	var out []resolved
	for _, f := range found {
		if !f.committed.Before(o.Since.at) {
			out = append(out, f)
		}
	}
	return o.Sample.of(out)
}

// add takes the result for a run.
func (v *verification) add(t named, run *verifiedRun, err error) error {
	v.sum.Runs++
	if v.many {
		v.work.count(v.sum.Runs, v.sum.Bytes)
	}
	before := v.sum
	defer func() { v.measure(t.path, before) }()
	if err != nil {
		v.sum.Unknown++
		if v.unknown.add(t.path, err); v.many {
			v.g.blame(t.path, err)
			return v.docs.add(failedRun{t.path, newFailureText(err)})
		}
		return nil
	}
	v.sum.LeftOut += run.leftOut
	var bytes int64
	for _, one := range run.verdicts {
		bytes += one.Bytes
		v.count(t, one)
		if !v.many || v.o.Long || one.Verdict != integrity.Sound.String() && one.Verdict != integrity.Readable.String() {
			if !v.g.machine() {
				v.told = append(v.told, one)
			}
		}
		if err := v.docs.add(one); err != nil {
			return err
		}
	}
	v.sum.Bytes += bytes
	v.sum.Checkpoints += len(run.verdicts)
	v.unknown.runs++
	if v.many && !v.g.machine() {
		v.row(t, run, bytes, before)
	}
	return nil
}

// measure adds the numbers of a run to the gauges.
func (v *verification) measure(run string, before verifySummary) {
	now := v.sum
	for _, n := range []struct {
		name, help string
		value      int64
	}{
		{"checkpoints", "Checkpoints that were checked.", int64(now.Checkpoints - before.Checkpoints)},
		{"left_out", "Checkpoints that --since and --sample left out.", int64(now.LeftOut - before.LeftOut)},
		{"bytes", "Bytes of the checkpoints that were checked.", now.Bytes - before.Bytes},
		{"damaged", "Damaged checkpoints.", int64(now.Damaged - before.Damaged)},
		{"uncovered", "Checkpoints with fewer covered bytes than --require-coverage wants.", int64(now.Bare - before.Bare)},
		{"unknown", "Checkpoints, or the run, that could not be read.", int64(now.Unknown - before.Unknown)},
	} {
		v.gauges.set("bivouac_verify_"+n.name, n.help, run, float64(n.value))
	}
}

// count counts a verdict.
func (v *verification) count(t named, one verdict) {
	note := func(n *int, of int) {
		*n++
		if s := &v.subjects[of]; len(*s) == 0 || (*s)[len(*s)-1] != t.path {
			*s = append(*s, t.path)
		}
	}
	switch one.Verdict {
	case integrity.Sound.String():
		v.sum.Sound++
	case integrity.Readable.String():
		v.sum.Readable++
	}
	switch {
	case one.failed != nil:
		v.sum.Unknown++
		v.unknown.add(one.Path, one.failed)
	case one.Verdict == integrity.Damaged.String():
		note(&v.sum.Damaged, 0)
	case one.Percent < float64(v.o.Coverage):
		note(&v.sum.Bare, 1)
	case v.o.For == "orbax" && len(one.Orbax) > 0:
		note(&v.sum.Refused, 2)
	}
}

// row adds the line of a run to the table of runs.
func (v *verification) row(t named, run *verifiedRun, bytes int64, before verifySummary) {
	if v.table == nil {
		v.table = newTable(v.g, "RUN", ">CHECKED", ">LEFT OUT", ">SIZE", "VERDICT")
	}
	word := painted{good, "sound"}
	switch {
	case v.sum.Damaged > before.Damaged:
		word = painted{bad, fmt.Sprintf("DAMAGED: %d", v.sum.Damaged-before.Damaged)}
	case v.sum.Unknown > before.Unknown:
		word = painted{warned, fmt.Sprintf("UNKNOWN: %d", v.sum.Unknown-before.Unknown)}
	case v.sum.Bare > before.Bare:
		word = painted{warned, fmt.Sprintf("too few bytes covered: %d", v.sum.Bare-before.Bare)}
	case v.sum.Refused > before.Refused:
		word = painted{warned, fmt.Sprintf("refused by Orbax: %d", v.sum.Refused-before.Refused)}
	case v.sum.Readable > before.Readable:
		word = painted{warned, "readable"}
	case len(run.verdicts) == 0:
		word = painted{quiet, "not checked"}
	}
	left := ""
	if run.leftOut > 0 {
		left = strconv.Itoa(run.leftOut)
	}
	v.table.add(t.path, strconv.Itoa(len(run.verdicts)), left, size(bytes), word)
}

// end prints the verdicts and the summary.
func (v *verification) end(runs int) error {
	if !v.many && v.sum.Runs == v.unknown.bad && v.sum.Checkpoints == 0 {
		return nil // only an error
	}
	if err := v.docs.end(runs, v.sum); err != nil || v.g.machine() {
		return err
	}
	v.table.print()
	printVerdicts(v.g, v.told, v.o)
	s := v.sum
	if v.many {
		v.g.printf("%d runs, %d checkpoints, %s read: %d sound, %d readable, %d damaged, %d unknown\n", s.Runs,
			s.Checkpoints, size(s.Bytes),
			s.Sound, s.Readable, s.Damaged, s.Unknown)
	}
	if s.LeftOut > 0 {
		v.g.printf("%d of %d checkpoints were left out and are not checked\n", s.LeftOut, s.Checkpoints+s.LeftOut)
	}
	return nil
}

// judge returns the error of the verdicts: damage, a smaller share than demanded, or a checkpoint
// that could not be read.
func (v *verification) judge() error {
	for i, found := range []struct {
		n    int
		kind errs.Kind
		what string
	}{
		{v.sum.Damaged, errs.Corrupt, "damaged"},
		{v.sum.Bare, errs.Mismatch, "covered by checksums to less than " + v.o.Coverage.String() + " percent"},
		{v.sum.Refused, errs.Mismatch, "refused by Orbax"},
	} {
		if found.n > 0 {
			return &errs.Error{Kind: found.kind, Op: "verify", Subject: some(v.subjects[i]),
				Got: fmt.Sprintf("%d of %d checkpoints %s", found.n, v.sum.Checkpoints, found.what)}
		}
	}
	if !v.many {
		return v.unknown.first
	}
	return v.unknown.err()
}

// toVerify lists the checkpoints that path and step name, and the verdicts on directories that
// should be checkpoints and are not.
// inspect, which may be nil, is called for the steps of a run: see training.Options.
func toVerify(ctx context.Context, path string, step int64, key ed25519.PublicKey,
	inspect func(context.Context, training.Info) error, g *global) (verdicts []verdict, found []resolved, err error) {
	if step != anyStep || needDirectory(ctx, path) != nil || checkpoint.IsCheckpoint(ctx, path, nil) {
		one, err := resolve(ctx, path, step, g)
		return nil, []resolved{one}, err
	}
	run, c, err := openSteps(ctx, path, key, training.Options{Inspect: inspect}, g)
	if err == nil {
		err = c.Close()
	}
	if err != nil {
		return nil, nil, err
	}
	for _, s := range run.skipped {
		v := verdict{Path: place(path).join(s.Directory), Verdict: integrity.Damaged.String(), Problems: []string{s.Reason},
			Orbax: []string{}, Parts: []cover{}}
		if errs.KindOf(s.err) == errs.Unsupported { // written by a newer version, for example
			v.Verdict, v.Problems, v.Unread, v.failed = "", []string{}, s.Reason, s.err
		}
		verdicts = append(verdicts, v)
	}
	for _, m := range run.gone {
		verdicts = append(verdicts, verdict{Path: place(path).join(m.Name), Verdict: integrity.Damaged.String(),
			Problems: []string{oneLine(m.Err)}, Orbax: []string{}, Parts: []cover{}})
	}
	for _, s := range run.steps {
		found = append(found, resolved{place(path).join(s.Directory), &s.Step, true, s.Time})
	}
	if len(verdicts)+len(found) == 0 {
		err = run.missing(ctx, path, anyStep)
	}
	return verdicts, found, err
}

func verify(ctx context.Context, path string, o integrity.VerifyOptions) verdict {
	v := verdict{Path: path, Problems: []string{}, Orbax: []string{}, Parts: []cover{}}
	r, err := integrity.Verify(ctx, path, &o)
	if err != nil {
		v.failed, v.Unread = err, oneLine(err)
	}
	if r == nil {
		return v
	}
	failed, unread := v.failed, v.Unread
	v = newVerdict(path, r)
	if err != nil {
		v.Unread = unread
		if r.OK() {
			v.failed, v.Verdict, v.Sound = failed, "", false
		}
	}
	return v
}
