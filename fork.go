package bivouac

import (
	"cmp"
	"context"
	"errors"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/checkpoint/transfer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// ForkOptions modify Fork; nil is the zero value.
type ForkOptions struct {
	// Names spells the steps of the run as directory names; nil is training.StandardNames{}.
	Names training.NameFormat
	// Store, if not nil, holds both runs instead of the local file system.
	Store store.Store
}

// Forked says what Fork has made and what it cost.
type Forked struct {
	Step      int64
	Directory string        // name of the step in the run
	Files     int           // of the step
	Shared    int64         // bytes that both runs have
	Copied    int64         // bytes that the store could not share
	Signed    bool          // the step was signed: see Fork
	Took      time.Duration // of the whole call
}

// Fork makes the new run to of a step of the run from, or of its newest step for training.Latest. A
// job that is opened on the new run goes on from this step, exactly as one on the old run would,
// and neither run changes the other.
//
// The files of the step are shared, by hard links on a disk and by reference in a bucket, where the
// store can do that. Otherwise they are copied. Both runs must be on the same disk or in the same
// bucket. The journal of the new run begins with its origin; tags and other steps stay behind. Fork
// takes no lock of the old run: it may be training, and its retention spares the step meanwhile.
//
// On a disk the new run appears in one move. In a bucket its step does, and the notes about the run
// follow. The error is of kind errs.Exists if to exists, and errs.NotFound if the step does not.
//
// The list of the steps of a signed run is not taken over. The first job on the new run that asks
// for signatures needs Options.AcceptMissing.
func Fork(ctx context.Context, from string, step int64, to string, o *ForkOptions) (*Forked, error) {
	if o == nil {
		o = &ForkOptions{}
	}
	began := time.Now()
	f, err := openFork(from, to, o)
	if err != nil {
		return nil, errs.Wrap("bivouac.Fork", from, err)
	}
	if err := f.fork(ctx, step); err != nil {
		return nil, errs.Wrap("bivouac.Fork", to, err)
	}
	f.out.Took = time.Since(began)
	return &f.out, nil
}

// fork is a run that is made from a step of another one.
type fork struct {
	st       store.Store
	from, to string // names in the store
	text     string // the old run, for the journal
	names    training.NameFormat
	out      Forked
}

// openFork finds the store of both runs.
func openFork(from, to string, o *ForkOptions) (*fork, error) {
	f := &fork{st: o.Store, from: from, to: to, text: from, names: o.Names}
	switch {
	case o.Store != nil:
	case store.IsURL(from) != store.IsURL(to):
		return nil, apart(from, to)
	case store.IsURL(from):
		root, name := store.SplitURL(from)
		other, below := store.SplitURL(to)
		if root != other {
			return nil, apart(from, to)
		}
		st, _, err := store.FromURL(context.Background(), from)
		if err != nil {
			return nil, err
		}
		f.st, f.from, f.to = st, name, below
	default:
		if err := f.onDisk(from, to); err != nil {
			return nil, err
		}
	}
	f.from, f.to = strings.Trim(path.Clean(f.from), "/"), strings.Trim(path.Clean(f.to), "/")
	if f.from == "." {
		f.from = ""
	}
	if f.to == "" || f.to == "." || f.to == f.from || f.from == "" || strings.HasPrefix(f.to, f.from+"/") {
		return nil, &errs.Error{Kind: errs.Invalid, Subject: to, Want: "a new directory outside the run", Got: from,
			Remedy: "choose a name beside the run"}
	}
	return f, nil
}

// apart returns the error for runs that no store could hold both.
func apart(from, to string) error {
	return &errs.Error{Kind: errs.Unsupported, Subject: to,
		Want: "a name on the same disk, or in the same bucket, as " + from, Got: "a name elsewhere",
		Remedy: "fork there, and copy the new run with bivouac cp"}
}

// onDisk opens the store of two paths: the whole file system.
func (f *fork) onDisk(from, to string) (err error) {
	for _, p := range []struct {
		name  string
		place *string
	}{{from, &f.from}, {to, &f.to}} {
		if err := local.CheckPath(p.name); err != nil {
			return err
		}
		abs, err := filepath.Abs(p.name)
		if err != nil {
			return &errs.Error{Kind: errs.Invalid, Subject: p.name, Err: err}
		}
		*p.place = abs
	}
	f.text = f.from
	for _, place := range []*string{&f.from, &f.to} {
		if *place, err = resolved(*place); err != nil {
			return &errs.Error{Kind: errs.IO, Subject: *place, Err: err}
		}
	}
	volume := filepath.VolumeName(f.from)
	if other := filepath.VolumeName(f.to); other != volume {
		return apart(from, to)
	}
	if f.st, err = local.Open(volume+string(filepath.Separator), nil); err != nil {
		return err
	}
	for _, place := range []*string{&f.from, &f.to} {
		*place = filepath.ToSlash(strings.TrimPrefix(*place, volume))
	}
	return nil
}

// resolved follows the symbolic links in the part of a path that exists.
func resolved(name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	up := filepath.Dir(name)
	if err == nil || up == name {
		return real, err
	}
	if real, err = resolved(up); err != nil {
		return "", err
	}
	return filepath.Join(real, filepath.Base(name)), nil
}

func (f *fork) fork(ctx context.Context, step int64) (err error) {
	if err := f.free(ctx); err != nil {
		return err
	}
	c, err := training.Open(ctx, f.from, &training.Options{Store: f.st, Names: f.names})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	in, err := chosen(c, f.text, step)
	if err != nil {
		return err
	}
	f.out.Step, f.out.Directory = in.Step, in.Directory
	name, segment, err := f.origin(ctx, in.Step)
	if err != nil {
		return err
	}
	at := path.Join(f.from, in.Directory)
	pin, err := store.Pin(ctx, f.st, at)
	if err != nil {
		return err
	}
	defer pin.Close() //nolint:errcheck // only read
	if err := pin.Lease(ctx); err != nil && errs.KindOf(err) != errs.Unsupported {
		return err
	}
	files, err := transfer.Files(ctx, transfer.Place{Store: pin, Name: at, Text: f.text})
	if err != nil {
		return err
	}
	note := store.Blob{Name: path.Join(journal.Folder, name), Data: segment}
	if _, bucket := f.st.(store.Ranger); bucket {
		return f.inBucket(ctx, pin, at, files, note)
	}
	return f.inOneMove(ctx, pin, at, files, note)
}

// free returns an error if the new run exists, or lies in a checkpoint.
func (f *fork) free(ctx context.Context) error {
	if up := path.Dir(f.to); up != "." && checkpoint.IsCheckpoint(ctx, up, &checkpoint.LoadOptions{Store: f.st}) {
		return &errs.Error{Kind: errs.Invalid, Want: "a directory outside of checkpoints",
			Got: "one in the checkpoint " + up}
	}
	_, err := f.st.Stat(ctx, f.to)
	switch errs.KindOf(err) {
	case errs.NotFound:
		return nil
	}
	if err != nil {
		return err
	}
	return &errs.Error{Kind: errs.Exists, Want: "a name that is free", Got: "a file or directory",
		Remedy: "choose another name, or remove it with bivouac rm"}
}

// chosen returns a step of the run, or the newest.
func chosen(c *training.Checkpointer, run string, step int64) (training.Info, error) {
	list := c.Checkpoints()
	for i := len(list) - 1; i >= 0; i-- {
		if step == training.Latest || list[i].Step == step {
			return list[i], nil
		}
	}
	e := &errs.Error{Kind: errs.NotFound, Subject: run, Want: "step " + strconv.FormatInt(step, 10), Got: "no step"}
	if step == training.Latest {
		e.Want = "a step"
	}
	if n := len(list); n > 0 {
		e.Got = "steps " + strconv.FormatInt(list[0].Step, 10) + " to " + strconv.FormatInt(list[n-1].Step, 10)
	}
	return training.Info{}, e
}

// origin returns the first segment of the journal of the new run.
func (f *fork) origin(ctx context.Context, step int64) (name string, b []byte, err error) {
	r, err := journal.Open(ctx, f.st, f.from)
	if err != nil {
		return "", nil, err
	}
	start := journal.Start{From: step, Origin: &journal.Origin{Run: f.text, Step: step}}
	for _, s := range journal.Spans(r.Attempts()) {
		if a := s.Attempt; a.Known && (s.Has(step) || s.From == step) {
			own := &a.Start
			start.Identity, start.Steps, start.SaveEvery, start.Batch = own.Identity, own.Steps, own.SaveEvery, own.Batch
			start.World, start.Seed, start.Data = own.World, own.Seed, own.Data
			start.Origin.Attempt, start.Origin.ID = a.Number, a.ID
			if s.Has(step) {
				break
			}
		}
	}
	name, b = journal.Segment(start, journal.End{Outcome: journal.Forked})
	return name, b, nil
}

// notes are the files of the old run that tell about all its steps.
const notes = "metadata"

// metadata returns the names of these files.
func (f *fork) metadata(ctx context.Context) (list []string, err error) {
	for info, err := range f.st.List(ctx, path.Join(f.from, notes)) {
		switch {
		case errs.KindOf(err) == errs.NotFound && len(list) == 0:
			return nil, nil
		case err != nil:
			return nil, err
		case !info.Dir && !store.IsStaging(info.Name):
			list = append(list, path.Join(notes, info.Name))
		}
	}
	return list, nil
}

// link adds the files of the step to a transaction, and makes sure that they are all of one step.
func (f *fork) link(ctx context.Context, t store.Txn, pin store.Pinned, at, below string,
	files []transfer.File) error {
	for _, file := range files {
		if err := t.Link(ctx, path.Join(below, file.Name), path.Join(at, file.Name)); err != nil {
			return err
		}
		f.out.Shared += file.Bytes
		f.out.Signed = f.out.Signed || file.Name == "bivouac.chain"
	}
	if err := pin.Fate(ctx, at); err != nil {
		return &errs.Error{Kind: errs.Busy, Subject: at, Got: "a step that was removed or replaced meanwhile", Err: err,
			Remedy: "fork again"}
	}
	f.out.Files += len(files)
	f.out.Copied = t.Stats().Bytes
	f.out.Shared -= f.out.Copied
	return nil
}

// inOneMove makes the new run in one transaction: it appears whole, or not at all.
func (f *fork) inOneMove(ctx context.Context, pin store.Pinned, at string, files []transfer.File,
	note store.Blob) error {
	t, err := f.st.Begin(ctx, f.to, store.TxnOptions{})
	if err != nil {
		return err
	}
	defer t.Abort() //nolint:errcheck // the first error says more
	if err := f.link(ctx, t, pin, at, f.out.Directory, files); err != nil {
		return err
	}
	list, err := f.metadata(ctx)
	if err != nil {
		return err
	}
	for _, name := range list {
		if err := t.Link(ctx, name, path.Join(f.from, name)); err != nil {
			return err
		}
	}
	return t.Commit(ctx, note)
}

// inBucket commits the step, and then puts the notes beside it: a directory of a bucket that was
// committed as a whole takes no further steps. The lock of the new run keeps others away meanwhile.
func (f *fork) inBucket(ctx context.Context, pin store.Pinned, at string, files []transfer.File,
	note store.Blob) (err error) {
	if l, ok := f.st.(store.Locker); ok {
		lock, err := l.Lock(ctx, f.to)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, lock.Close()) }()
	}
	for info, err := range f.st.List(ctx, f.to) {
		if errs.KindOf(err) == errs.NotFound {
			break
		}
		return cmp.Or(err, error(&errs.Error{Kind: errs.Exists, Want: "a name that is free", Got: info.Name,
			Remedy: "choose another name"}))
	}
	list, err := f.metadata(ctx)
	if err != nil {
		return err
	}
	last := lastFile(files)
	b, err := store.ReadAll(ctx, pin, path.Join(at, last.Name))
	if err != nil {
		return err
	}
	t, err := f.st.Begin(ctx, path.Join(f.to, f.out.Directory), store.TxnOptions{})
	if err != nil {
		return err
	}
	defer t.Abort() //nolint:errcheck // the first error says more
	var others []transfer.File
	for _, file := range files {
		if file != last {
			others = append(others, file)
		}
	}
	if err := f.link(ctx, t, pin, at, "", others); err != nil {
		return err
	}
	if err := t.Commit(ctx, store.Blob{Name: last.Name, Data: b}); err != nil {
		return err
	}
	f.out.Files++
	f.out.Copied += last.Bytes
	for _, name := range list {
		b, err := store.ReadAll(ctx, f.st, path.Join(f.from, name))
		if err == nil {
			err = f.st.Put(ctx, path.Join(f.to, name), b, store.PutOptions{})
		}
		if err != nil {
			return err
		}
	}
	return f.st.Put(ctx, path.Join(f.to, note.Name), note.Data, store.PutOptions{})
}

// lastFile returns the file that the commit writes: the manifest, or the smallest one.
func lastFile(files []transfer.File) transfer.File {
	last := files[0]
	for _, f := range files {
		if f.Name == "bivouac.manifest" {
			return f
		}
		if f.Bytes < last.Bytes {
			last = f
		}
	}
	return last
}
