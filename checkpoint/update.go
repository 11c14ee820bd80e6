package checkpoint

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parts"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/saving"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tree"
)

// update adds the items, as o describes, to the checkpoint name if it exists. It links what the
// checkpoint holds, joins documents and databases, and exchanges the two checkpoints at once. It
// returns the directory that was read, which the new one is to replace, or nil if the checkpoint
// does not exist.
func (s *SaveOptions) update(ctx context.Context, st store.Store, name string, items []writer.Item,
	o *writer.Options) (store.Pinned, error) {
	if s.Base != "" {
		return nil, &errs.Error{Kind: errs.Invalid, Subject: "SaveOptions.Base",
			Want: "no base, because a partial update links the files of the checkpoint"}
	}
	pin, err := store.Pin(ctx, st, name)
	switch {
	case errs.KindOf(err) == errs.NotFound:
		return nil, nil // the first save makes the checkpoint
	case err != nil:
		return nil, err
	}
	if s.Overwrite && isEmpty(ctx, pin, name) {
		return pin, nil // likewise
	}
	return pin, s.join(ctx, pin, name, items, o)
}

// join implements update for a checkpoint that exists.
func (s *SaveOptions) join(ctx context.Context, st store.Pinned, name string, items []writer.Item,
	o *writer.Options) error {
	old, err := layout.Options{AllowNoManifest: true}.Open(ctx, st, name)
	if err != nil {
		return err
	}
	defer old.Close()
	if slices.Contains([]string{"safetensors", "dcp", "pt", "pt ranks", "orbax v0 flat"}, old.Layout) ||
		strings.HasPrefix(old.Layout, "npy") {
		return &errs.Error{Kind: errs.Unsupported, Subject: name,
			Got:    "a checkpoint of the layout " + old.Layout + ", to which nothing can be added",
			Remedy: "convert it: bivouac convert"}
	}
	a, err := parts.Open(ctx, st, name, o.Signing)
	if err != nil {
		return err
	}
	for _, it := range items {
		if err := s.replace(a, it); err != nil {
			return err
		}
	}
	if err := sameLayout(a, items, o); err != nil {
		return err
	}
	if a.IsStep() {
		o.Style = writer.Step
	}
	o.Join, o.Admit = a.Join, a.Admit
	percent, bases := a.Parity()
	if o.Parity == 0 || percent == 0 && len(bases) == 0 {
		o.Parity = percent // as before; without a manifest there is no parity
	}
	o.Linked, o.ParityBases = st, bases
	return nil
}

// replace removes what the item replaces. It fails if replacing is not allowed.
func (s *SaveOptions) replace(a *parts.Assembly, it writer.Item) error {
	if other := a.Like(it.Name); other != "" {
		return writer.NameClash(it.Name, other)
	}
	old, isTree, err := a.Tree(it.Name)
	if err != nil || !a.Has(it.Name) {
		return err
	}
	removal := parts.Removal{it.Name: [][]string{{}}}
	what := "item " + strconv.Quote(it.Name)
	if it.Tree != nil && isTree {
		removal[it.Name] = parts.Clash(old, tree.Flatten(it.Tree))
		if len(removal[it.Name]) == 0 {
			return nil
		}
		what = "leaf " + strings.Join(removal[it.Name][0], ".")
	}
	if !s.Overwrite {
		return &errs.Error{Kind: errs.Exists, Subject: what, Got: "it is in the checkpoint",
			Remedy: "set Overwrite to replace it, or leave it out"}
	}
	return a.Remove(removal)
}

// sameLayout makes the items use the storage of the trees in the checkpoint.
func sameLayout(a *parts.Assembly, items []writer.Item, o *writer.Options) error {
	want, known := a.Layout()
	if !known {
		return nil
	}
	for _, it := range items {
		if it.Tree == nil {
			continue
		}
		if o.Layout != options.OCDBTZarr3 && o.Layout != want {
			return &errs.Error{Kind: errs.Mismatch, Subject: "SaveOptions.Layout",
				Want: want.String() + ", the layout of the checkpoint", Got: o.Layout.String()}
		}
		o.Layout = want
	}
	return nil
}

// letGo releases the directory that a save was to replace.
func letGo(to saving.Target) {
	if to.Options.Replaces != nil {
		to.Options.Replaces.Close() //nolint:errcheck // nothing was written
	}
}

// overtaken returns err. If a partial update failed because another writer changed the checkpoint
// meanwhile, it returns that as the error. Before the update writes, each error is a judgement of
// what was read: a directory that was replaced loses its files one by one, and can look like a
// checkpoint of another kind. Afterwards only some kinds of errors come from there.
func (s *SaveOptions) overtaken(ctx context.Context, to saving.Target, writes bool, err error) error {
	if err == nil || !s.PartialUpdate || errors.Is(err, store.ErrUncertain) {
		return err
	}
	switch kind := errs.KindOf(err); {
	case to.Options.Replaces != nil &&
		(!writes || kind == errs.NotFound || kind == errs.Corrupt || kind == errs.Mismatch):
		if why := store.Overtaken(context.WithoutCancel(ctx), to.Store, to.Options.Replaces,
			to.Name); errs.KindOf(why) == errs.Busy {
			return why
		}
	case to.Options.Replaces == nil && kind == errs.Exists:
		return &errs.Error{Kind: errs.Busy, Want: "no checkpoint, as when the update began",
			Got: "a checkpoint that another writer has made since", Err: store.ErrReplaced,
			Remedy: "save again: the update then adds to the present checkpoint"}
	}
	return err
}
