package partial

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parts"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/pending"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/plan"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/saving"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/telemetry"
	"github.com/bivouac-ml/bivouac/tree"
)

// SaveOptions modify a partial save; nil is the zero value.
type SaveOptions struct {
	// SaveOptions are the options of any save, except Overwrite, Base and layouts without a database,
	// which have no place in a session. Custom is joined with the Custom of the parts before, member
	// by member; the later member counts.
	checkpoint.SaveOptions
	// Replace lets leaves replace leaves of earlier parts: the same leaf, leaves above it and leaves
	// below it. Without Replace such a leaf is errs.Exists.
	Replace bool
	// Remove lists leaves and containers of earlier parts that the checkpoint must not have, each as
	// the names of its keys from the root of the item. A name that does not exist is errs.NotFound.
	Remove [][]string
}

// Save adds state to the session of path and returns when the part is durable. It begins a session
// if there is no session yet.
//
// Errors: Exists for a finished checkpoint, and for a leaf that the session already has, which the
// error names; Invalid for a leaf that no file can hold; errors of the store.
func Save(ctx context.Context, path string, state any, o *SaveOptions) error {
	return SaveCheckpointables(ctx, path, map[string]any{o.item(): state}, o)
}

// SaveAsync works like Save and returns when the state is copied. It first waits for another part
// of the same session that is still being saved.
func SaveAsync(ctx context.Context, path string, state any,
	o *SaveOptions) (*checkpoint.Response[checkpoint.SaveStats], error) {
	return SaveCheckpointablesAsync(ctx, path, map[string]any{o.item(): state}, o)
}

// SaveCheckpointables adds several items, or leaves of several items, as one part.
func SaveCheckpointables(ctx context.Context, path string, items map[string]any, o *SaveOptions) error {
	r, _, err := startSave(ctx, path, items, o, false)
	if err == nil {
		_, err = r.Await(ctx)
	}
	return err
}

// SaveCheckpointablesAsync works like SaveCheckpointables and returns when everything is copied. A
// failure that no Result has returned is returned by Finalize, which then makes nothing.
func SaveCheckpointablesAsync(ctx context.Context, path string, items map[string]any,
	o *SaveOptions) (*checkpoint.Response[checkpoint.SaveStats], error) {
	r, s, err := startSave(ctx, path, items, o, true)
	if err != nil {
		return nil, err
	}
	s.Writer.WaitCopied()
	return r, nil
}

// startSave determines what the part may add, plans its files, and saves in the background.
func startSave(ctx context.Context, path string, values map[string]any, o *SaveOptions,
	background bool) (_ *checkpoint.Response[checkpoint.SaveStats], _ *saving.Save, err error) {
	const op = "partial.Save"
	ctx, told := telemetry.Begin(ctx, telemetry.Operation{Name: telemetry.Save, Path: path, Step: telemetry.NoStep})
	defer func() { told.Failed(err) }()
	o, err = o.resolve(ctx)
	if err != nil {
		return nil, nil, errs.Wrap(op, path, err)
	}
	st, name, err := locate.Target(parts.Final(path), o.Store, o.File.PathPermissionMode)
	if err != nil {
		return nil, nil, errs.Wrap(op, path, err)
	}
	turn, err := enter(ctx, placeOf(o.Store, st, name))
	if err != nil {
		return nil, nil, errs.Wrap(op, path, err)
	}
	p := &part{st: st, name: name, opts: o}
	var s *saving.Save
	if err = layout.CheckOutside(ctx, parts.Final(path), o.Store); err == nil {
		s, err = p.prepare(ctx, values, background)
	}
	if err != nil {
		turn.leave()
		return nil, nil, errs.Wrap(op, path, err)
	}
	f := &failure{}
	r := (*checkpoint.Response[checkpoint.SaveStats])(pending.Go(ctx,
		func(ctx context.Context) (checkpoint.SaveStats, error) {
			defer turn.leave()
			err := errs.Wrap(op, path, s.Write(ctx, p.target()))
			if err != nil {
				f.err = err
				turn.keep(f)
			}
			told.End(s.Outcome(err))
			return checkpoint.SaveStats(s.Writer.Stats()), err
		}))
	f.response.Store(r)
	return r, s, nil
}

// part is one partial save.
type part struct {
	st   store.Store
	name string // of the checkpoint
	opts *SaveOptions

	at    parts.Part
	guard bool
}

// prepare checks the part against the earlier parts and plans its files.
func (p *part) prepare(ctx context.Context, values map[string]any, background bool) (*saving.Save, error) {
	o := p.opts
	if err := o.validate(); err != nil {
		return nil, err
	}
	if _, err := p.st.Stat(ctx, p.name); err == nil {
		return nil, &errs.Error{Kind: errs.Exists, Got: "a finished checkpoint",
			Remedy: "choose another path, or add to it with SaveOptions.PartialUpdate"}
	} else if errs.KindOf(err) != errs.NotFound {
		return nil, err
	}
	s, err := saving.Resolve(saving.Call{Options: o.Options, Background: background, Custom: o.Custom, Release: o.Release,
		Watch: o.Watch, Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	if err := s.Collect(ctx, values); err != nil {
		return nil, err
	}
	removal, before, err := p.compare(ctx, s.Items)
	if err != nil {
		return nil, err
	}
	if before != nil {
		s.Options.Admit = before.Admit
	}
	now, id := time.Now(), [16]byte{}
	rand.Read(id[:]) //nolint:errcheck // documented never to fail
	p.at = parts.NewPart(p.name, now, id)
	s.Options.Style, s.Options.Process = writer.Pending, parts.Process
	if len(removal) > 0 {
		s.Options.Extra = append(s.Options.Extra, store.Blob{Name: parts.RemovalFile, Data: removal.Append(nil)})
	}
	return s, s.Snapshot(ctx, saving.Target{}, nil)
}

// target returns the directory of the part in the session.
func (p *part) target() saving.Target {
	t := saving.Target{Store: p.st, Name: p.at.Dir, Options: store.TxnOptions{Staging: "part"}}
	if p.guard {
		t.Before = func(ctx context.Context) error { return parts.Guard(ctx, p.st, p.name) }
	}
	return t
}

// resolve returns a copy of o, completed by the options of the context and the process.
func (o *SaveOptions) resolve(ctx context.Context) (*SaveOptions, error) {
	return plan.Resolve(ctx, o, func(d *SaveOptions) (*options.Options, *store.Store) { return &d.Options, &d.Store })
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
	if m := o.Multiprocessing; m.ProcessCount > 1 && *m.PrimaryHost != options.EveryHost {
		return &errs.Error{Kind: errs.Unsupported, Subject: "Multiprocessing.ProcessCount",
			Got:    "a part from several processes",
			Remedy: "add to a checkpoint with SaveOptions.PartialUpdate, which several processes can do; or save the part from one process"}
	}
	if l, err := o.Options.StoredLayout(); err != nil {
		return err
	} else if !writer.InDatabase(l) {
		return bad("Bivouac.Layout", l.String()+", which cannot be saved in parts; finalize, then bivouac convert")
	}
	return nil
}

// compare compares the items with the session. It returns what the part removes from the session,
// and what the session holds after that, or nil before the first part. It also decides whether
// Orbax can still finalize the session.
func (p *part) compare(ctx context.Context, items []writer.Item) (parts.Removal, *parts.Assembly, error) {
	removal := parts.Removal{}
	before, err := parts.Read(ctx, p.st, parts.Session(p.name))
	if errs.KindOf(err) == errs.NotFound {
		if len(p.opts.Remove) > 0 {
			return nil, nil, p.notThere(p.opts.Remove[0])
		}
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, errs.Wrap("", "the earlier parts", err)
	}
	for _, it := range items {
		if err := p.compareItem(before, it, removal); err != nil {
			return nil, nil, err
		}
	}
	p.guard = p.guard || len(removal) > 0
	return removal, before, before.Remove(removal)
}

func (p *part) compareItem(before *parts.Assembly, it writer.Item, removal parts.Removal) error {
	if other := before.Like(it.Name); other != "" {
		return writer.NameClash(it.Name, other)
	}
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
	} else if zarr3 := l != options.OCDBTZarr2; zarr3 != old.UseZarr3 {
		return &errs.Error{Kind: errs.Mismatch, Subject: "SaveOptions.Layout", Want: "the layout of the earlier parts",
			Got: l.String()}
	}
	added := tree.Flatten(it.Tree)
	clash := parts.Clash(old, added)
	if len(clash) > 0 && !p.opts.Replace {
		return exists("leaf " + strings.Join(clash[0], "."))
	}
	removal[it.Name] = append(removal[it.Name], clash...)
	if it.Name == p.opts.item() {
		held := parts.Held(old)
		for _, names := range p.opts.Remove {
			if !held(names) {
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

// item returns the name of the item that Save saves and that Remove applies to.
func (o *SaveOptions) item() string {
	if o != nil && o.Name != "" {
		return o.Name
	}
	return orbax.StateItem
}

func exists(what string) error {
	return &errs.Error{Kind: errs.Exists, Subject: what, Got: "it is in an earlier part of the session",
		Remedy: "set Replace, or leave it out"}
}

func (p *part) notThere(names []string) error {
	return &errs.Error{Kind: errs.NotFound, Subject: "SaveOptions.Remove: " + strings.Join(names, "."),
		Want: "a leaf or container of the earlier parts"}
}
