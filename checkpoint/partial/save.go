package partial

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/image"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parts"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/plan"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/arena"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tree"
)

// SaveOptions modify a partial save; nil is the zero value.
type SaveOptions struct {
	// SaveOptions are those of any save, but for Overwrite and Base, which have no
	// place in a session, and layouts without a database. Custom is joined to that
	// of the parts before, member by member, the later one counts.
	checkpoint.SaveOptions
	// Replace lets leaves take the place of those that the parts before have: the
	// same, above and below. Without it these are errs.Exists.
	Replace bool
	// Remove lists leaves and containers of the parts before, as the names of keys
	// from the root of the item, that the checkpoint is not to have; what is not
	// there is errs.NotFound.
	Remove [][]string
}

// Save adds state to the session of path, beginning one where there is none, and
// returns when the part is durable.
//
// Errors: Exists for a checkpoint that is finished, and for leaves that the
// session has already, naming them; Invalid for leaves that no file could hold;
// what the store says.
func Save(ctx context.Context, path string, state any, o *SaveOptions) error {
	return SaveCheckpointables(ctx, path, named(state, o), o)
}

// SaveAsync is Save that returns when the state is copied. A part of the same
// session that is still being saved is waited for first.
func SaveAsync(ctx context.Context, path string, state any, o *SaveOptions) (*checkpoint.Response[checkpoint.SaveStats], error) {
	return SaveCheckpointablesAsync(ctx, path, named(state, o), o)
}

func named(state any, o *SaveOptions) map[string]any {
	if o != nil && o.Name != "" {
		return map[string]any{o.Name: state}
	}
	return map[string]any{orbax.StateItem: state}
}

// SaveCheckpointables adds several items, or leaves of several, as one part.
func SaveCheckpointables(ctx context.Context, path string, items map[string]any, o *SaveOptions) error {
	r, _, err := begin(ctx, path, items, o, image.InPlace)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, r.Cancel)()
	_, err = r.Result(context.WithoutCancel(ctx))
	return err
}

// SaveCheckpointablesAsync is SaveCheckpointables that returns when everything is
// copied. A failure that no Result has returned is returned by Finalize, which
// then makes nothing.
func SaveCheckpointablesAsync(ctx context.Context, path string, items map[string]any, o *SaveOptions) (*checkpoint.Response[checkpoint.SaveStats], error) {
	how := image.Copy
	if o != nil && o.Release != nil {
		how = image.HandOver
	}
	r, im, err := begin(ctx, path, items, o, how)
	if err != nil {
		return nil, err
	}
	im.WaitCopied()
	return r, nil
}

// begin finds out what the part may add, lays it out, and saves in the background.
func begin(ctx context.Context, path string, values map[string]any, o *SaveOptions, how image.Mode) (*checkpoint.Response[checkpoint.SaveStats], *image.Image, error) {
	const op = "partial.Save"
	o, err := o.resolve(ctx)
	if err != nil {
		return nil, nil, errs.Wrap(op, path, err)
	}
	st, name, err := locate.Checkpoint(parts.Final(path), o.Store)
	if err != nil {
		return nil, nil, errs.Wrap(op, path, err)
	}
	s, err := enter(ctx, placeOf(o.Store, st, name))
	if err != nil {
		return nil, nil, errs.Wrap(op, path, err)
	}
	p := &part{st: st, name: name, opts: o, op: op, path: path}
	im, err := p.plan(ctx, values, how)
	if err != nil {
		s.leave()
		return nil, nil, errs.Wrap(op, path, err)
	}
	f := &failure{}
	r := checkpoint.Go(ctx, func(ctx context.Context) (stats checkpoint.SaveStats, err error) {
		defer s.leave()
		if stats, err = p.commit(ctx, im); err != nil {
			f.err = err
			s.keep(f)
		}
		return stats, err
	})
	f.response.Store(r)
	return r, im, nil
}

// part is one partial save.
type part struct {
	st       store.Store
	name     string // of the checkpoint
	opts     *SaveOptions
	op, path string

	at     parts.Part
	guard  bool
	memory *arena.Arena
}

// plan checks the part against those before it and lays it out.
func (p *part) plan(ctx context.Context, values map[string]any, how image.Mode) (*image.Image, error) {
	if err := p.opts.validate(); err != nil {
		return nil, err
	}
	if _, err := p.st.Stat(ctx, p.name); err == nil {
		return nil, &errs.Error{Kind: errs.Exists, Got: "a finished checkpoint", Remedy: "choose another path, or add to it with SaveOptions.PartialUpdate"}
	} else if errs.KindOf(err) != errs.NotFound {
		return nil, err
	}
	items, err := image.Handlers{Items: p.opts.Checkpointables.Registry, Leaves: p.opts.PyTree.LeafHandlers}.Of(ctx, values)
	if err != nil {
		return nil, err
	}
	removal, err := p.compare(ctx, items)
	if err != nil {
		return nil, err
	}
	custom, err := orbax.Custom(p.opts.Custom)
	if err != nil {
		return nil, errs.Wrap("", "SaveOptions.Custom", err)
	}
	now, id := time.Now(), [16]byte{}
	rand.Read(id[:]) //nolint:errcheck // documented never to fail
	p.at = parts.NewPart(p.name, now, id)
	io, err := plan.Image(p.opts.Options)
	if err != nil {
		return nil, err
	}
	if p.memory, err = arena.Open(0, &arena.Options{Limit: int(io.Budget)}); err != nil {
		return nil, errs.Wrap("", "SaveOptions.MemoryBudget", err)
	}
	io.Style, io.Process, io.Custom, io.Memory = image.Pending, parts.Process, custom, p.memory
	io.Watch, io.OnRelease, io.Progress = p.opts.Watch, p.opts.Release, p.opts.Progress
	if len(removal) > 0 {
		io.Extra = append(io.Extra, store.Blob{Name: parts.RemovalFile, Data: removal.Append(nil)})
	}
	im, err := image.Begin(items, how, io)
	if err != nil {
		p.memory.Close() //nolint:errcheck // nothing was saved
	}
	return im, err
}

// resolve returns o with the options that hold for the save. o may be nil.
func (o *SaveOptions) resolve(ctx context.Context) (*SaveOptions, error) {
	var d SaveOptions
	if o != nil {
		d = *o
	}
	var err error
	d.Options, err = options.Resolve(ctx, d.Options, options.Options{})
	if d.Store == nil {
		d.Store = d.File.Store
	}
	return &d, err
}

func (o *SaveOptions) validate() error {
	bad := func(field, why string) error {
		return &errs.Error{Kind: errs.Invalid, Subject: "SaveOptions." + field, Want: "no value", Got: why}
	}
	switch {
	case o.Overwrite:
		return bad("Overwrite", "an overwrite, which a session does not have; Replace replaces leaves")
	case o.Base != "":
		return bad("Base", "a base; parts link nothing of earlier checkpoints")
	}
	if l, err := o.Options.StoredLayout(); err != nil {
		return err
	} else if l != checkpoint.OCDBTZarr3 && l != checkpoint.OCDBTZarr2 {
		return bad("Bivouac.Layout", l.String()+", of which there are no parts; finalize, then bivouac convert")
	}
	return nil
}

// compare holds the items against what the session has. It returns what the part
// takes away from it, and decides whether Orbax can finalize the session then.
func (p *part) compare(ctx context.Context, items []image.Item) (parts.Removal, error) {
	removal := parts.Removal{}
	before, err := parts.Read(ctx, p.st, parts.Session(p.name))
	if errs.KindOf(err) == errs.NotFound {
		if len(p.opts.Remove) > 0 {
			return nil, p.notThere(p.opts.Remove[0])
		}
		return nil, nil
	}
	if err != nil {
		return nil, errs.Wrap("", "the parts before", err)
	}
	for _, it := range items {
		if err := p.compareItem(before, it, removal); err != nil {
			return nil, err
		}
	}
	p.guard = p.guard || len(removal) > 0
	return removal, nil
}

func (p *part) compareItem(before *parts.Assembly, it image.Item, removal parts.Removal) error {
	old, isTree, err := before.Tree(it.Name)
	if err != nil {
		return err
	}
	if it.Tree == nil || !isTree {
		if !before.Has(it.Name) {
			return nil
		}
		if !p.opts.Replace {
			return exists("item " + it.Name)
		}
		removal[it.Name] = append(removal[it.Name], []string{})
		return nil
	}
	if l, err := p.opts.Options.StoredLayout(); err != nil {
		return err
	} else if zarr3 := l != checkpoint.OCDBTZarr2; zarr3 != old.UseZarr3 {
		return &errs.Error{Kind: errs.Mismatch, Subject: "SaveOptions.Layout", Want: "that of the parts before", Got: l.String()}
	}
	added := tree.Flatten(it.Tree)
	clash := parts.Clash(old, added)
	if len(clash) > 0 && !p.opts.Replace {
		return exists("leaf " + strings.Join(clash[0], "."))
	}
	removal[it.Name] = append(removal[it.Name], clash...)
	if it.Name == p.item() {
		for _, names := range p.opts.Remove {
			if !slices.ContainsFunc(old.Entries, func(e orbax.Entry) bool { return parts.Matches([][]string{names}, e.Path) }) {
				return p.notThere(names)
			}
			removal[it.Name] = append(removal[it.Name], names)
		}
	}
	if len(removal[it.Name]) == 0 {
		delete(removal, it.Name)
	}
	strings := slices.ContainsFunc(added, func(e tree.Entry) bool { _, ok := e.Node.Value.(string); return ok })
	p.guard = p.guard || strings && before.HasStrings(it.Name)
	return nil
}

// item is the one that Remove speaks of.
func (p *part) item() string {
	if p.opts.Name != "" {
		return p.opts.Name
	}
	return orbax.StateItem
}

func exists(what string) error {
	return &errs.Error{Kind: errs.Exists, Subject: what, Got: "it is in an earlier part of the session", Remedy: "set Replace, or leave it out"}
}

func (p *part) notThere(names []string) error {
	return &errs.Error{Kind: errs.NotFound, Subject: "SaveOptions.Remove: " + strings.Join(names, "."), Want: "a leaf or container of the parts before"}
}

// commit writes the part.
func (p *part) commit(ctx context.Context, im *image.Image) (checkpoint.SaveStats, error) {
	defer p.memory.Close() //nolint:errcheck // what is unmapped twice was unmapped
	var err error
	if p.guard {
		err = parts.Guard(ctx, p.st, p.name)
	}
	if err == nil {
		var txn store.Txn
		if txn, err = p.st.Begin(ctx, p.at.Dir, store.TxnOptions{Staging: "part"}); err == nil {
			_, err = im.Commit(ctx, txn)
		}
	}
	im.Abandon()
	return checkpoint.NewSaveStats(im), errs.Wrap(p.op, p.path, err)
}
