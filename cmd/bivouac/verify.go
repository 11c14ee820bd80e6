package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// VerifyOptions are the flags of `bivouac verify`.
type VerifyOptions struct {
	trust
	Step     int64
	Leaves   bool
	Coverage percent
	For      string
}

// AddFlags declares the flags.
func (o *VerifyOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	atLeast(f, &o.Step, "step", 0, anyStep, "check only this step of a run; by default all steps")
	f.BoolVar(&o.Leaves, "leaves", false, "list how much of each leaf and document is covered")
	f.Var(&o.Coverage, "require-coverage",
		"exit with 4 if checksums cover less than this share of the bytes; without PERCENT, less than all of them")
	f.Lookup("require-coverage").NoOptDefVal = "100"
	f.StringVar(&o.For, "for", "", "orbax: exit with 4 if Orbax would refuse to load a checkpoint")
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

// verdict is what `verify --json` prints of one checkpoint.
type verdict struct {
	Path     string   `json:"path"`
	Verdict  string   `json:"verdict"` // sound, readable, damaged; "" if it could not be checked
	Sound    bool     `json:"sound"`
	Manifest bool     `json:"manifest"`
	Coverage string   `json:"coverage"`
	Percent  float64  `json:"percent"` // share of the bytes of leaves and documents that checksums cover
	Files    int      `json:"files"`
	Leaves   int      `json:"leaves"`
	Bytes    int64    `json:"bytes"`
	Problems []string `json:"problems"`
	Mendable bool     `json:"mendable"` // bivouac repair can mend all of it
	Orbax    []string `json:"orbax"`    // why Orbax would refuse it
	Unread   string   `json:"unread,omitempty"`
	Parts    []cover  `json:"parts"`

	failed  error // why it could not be checked
	ofOrbax bool  // it is of a layout of Orbax
}

// cover is how much of a leaf or document is covered.
type cover struct {
	Kind    string  `json:"kind"` // leaf or document
	Item    string  `json:"item,omitempty"`
	Path    string  `json:"path"`
	Bytes   int64   `json:"bytes"`
	Covered int64   `json:"covered"`
	Percent float64 `json:"percent"`
	Error   string  `json:"error,omitempty"`
}

func newVerifyCommand(g *global) *cobra.Command {
	var o VerifyOptions
	return with(&cobra.Command{
		Use:   "verify PATH",
		Short: "Read a checkpoint, or all steps of a run, and check every byte",
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

` + exitCodesHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runVerify(cmd.Context(), args[0], o, g) },
	}, o.AddFlags, g.addStepPrefix, g.addJSON, g.addURLs)
}

func runVerify(ctx context.Context, path string, o VerifyOptions, g *global) error {
	if o.For != "" && o.For != "orbax" {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "verify", Subject: "--for", Want: "orbax", Got: o.For}}
	}
	key, err := o.key()
	if err != nil {
		return err
	}
	verdicts, found, err := toVerify(ctx, path, o.Step, key, g)
	if err != nil {
		return err
	}
	work := newWork(g)
	for _, f := range found {
		label := ""
		if key != nil && f.run {
			label = training.Label(*f.step)
		}
		v := verify(ctx, f.path, integrity.VerifyOptions{Key: key, Label: label, Progress: work.on(place(f.path).base())})
		if ctx.Err() != nil {
			work.close()
			return v.failed
		}
		verdicts = append(verdicts, v)
	}
	work.close()
	return cmp.Or(g.show(verdicts, func() { printVerdicts(g, verdicts, o) }), o.judge(path, verdicts))
}

// judge returns the error of the verdicts: damage, a smaller share than demanded, or a checkpoint
// that could not be read.
func (o *VerifyOptions) judge(path string, verdicts []verdict) error {
	damaged, bare, refused := 0, 0, 0
	var failed error
	for _, v := range verdicts {
		switch {
		case v.failed != nil:
			failed = v.failed
		case v.Verdict == integrity.Damaged.String():
			damaged++
		case v.Percent < float64(o.Coverage):
			bare++
		case o.For == "orbax" && len(v.Orbax) > 0:
			refused++
		}
	}
	for _, found := range []struct {
		n    int
		kind errs.Kind
		what string
	}{
		{damaged, errs.Corrupt, "damaged"},
		{bare, errs.Mismatch, "covered by checksums to less than " + o.Coverage.String() + " percent"},
		{refused, errs.Mismatch, "refused by Orbax"},
	} {
		if found.n > 0 {
			return &errs.Error{Kind: found.kind, Op: "verify", Subject: path, Got: fmt.Sprintf("%d of %d checkpoints %s", found.n, len(verdicts), found.what)}
		}
	}
	return failed
}

// toVerify lists the checkpoints that path and step name, and the verdicts on directories that
// should be checkpoints and are not.
func toVerify(ctx context.Context, path string, step int64, key ed25519.PublicKey, g *global) (verdicts []verdict, found []resolved, err error) {
	if step != anyStep || needDirectory(ctx, path) != nil || checkpoint.IsCheckpoint(ctx, path, nil) {
		one, err := resolve(ctx, path, step, g)
		return nil, []resolved{one}, err
	}
	run, err := openRunOf(ctx, path, key, g)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range run.skipped {
		v := verdict{Path: place(path).join(s.Directory), Verdict: integrity.Damaged.String(), Problems: []string{s.Reason}, Orbax: []string{}, Parts: []cover{}}
		if errs.KindOf(s.err) == errs.Unsupported { // written by a newer version, for example
			v.Verdict, v.Problems, v.Unread, v.failed = "", []string{}, s.Reason, s.err
		}
		verdicts = append(verdicts, v)
	}
	for _, m := range run.gone {
		verdicts = append(verdicts, verdict{Path: place(path).join(m.Name), Verdict: integrity.Damaged.String(), Problems: []string{oneLine(m.Err)}, Orbax: []string{}, Parts: []cover{}})
	}
	for _, s := range run.steps {
		found = append(found, resolved{place(path).join(s.Directory), &s.Step, true})
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

// newVerdict returns the verdict of a report.
func newVerdict(path string, r *integrity.Report) verdict {
	v := verdict{Path: path, Problems: []string{}, Orbax: []string{}, Parts: []cover{}}
	v.Manifest, v.Coverage, v.Files, v.Leaves, v.Bytes = r.Manifest, r.Coverage, r.Files, r.Leaves, r.Bytes
	v.Percent, v.Mendable = share(r.Share()), r.Mendable
	for _, p := range r.Problems {
		v.Problems = append(v.Problems, p.Error())
	}
	for _, p := range r.Orbax {
		v.Orbax = append(v.Orbax, p.Error())
		v.ofOrbax = v.ofOrbax || errs.KindOf(p) != errs.Unsupported
	}
	for _, p := range r.Parts {
		v.Parts = append(v.Parts, newCover(p))
	}
	v.Verdict, v.Sound = r.Verdict().String(), r.Verdict() == integrity.Sound
	return v
}

func newCover(p integrity.Coverage) cover {
	c := cover{Kind: "leaf", Item: p.Item, Path: p.Path, Bytes: p.Bytes, Covered: p.Covered, Percent: 100}
	if p.Document {
		c.Kind = "document"
	}
	if p.Bytes > 0 {
		c.Percent = share(float64(p.Covered) / float64(p.Bytes))
	}
	if p.Err != nil {
		c.Error = oneLine(p.Err)
	}
	return c
}

// share is a part of 1 in percent, with two digits: 100 only where it is all.
func share(part float64) float64 {
	if part >= 1 {
		return 100
	}
	return math.Floor(part*1e4) / 1e2
}

func printVerdicts(g *global, verdicts []verdict, o VerifyOptions) {
	for _, v := range verdicts {
		switch {
		case v.Verdict == "":
			g.printf("UNKNOWN   %s\n          %s\n", v.Path, v.Unread)
			continue
		case v.Verdict == integrity.Damaged.String():
			g.printf("DAMAGED   %s\n", v.Path)
			for _, p := range v.Problems {
				g.printf("          %s\n", p)
			}
			if v.Mendable {
				g.printf("          repair can mend it: bivouac repair --apply %s\n", v.Path)
			}
		case v.Sound:
			g.printf("sound     %s  %d files, %d leaves, %s; covered: %s\n", v.Path, v.Files, v.Leaves, size(v.Bytes), v.Coverage)
		default:
			g.printf("readable  %s  %d files, %d leaves, %s; %g %% of the bytes are covered\n", v.Path, v.Files, v.Leaves, size(v.Bytes), v.Percent)
			g.printf("          covered: %s\n", v.Coverage)
			v.printBare(g)
		}
		for _, p := range v.Orbax {
			if v.ofOrbax || o.For != "" {
				g.printf("          loads here, not in Orbax: %s\n", p)
			}
		}
		if o.Leaves {
			v.printParts(g)
		}
	}
}

// printBare names the files and arrays whose damage would not be noticed.
func (v *verdict) printBare(g *global) {
	bare := map[string][]string{}
	for _, p := range v.Parts {
		if p.Covered < p.Bytes {
			bare[p.Kind] = append(bare[p.Kind], p.Path)
		}
	}
	for _, kind := range []string{"leaf", "document"} {
		if list := bare[kind]; len(list) > 0 {
			g.printf("          not covered: %s: %s\n", map[string]string{"leaf": "leaves", "document": "documents"}[kind], some(list))
		}
	}
}

// printParts prints how much of each leaf and document is covered.
func (v *verdict) printParts(g *global) {
	for _, p := range v.Parts {
		name := p.Path
		if p.Item != "" {
			name = p.Item + "  " + name
		}
		g.printf("          %6g %%  %10s  %-8s  %s", p.Percent, size(p.Bytes), p.Kind, name)
		if p.Error != "" {
			g.printf("  %s", p.Error)
		}
		g.printf("\n")
	}
}
