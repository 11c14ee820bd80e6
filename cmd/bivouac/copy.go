package main

import (
	"context"
	"path"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/transfer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// CopyOptions are the flags of `bivouac cp`.
type CopyOptions struct {
	parallel
	Overwrite bool
}

// AddFlags declares the flags.
func (o *CopyOptions) AddFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.Overwrite, "overwrite", false, "replace other checkpoints at the destination")
}

// copies is what `cp --json` prints.
type copies struct {
	Source      string          `json:"source"`
	Destination string          `json:"destination"`
	Checkpoints []copiedOne     `json:"checkpoints"`
	Files       int             `json:"files"` // of the run, outside its checkpoints
	Skipped     []skippedSource `json:"skipped"`
}

type copiedOne struct {
	Path    string `json:"path"`
	Files   int    `json:"files"`
	Bytes   int64  `json:"bytes"`
	Present bool   `json:"present"` // it was there already, and nothing was copied
	Sound   bool   `json:"sound"`   // checksums of the checkpoint cover each byte, and all hold at the destination
}

// skippedSource is a directory of a run that is not copied.
type skippedSource struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

func newCopyCommand(g *global) *cobra.Command {
	var o CopyOptions
	return with(&cobra.Command{
		Use:   "cp SRC… DST",
		Short: "Copy checkpoints or runs as they are, also from and to an object store",
		Long: `Copy a checkpoint, or a run with all its whole steps and its tags, byte for byte. SRC
and DST are paths or URLs, such as s3://bucket/run. DST is the name of the copy. A
checkpoint appears there in one move when it is whole and durable. It is read back and
compared with its checksums, or with the source.

` + severalHelp + `

Checkpoints that are there already and have the same files are passed over. So the
same call again goes on where an interrupted one stopped, and brings new steps.
Steps that share files on a disk have files of their own in the copy.

` + exitCodesHelp,
		Example: `  bivouac cp runs/digits s3://bucket/digits
  bivouac cp 'runs/*' s3://bucket/runs`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return runCopy(cmd.Context(), args, o, g) },
	}, o.AddFlags, o.addFlags(g), g.addStepPrefix, g.addJSON, g.addURLs)
}

// severalHelp says in the help of cp and sync how several runs are copied.
const severalHelp = `With several SRC, a pattern, or a directory with runs below it, DST is a directory, and
each run is copied to its name there. A failure of one does not stop the others.`

// copySource is a run or checkpoint to copy, and its destination.
type copySource struct {
	named
	dst place
}

// sources returns what to copy where. alone reports whether the last argument is the name of the
// only copy.
func sources(ctx context.Context, args []string) (list []copySource, alone bool, err error) {
	dst := place(args[len(args)-1])
	found, err := findNamed(ctx, args[:len(args)-1])
	if err != nil {
		return nil, false, err
	}
	if len(args) == 2 && len(found) == 1 && found[0].path == args[0] {
		return []copySource{{found[0], dst}}, true, nil
	}
	to := map[place]string{}
	for _, f := range found {
		s := copySource{f, place(dst.join(f.below))}
		if other, taken := to[s.dst]; taken && f.err == nil {
			return nil, false, usageError{&errs.Error{Kind: errs.Invalid, Op: "cp", Subject: string(s.dst), Want: "one source",
				Got: other + " and " + f.path, Remedy: "copy them in two calls"}}
		}
		to[s.dst] = f.path
		list = append(list, s)
	}
	return list, false, nil
}

// copyAll copies sources, each with copy, which returns what to print for programs and for people.
func copyAll(ctx context.Context, op string, args []string, o CopyOptions, g *global,
	copy func(ctx context.Context, src, dst place, g *global) (doc any, print func(), err error)) error {
	list, alone, err := sources(ctx, args)
	if err != nil {
		return err
	}
	if alone && list[0].err == nil {
		doc, print, err := copy(ctx, place(list[0].path), list[0].dst, g)
		if err != nil {
			return err
		}
		docs := documents{g: g}
		if err := docs.add(doc); err != nil {
			return err
		}
		if !g.machine() {
			print()
		}
		return docs.end(1, map[string]int{"runs": 1, "failed": 0})
	}
	silent := *g
	silent.quiet = true // several bars at once would disturb each other
	work := newWork(g)
	work.runs = len(list)
	type copied struct {
		doc   any
		print func()
	}
	docs, sums := documents{g: g, array: true}, tally{op: op}
	var prints []func()
	names, at := make([]named, len(list)), map[string]place{}
	for i, s := range list {
		names[i], at[s.path] = s.named, s.dst
	}
	err = each(ctx, o.jobs(), names, func(ctx context.Context, t named) (copied, error) {
		doc, print, err := copy(ctx, place(t.path), at[t.path], &silent)
		return copied{doc, print}, err
	}, func(t named, c copied, err error) error {
		sums.add(t.path, err)
		work.count(sums.runs, 0)
		if err != nil {
			g.blame(t.path, err)
			return docs.add(failedRun{t.path, newFailureText(err)})
		}
		prints = append(prints, c.print)
		return docs.add(c.doc)
	})
	work.close()
	if err != nil {
		return err
	}
	if !g.machine() {
		for _, print := range prints {
			print()
		}
		g.printf("%d of %d copied\n", sums.runs-sums.bad, sums.runs)
	}
	if err := docs.end(len(list), map[string]int{"runs": sums.runs, "failed": sums.bad}); err != nil {
		return err
	}
	return sums.err()
}

func runCopy(ctx context.Context, args []string, o CopyOptions, g *global) error {
	return copyAll(ctx, "cp", args, o, g, func(ctx context.Context, src, dst place, g *global) (any, func(), error) {
		if err := copyable(ctx, "cp", src, dst); err != nil {
			return nil, nil, err
		}
		c, err := newCopier(src, dst, o, g), error(nil)
		if checkpoint.IsCheckpoint(ctx, string(src), nil) {
			err = c.checkpoint(ctx, src, dst)
		} else {
			err = c.run(ctx, src, dst, func(*runDir) error { return nil })
		}
		c.work.close()
		return c.out, c.print, err
	})
}

// copyable returns an error unless src is a directory outside of dst.
func copyable(ctx context.Context, op string, src, dst place) error {
	is, err := src.isDirectory(ctx)
	if err != nil {
		return err
	}
	if !is {
		return &errs.Error{Kind: errs.Unsupported, Op: op, Subject: string(src),
			Want: "the directory of a checkpoint or a run", Got: "a file",
			Remedy: "bivouac convert writes a checkpoint that is a file as a directory"}
	}
	if src.inside(dst) || dst.inside(src) {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: op, Subject: string(dst),
			Want: "a destination outside the source", Got: string(src)}}
	}
	return nil
}

// inside reports whether p is q, or below it.
func (p place) inside(q place) bool {
	if p.remote() != q.remote() {
		return false
	}
	for at := place(p.join()); ; {
		if string(at) == q.join() {
			return true
		}
		up := place(at.parent())
		if up == at {
			return false
		}
		at = up
	}
}

// copier copies checkpoints, and keeps what it did.
type copier struct {
	g    *global
	o    CopyOptions
	work *work
	out  copies
	dry  bool // only say what would be copied
}

func newCopier(src, dst place, o CopyOptions, g *global) *copier {
	return &copier{g: g, o: o, work: newWork(g), out: copies{Source: string(src), Destination: string(dst),
		Checkpoints: []copiedOne{}, Skipped: []skippedSource{}}}
}

func (c *copier) print() {
	for _, one := range c.out.Checkpoints {
		what := "copied  "
		switch {
		case one.Present:
			what = "present "
		case c.dry:
			what = "copy    "
		case one.Sound:
			what = "sound   "
		}
		c.g.printf("%s  %s  %d files, %s\n", what, one.Path, one.Files, size(one.Bytes))
	}
	for _, s := range c.out.Skipped {
		c.g.printf("skipped   %s: %s\n", s.Path, s.Reason)
	}
	if c.out.Files > 0 {
		what := "copied  "
		if c.dry {
			what = "copy    "
		}
		c.g.printf("%s  %d further files of the run\n", what, c.out.Files)
	}
}

// run copies the whole steps of a run, oldest first, calls copied, and then copies what lies beside
// the steps.
func (c *copier) run(ctx context.Context, src, dst place, copied func(run *runDir) error) error {
	run, err := openRun(ctx, string(src), c.g)
	if err != nil {
		return err
	}
	if len(run.steps) == 0 {
		if len(run.skipped) > 0 {
			return errs.Wrap("cp", src.join(run.skipped[0].Directory), run.skipped[0].reason())
		}
		return run.missing(ctx, string(src), anyStep)
	}
	if is, err := dst.isDirectory(ctx); err == nil && (!is || checkpoint.IsCheckpoint(ctx, string(dst), nil)) {
		return &errs.Error{Kind: errs.Exists, Op: "cp", Subject: string(dst),
			Want: "no checkpoint and no file under the name of a run", Remedy: "choose another name"}
	} else if err != nil && errs.KindOf(err) != errs.NotFound {
		return err
	}
	done := map[string]bool{}
	for _, s := range run.steps {
		done[s.Directory] = true
		if err := c.checkpoint(ctx, place(src.join(s.Directory)), place(dst.join(s.Directory))); err != nil {
			return err
		}
	}
	for _, s := range run.skipped {
		done[s.Directory] = true
		c.out.Skipped = append(c.out.Skipped, skippedSource{src.join(s.Directory), s.Reason})
	}
	for _, name := range run.aside {
		done[name] = true
		c.out.Skipped = append(c.out.Skipped, skippedSource{src.join(name), "it was set aside, and is no step any more"})
	}
	if err := copied(run); err != nil {
		return err
	}
	return c.beside(ctx, src, dst, done)
}

// beside copies what a run has beside its steps.
func (c *copier) beside(ctx context.Context, src, dst place, done map[string]bool) error {
	list, err := src.list(ctx)
	if err != nil {
		return err
	}
	for _, e := range list {
		from, to := place(src.join(e.name)), place(dst.join(e.name))
		switch {
		case done[e.name] || store.IsStaging(e.name) || e.name == store.LockName:
		case e.dir && checkpoint.IsCheckpoint(ctx, string(from), nil):
			err = c.checkpoint(ctx, from, to)
		case e.dir:
			err = c.beside(ctx, from, to, nil)
		default:
			err = c.small(ctx, from, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// small copies a file of a run.
func (c *copier) small(ctx context.Context, src, dst place) error {
	from, name, err := src.open(ctx)
	if err != nil {
		return err
	}
	to, final, err := dst.open(ctx)
	if err != nil {
		return err
	}
	b, err := store.ReadAll(ctx, from, name)
	if err != nil {
		return err
	}
	if old, err := store.ReadAll(ctx, to, final); err == nil && slices.Equal(old, b) {
		return nil
	}
	c.out.Files++
	if c.dry {
		return nil
	}
	return to.Put(ctx, final, b, store.PutOptions{})
}

// checkpoint copies a checkpoint, unless it is there.
func (c *copier) checkpoint(ctx context.Context, src, dst place) error {
	files, err := src.files(ctx)
	if err != nil {
		return err
	}
	one := copiedOne{Path: string(dst), Files: len(files)}
	for _, f := range files {
		one.Bytes += f.Bytes
	}
	tell := func(int64, int64) {}
	t, err := newTransfer(ctx, src, dst, files, &transfer.Options{Overwrite: c.o.Overwrite,
		Progress: func(done, total int64) { tell(done, total) }})
	if err != nil {
		return err
	}
	switch is, err := dst.isDirectory(ctx); {
	case err == nil && is:
		tell = c.work.on("compare " + src.base())
		same, err := t.Present(ctx)
		if err != nil {
			return err
		}
		if same {
			one.Present = true
			c.out.Checkpoints = append(c.out.Checkpoints, one)
			return nil
		}
		if !c.o.Overwrite {
			return &errs.Error{Kind: errs.Exists, Op: "cp", Subject: string(dst), Want: "no other checkpoint under this name",
				Remedy: "choose another name, or give --overwrite"}
		}
	case err == nil:
		return &errs.Error{Kind: errs.Exists, Op: "cp", Subject: string(dst), Got: "a file", Remedy: "choose another name"}
	case errs.KindOf(err) != errs.NotFound:
		return err
	}
	if c.dry {
		c.out.Checkpoints = append(c.out.Checkpoints, one)
		return nil
	}
	tell = c.work.on(src.base())
	if err := t.Run(ctx); err != nil {
		return err
	}
	one.Sound, err = c.arrived(ctx, src, dst, func() error {
		tell = c.work.on("compare " + src.base())
		return t.Compare(ctx)
	})
	c.out.Checkpoints = append(c.out.Checkpoints, one)
	return err
}

// arrived reads the copy back. sound says that checksums of the checkpoint cover each byte.
// Otherwise the bytes are compared with what was read from the source.
func (c *copier) arrived(ctx context.Context, src, dst place, compare func() error) (sound bool, err error) {
	r, err := integrity.Verify(ctx, string(dst), &integrity.VerifyOptions{Progress: c.work.on("verify " + src.base())})
	if err == nil && r.Verdict() == integrity.Sound {
		return true, nil
	}
	if kind := errs.KindOf(err); err != nil && kind != errs.Unsupported && kind != errs.Corrupt && kind != errs.NotFound {
		return false, err
	}
	// It may be damaged at the source, or have no checksums.
	if lost := compare(); lost != nil {
		return false, lost
	}
	if err == nil && r.Verdict() == integrity.Damaged {
		problem := error(nil)
		if len(r.Problems) > 0 {
			problem = r.Problems[0]
		}
		err = &errs.Error{Kind: errs.Corrupt, Op: "cp", Subject: string(dst),
			Got: "the bytes of a damaged checkpoint", Err: problem,
			Remedy: "the source is damaged: bivouac verify " + string(src) + " says where, bivouac repair may mend it"}
	}
	return false, err
}

// newTransfer prepares the copy of the files of a checkpoint.
func newTransfer(ctx context.Context, src, dst place, files []storedFile,
	o *transfer.Options) (*transfer.Transfer, error) {
	from, err := src.located(ctx)
	if err != nil {
		return nil, err
	}
	to, err := dst.located(ctx)
	if err != nil {
		return nil, err
	}
	if to.Name == "" {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "cp", Subject: string(dst),
			Want: "a name in the bucket", Got: "a whole bucket", Remedy: "give " + dst.join(path.Base(from.Name))}
	}
	list := make([]transfer.File, len(files))
	for i, f := range files {
		list[i] = transfer.File{Name: f.Name, Bytes: f.Bytes}
	}
	return transfer.New(ctx, from, to, list, o)
}
