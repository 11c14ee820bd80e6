package integrity

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parts"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/store"
)

// RepairKind is one kind of repair.
type RepairKind uint8

// The kinds of repairs.
const (
	RepairMerge    RepairKind = iota + 1 // the databases of the processes of a save become one
	RepairFinalize                       // a session of partial saves becomes a checkpoint
	RepairSetAside                       // a damaged step is renamed, so that it no longer counts as a step
	RepairClean                          // what an interrupted save left is removed
	RepairMend                           // damaged and lost files are computed from parity
)

// String returns the kind in words.
func (k RepairKind) String() string {
	return [...]string{"none", "merge", "finalize", "set aside", "clean", "mend"}[k]
}

// RepairAction is one repair that is to be done or was done.
type RepairAction struct {
	Kind RepairKind
	Path string // what is repaired, relative to the given directory; "" is that directory
	To   string // its new name, if it is renamed
	Why  error  // the damage of a step that is set aside or mended
	// Done is false without RepairOptions.Apply. With it, only a leftover stays that another process
	// may be at work on, as the store sees it.
	Done bool

	Files []string // for RepairMend: the damaged files, relative to the checkpoint
	// Shared are checkpoints beside the mended one that have a link to the same bytes as a damaged
	// file. Repair of the directory mends them all.
	Shared []string
}

// RepairOptions modify Repair; nil is the zero value.
type RepairOptions struct {
	// Store holds the directory; nil is the local file system.
	Store store.Store
	// Apply makes the repairs; without it nothing is changed.
	Apply bool
	// Quick checks only names and sizes instead of reading every byte.
	Quick bool
	// IsStep reports whether a name of a directory names a step. Steps are set aside if they are
	// damaged, or torn beyond being a checkpoint. nil takes names that are integers.
	IsStep func(name string) bool
	// Progress, when not nil, receives how many bytes of how many of a checkpoint were read, one call
	// at a time and from other goroutines; its path is as in RepairAction.
	Progress func(path string, done, total int64)
}

// RepairReport is what Repair found and did.
type RepairReport struct {
	Path    string
	Checked int // checkpoints that were looked at
	Actions []RepairAction
	// Problems are damages that cannot be repaired, and files that were left alone. Each names its
	// file.
	Problems []error
}

// Repair looks for damage and for leftovers of interrupted programs in a checkpoint, in a session
// of partial saves, or in a directory of these. With RepairOptions.Apply it repairs them:
//
//   - Databases of several processes that were never merged are merged, if they hold all that the
//     checkpoint should hold.
//   - Sessions of partial saves are finalized, see partial.Finalize.
//   - Damaged and lost files of a checkpoint that was saved with Options.Parity are computed from
//     the others, compared with its manifest, and replaced together: whole files are linked into a
//     new directory, and the two directories are exchanged. A step that was set aside then gets its
//     name back, if the name is free. A file that steps share by Dedup is mended once and shared
//     again.
//   - Other damaged steps of a run are renamed to <name>.damaged. A step that the disk cannot read
//     is a problem and keeps its name, because a later attempt may succeed.
//   - Staging leftovers are removed.
//
// Repair removes and renames nothing else, and never writes to a data file. An interrupted repair
// can be repeated; a completed repair leaves nothing to do. If another process saves in a directory
// of steps and holds its lock, Repair returns errs.Busy. So it does if another process replaces a
// checkpoint meanwhile.
func Repair(ctx context.Context, dir string, o *RepairOptions) (*RepairReport, error) {
	const op = "integrity.Repair"
	if o == nil {
		o = &RepairOptions{}
	}
	st, name, err := locate.Checkpoint(dir, o.Store)
	if err != nil {
		return nil, errs.Wrap(op, dir, err)
	}
	r := &repairer{st: st, root: name, opts: *o, report: &RepairReport{Path: dir}}
	if r.opts.IsStep == nil {
		r.opts.IsStep = isInteger
	}
	return r.report, errs.Wrap(op, dir, r.run(ctx))
}

func isInteger(name string) bool {
	n, err := strconv.ParseUint(name, 10, 63)
	return err == nil && strconv.FormatUint(n, 10) == name
}

// repairer is one call of Repair.
type repairer struct {
	st     store.Store
	root   string
	opts   RepairOptions
	report *RepairReport
	mended map[string]string // mended files, by content
}

// below returns a name relative to the root.
func (r *repairer) below(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, r.root), "/")
}

// act records an action, and does it with Apply. An action that fails because of damage is a
// problem; other errors end the repair.
func (r *repairer) act(a RepairAction, do func() error) error {
	if r.opts.Apply {
		err := do()
		if err != nil && !errors.Is(err, errStays) {
			switch errs.KindOf(err) {
			case errs.Corrupt, errs.Mismatch, errs.Exists, errs.Unsupported, errs.NotFound, errs.Invalid, errs.Busy:
				r.report.Problems = append(r.report.Problems, err)
				return nil
			}
			return err
		}
		a.Done = err == nil
	}
	r.report.Actions = append(r.report.Actions, a)
	return nil
}

// errStays says that a store keeps a leftover for now.
var errStays = errors.New("another process may be at work on it")

func (r *repairer) problem(err error) { r.report.Problems = append(r.report.Problems, err) }

func (r *repairer) run(ctx context.Context) error {
	if store.IsStaging(r.root) {
		return &errs.Error{Kind: errs.Invalid, Want: "a checkpoint, a session or a directory of them",
			Got:    "the leftover of an interrupted save",
			Remedy: "name the directory that it is in"}
	}
	if parts.IsSession(r.root) {
		return r.session(ctx, r.root)
	}
	info, err := r.st.Stat(ctx, r.root)
	if errs.KindOf(err) == errs.NotFound {
		switch _, serr := r.st.Stat(ctx, parts.Session(r.root)); {
		case serr == nil:
			return r.session(ctx, parts.Session(r.root))
		case errs.KindOf(serr) != errs.NotFound:
			return serr
		}
	}
	if err != nil {
		return err
	}
	if !info.Dir {
		return &errs.Error{Kind: errs.Invalid, Want: "a directory", Got: "a file"}
	}
	err = open(ctx, r.st, r.root)
	switch kind := errs.KindOf(err); {
	case err == nil, kind == errs.Corrupt:
		if err := r.checkpoint(ctx, r.root, false); err != nil {
			return err
		}
		return r.finished(ctx)
	case layout.IsUnreadable(err):
		return r.unreadable(ctx, r.root, false, err)
	case kind == errs.Invalid:
		return r.directory(ctx)
	}
	return err
}

// open returns an error unless name is a checkpoint, as layout.Open does.
func open(ctx context.Context, st store.Store, name string) error {
	return layout.Options{}.Read(ctx, st, name, func(*layout.Checkpoint) error { return nil })
}

// finished removes the session from which the checkpoint was made, if only that is left to do.
func (r *repairer) finished(ctx context.Context) error {
	_, err := r.st.Stat(ctx, parts.Session(r.root))
	switch errs.KindOf(err) {
	case errs.NotFound, errs.Invalid: // it does not exist, or the name is not valid
		return nil
	}
	if err != nil {
		return err
	}
	return r.session(ctx, parts.Session(r.root))
}

// lock takes the lock of a directory in which a trainer has saved, to keep a trainer out. It fails
// if a trainer is at work there.
func (r *repairer) lock(ctx context.Context) (io.Closer, error) {
	none := io.NopCloser(nil)
	l, ok := r.st.(store.Locker)
	if !ok || !r.opts.Apply {
		return none, nil
	}
	if _, err := r.st.Stat(ctx, path.Join(r.root, store.LockName)); err != nil {
		if errs.KindOf(err) == errs.NotFound {
			err = nil
		}
		return none, err
	}
	lock, err := l.Lock(ctx, r.root)
	if errs.KindOf(err) == errs.Unsupported {
		return none, nil
	}
	return lock, err
}

// directory repairs the contents of a directory of checkpoints.
func (r *repairer) directory(ctx context.Context) (err error) {
	lock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := r.leftovers(ctx, r.root); err != nil {
		return err
	}
	var names []string
	for e, err := range r.st.List(ctx, r.root) {
		if err != nil {
			return err
		}
		if e.Dir && !store.IsStaging(e.Name) {
			names = append(names, e.Name)
		}
	}
	for _, n := range names {
		var err error
		if layout.IsSetAside(n) {
			err = r.restore(ctx, path.Join(r.root, n))
		} else if parts.IsSession(n) {
			err = r.session(ctx, path.Join(r.root, n))
		} else {
			err = r.element(ctx, path.Join(r.root, n), r.opts.IsStep(n))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// element repairs a directory that may be a checkpoint.
func (r *repairer) element(ctx context.Context, name string, step bool) error {
	err := open(ctx, r.st, name)
	switch kind := errs.KindOf(err); {
	case err == nil, kind == errs.Corrupt:
		return r.checkpoint(ctx, name, true)
	case layout.IsUnreadable(err):
		return r.unreadable(ctx, name, true, err)
	case kind != errs.Invalid && kind != errs.Unsupported:
		return err
	case !step:
		return nil // nothing says that this is a checkpoint
	}
	old, perr := store.Pin(ctx, r.st, name)
	if perr != nil {
		return perr
	}
	defer old.Close() //nolint:errcheck // nothing was written
	torn, terr := r.torn(ctx, old, name)
	switch {
	case terr != nil:
		return terr
	case torn:
		return r.setAside(ctx, name, old, err)
	}
	r.problem(err)
	return nil
}

// torn reports whether a directory that is not a checkpoint is the rest of one: it is empty, or has
// a file that only checkpoints have.
func (r *repairer) torn(ctx context.Context, st store.Store, name string) (bool, error) {
	files, err := parts.Files(ctx, st, name, nil)
	if err != nil {
		return false, err
	}
	for _, f := range files {
		switch path.Base(f) {
		case orbax.TreeFile, orbax.CheckpointFile, orbax.CommitFile, orbax.MarkerFile, ocdbt.ManifestName, manifest.Name:
			return true, nil
		}
	}
	return len(files) == 0, nil
}

// looks is how often Repair looks at a checkpoint that other processes keep replacing.
const looks = 16

// checkpoint repairs one checkpoint, whole or damaged.
func (r *repairer) checkpoint(ctx context.Context, name string, oneOfMany bool) error {
	r.report.Checked++
	if err := r.leftoversBelow(ctx, name); err != nil {
		return err
	}
	for range looks - 1 {
		if replaced, err := r.look(ctx, name, oneOfMany); replaced == nil || err != nil {
			return err
		}
	}
	replaced, err := r.look(ctx, name, oneOfMany)
	if replaced != nil {
		r.problem(replaced)
	}
	return err
}

// look repairs a checkpoint, unless another process replaces it while it is read.
func (r *repairer) look(ctx context.Context, name string, oneOfMany bool) (replaced, err error) {
	old, err := store.Pin(ctx, r.st, name)
	if err != nil {
		return nil, err
	}
	defer old.Close() //nolint:errcheck // nothing was written
	damage, err := r.damage(ctx, name)
	if errs.KindOf(err) == errs.IO { // perhaps the disk has lost sectors
		if done, merr := r.mend(ctx, name, name, err, oneOfMany); done || merr != nil {
			return nil, merr
		}
	}
	if err == nil {
		err = store.Overtaken(ctx, r.st, old, name)
	}
	switch kind := errs.KindOf(err); {
	case kind == errs.Busy, errors.Is(err, store.ErrReplaced):
		return err, nil
	case kind == errs.Unsupported:
		r.problem(err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	if damage != nil {
		done, err := r.mend(ctx, name, name, damage, oneOfMany)
		if done || err != nil {
			return nil, err
		}
		// Another process may have replaced the checkpoint by a whole one.
		err = store.Overtaken(ctx, r.st, old, name)
		if errs.KindOf(err) == errs.Busy {
			return err, nil
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case damage != nil && oneOfMany && !layout.IsUnreadable(damage):
		return nil, r.setAside(ctx, name, old, damage)
	case damage != nil:
		r.problem(damage)
		return nil, nil
	}
	return nil, r.merges(ctx, name)
}

// unreadable repairs a checkpoint that the disk cannot read. If a second look finds no damage, it
// reports why.
func (r *repairer) unreadable(ctx context.Context, name string, oneOfMany bool, why error) error {
	if _, err := r.st.Stat(ctx, path.Join(name, manifest.Name)); err != nil {
		if _, err = r.st.Stat(ctx, path.Join(name, orbax.CheckpointFile)); err != nil {
			return why // perhaps a directory of steps
		}
	}
	done, problems := len(r.report.Actions), len(r.report.Problems)
	switch err := r.checkpoint(ctx, name, oneOfMany); {
	case errs.KindOf(err) == errs.Invalid:
		return why // not a checkpoint, which the first look could not tell
	case err != nil:
		return err
	}
	if len(r.report.Problems) > problems || slices.ContainsFunc(r.report.Actions[done:],
		func(a RepairAction) bool { return a.Kind == RepairMend || a.Kind == RepairSetAside }) {
		return nil
	}
	return why
}

// merges merges the unmerged databases of a sound checkpoint.
func (r *repairer) merges(ctx context.Context, name string) error {
	c, err := layout.Open(ctx, r.st, name)
	if err != nil {
		return err
	}
	defer c.Close()
	items, err := c.Items(ctx)
	if err != nil {
		return err
	}
	for _, it := range items {
		if it.Kind != layout.Tree || c.Manifest != nil {
			continue
		}
		dirs, err := c.Unmerged(ctx, it.Name)
		if err != nil {
			return err
		}
		if len(dirs) == 0 {
			continue
		}
		a := RepairAction{Kind: RepairMerge, Path: r.below(path.Join(name, it.Name))}
		if err := r.act(a, func() error { return parts.MergeItem(ctx, r.st, name, it.Name, dirs) }); err != nil {
			return err
		}
	}
	return nil
}

// damage returns the first damage of a checkpoint, or nil if it is sound.
func (r *repairer) damage(ctx context.Context, name string) (error, error) {
	if r.opts.Quick {
		err := layout.Options{}.Read(ctx, r.st, name, func(c *layout.Checkpoint) error { return c.CheckFiles(ctx) })
		if errs.KindOf(err) == errs.Corrupt {
			return err, nil
		}
		return nil, err
	}
	return firstDamage(ctx, name, &VerifyOptions{Store: r.st, Progress: r.progress(name)})
}

// progress returns the progress function for Verify of a checkpoint.
func (r *repairer) progress(name string) func(done, total int64) {
	if r.opts.Progress == nil {
		return nil
	}
	return func(done, total int64) { r.opts.Progress(r.below(name), done, total) }
}

// setAside renames the inspected directory old. If another directory has just taken its name, that
// one gets its name back.
func (r *repairer) setAside(ctx context.Context, name string, old store.Pinned, why error) error {
	a := RepairAction{Kind: RepairSetAside, Path: r.below(name), To: layout.AsideName(path.Base(name), 1), Why: why}
	return r.act(a, func() error {
		if err := store.Overtaken(ctx, r.st, old, name); err != nil {
			return err
		}
		to, err := layout.SetAside(ctx, r.st, name)
		a.To = path.Base(to)
		if err == nil && errors.Is(old.Fate(ctx, to), store.ErrReplaced) {
			err = errors.Join(&errs.Error{Kind: errs.Busy, Subject: name, Want: "the directory that was read",
				Got: "another directory", Err: store.ErrReplaced,
				Remedy: "run it again: it reads the present contents"}, r.st.Rename(ctx, to, name))
		}
		return err
	})
}

// session finalizes a session, or records why that failed.
func (r *repairer) session(ctx context.Context, name string) error {
	r.report.Checked++
	final := parts.Final(name)
	a, err := parts.Assemble(ctx, r.st, name)
	if err == nil {
		_, err = a.IsAt(ctx, final)
	}
	switch errs.KindOf(err) {
	case errs.Corrupt, errs.Mismatch, errs.Unsupported, errs.Exists:
		r.problem(errs.Wrap("partial.Finalize", r.below(name), err))
		return nil
	}
	if err != nil {
		return err
	}
	return r.act(RepairAction{Kind: RepairFinalize, Path: r.below(name), To: path.Base(final)}, func() error {
		return parts.Finalize(ctx, r.st, final, nil, 0, check)
	})
}

// leftovers removes the leftovers of interrupted saves directly below dir.
func (r *repairer) leftovers(ctx context.Context, dir string) error {
	for e, err := range r.st.List(ctx, dir) {
		if err != nil {
			return err
		}
		if !store.IsLeftover(e.Name) {
			continue
		}
		err := r.act(RepairAction{Kind: RepairClean, Path: r.below(path.Join(dir, e.Name))}, func() error {
			removed, err := r.st.CleanStaging(ctx, dir, func(i store.Info) bool { return i.Name != e.Name })
			if err == nil && !slices.Contains(removed, e.Name) {
				return errStays
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// leftoversBelow removes leftovers in all directories of a checkpoint.
func (r *repairer) leftoversBelow(ctx context.Context, dir string) error {
	if err := r.leftovers(ctx, dir); err != nil {
		return err
	}
	for e, err := range r.st.List(ctx, dir) {
		if err != nil {
			return err
		}
		if e.Dir && !store.IsStaging(e.Name) {
			if err := r.leftoversBelow(ctx, path.Join(dir, e.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}
