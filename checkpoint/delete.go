package checkpoint

import (
	"context"
	"crypto/ed25519"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parts"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// DeleteOptions modify Delete; nil is the zero value.
type DeleteOptions struct {
	// Options are the scope of the call. Deletion says where a deleted checkpoint is moved to.
	// Bivouac.Signing signs the rest of a signed checkpoint.
	options.Options
	// Name is the item to delete; "" is the whole checkpoint.
	Name string
	// MissingOK makes Delete return false and no error if the checkpoint or item does not exist.
	MissingOK bool
	// Store holds the checkpoint, and the path is a name in it. nil is Options.File.Store, or if that
	// is nil too, the local file system.
	Store store.Store
}

// Delete deletes the checkpoint path, or one item of it, and reports whether
// there was something to delete.
//
// A checkpoint becomes invisible in one instant, and durably when Delete returns. Then its bytes
// are freed. With Deletion.GCS.TodeleteFullPath it appears there first, whole, under its name and
// the time; files are linked if the store can do so. If Delete deletes one item, the rest of the
// checkpoint replaces the whole in one instant too: documents and manifest no longer name the item,
// and the other files are linked.
//
// Errors: NotFound if the checkpoint or the item does not exist; Invalid for a path that is not a
// checkpoint, for the directory of an item, for reserved names, for the last item, and for an item
// of a signed checkpoint without its key.
func Delete(ctx context.Context, path string, o *DeleteOptions) (bool, error) {
	r, err := DeleteAsync(ctx, path, o)
	if err != nil {
		return false, err
	}
	return r.Await(ctx)
}

// DeleteAsync finds the checkpoint or item, and deletes it in the background. If another writer
// replaces the checkpoint before an item is deleted, the error is errs.Busy.
func DeleteAsync(ctx context.Context, path string, o *DeleteOptions) (*Response[bool], error) {
	const op = "checkpoint.Delete"
	if o == nil {
		o = &DeleteOptions{}
	}
	d, err := o.prepare(ctx, path)
	if o.MissingOK && errs.KindOf(err) == errs.NotFound {
		return inBackground(ctx, func(context.Context) (bool, error) { return false, nil }), nil
	}
	if err != nil {
		return nil, errs.Wrap(op, path, err)
	}
	return inBackground(ctx, func(ctx context.Context) (bool, error) {
		err := d.run(ctx)
		return err == nil, errs.Wrap(op, path, err)
	}), nil
}

// deletion is one call of Delete: the work that it has to do.
type deletion struct {
	st    store.Store
	name  string
	rest  *parts.Assembly    // what remains of a checkpoint that loses an item; nil if the whole is deleted
	old   store.Pinned       // the directory that rest was read from
	key   ed25519.PrivateKey // signs the rest
	trash string             // where the whole checkpoint is moved to; "" removes it
}

// prepare checks that the checkpoint or item exists and may be deleted.
func (o *DeleteOptions) prepare(ctx context.Context, path string) (*deletion, error) {
	o, err := o.resolve(ctx)
	if err != nil {
		return nil, err
	}
	st, name, err := locate.Target(path, o.Store, o.File.PathPermissionMode)
	if err != nil {
		return nil, err
	}
	d := &deletion{st: st, name: name}
	if err := d.check(ctx); err != nil {
		return nil, err
	}
	if o.Name != "" {
		if err := d.without(ctx, o.Name, o.Options); err != nil {
			d.close()
			return nil, err
		}
		return d, nil
	}
	d.trash, err = trashName(path, name, o.Deletion.GCS.TodeleteFullPath, o.Store == nil)
	return d, err
}

// check returns an error unless the name holds a checkpoint, not a part of one.
func (d *deletion) check(ctx context.Context) error {
	if _, err := d.st.Stat(ctx, d.name); err != nil {
		return err
	}
	for _, mark := range []string{orbax.MarkerFile, orbax.CheckpointFile, manifest.Name} {
		_, err := d.st.Stat(ctx, path.Join(path.Dir(d.name), mark))
		switch {
		case err == nil:
			return &errs.Error{Kind: errs.Invalid, Subject: d.name, Want: "a checkpoint", Got: "the directory of an item",
				Remedy: "name the checkpoint, and the item in DeleteOptions.Name"}
		case errs.KindOf(err) != errs.NotFound:
			return err
		}
	}
	return checkCheckpoint(ctx, d.st, d.name)
}

// without plans the checkpoint that remains without the item.
func (d *deletion) without(ctx context.Context, item string, scope options.Options) error {
	old, err := store.Pin(ctx, d.st, d.name)
	if err != nil {
		return err
	}
	d.old = old
	c, err := layout.Options{AllowNoManifest: true}.Open(ctx, old, d.name)
	if err != nil {
		return err
	}
	defer c.Close()
	items, err := c.Items(ctx)
	if err != nil {
		return err
	}
	if !c.Has(item) {
		names := make([]string, len(items))
		for i, it := range items {
			names[i] = it.Name
		}
		return &errs.Error{Kind: errs.NotFound, Subject: "item " + strconv.Quote(item), Want: "an item of the checkpoint",
			Remedy: errs.DidYouMean(item, names)}
	}
	others := 0
	for _, it := range items {
		if it.Name != item && it.Name != orbax.MetricsItem {
			others++
		}
	}
	switch {
	case item == orbax.MetricsItem:
		return &errs.Error{Kind: errs.Invalid, Subject: "DeleteOptions.Name", Want: "an item of the caller's", Got: item}
	case others == 0:
		return &errs.Error{Kind: errs.Invalid, Subject: "item " + strconv.Quote(item), Got: "the only item",
			Remedy: "delete the checkpoint"}
	}
	d.key = scope.Signing
	if d.rest, err = parts.Open(ctx, old, d.name, d.key); err != nil {
		return err
	}
	return d.rest.Remove(parts.Removal{item: {{}}})
}

// trashName returns the name in the store to which a deleted checkpoint is moved.
func trashName(at, name, trash string, local bool) (string, error) {
	if trash == "" {
		return "", nil
	}
	bad := &errs.Error{Kind: errs.Invalid, Subject: "Deletion.GCS.TodeleteFullPath",
		Want: "a directory below the directory of the checkpoint", Got: strconv.Quote(trash)}
	if filepath.IsAbs(trash) {
		abs, err := filepath.Abs(at)
		if !local || err != nil {
			return "", bad
		}
		if trash, err = filepath.Rel(filepath.Dir(abs), trash); err != nil {
			return "", bad
		}
	}
	to := path.Join(path.Dir(name), filepath.ToSlash(trash),
		path.Base(name)+"-"+time.Now().UTC().Format("20060102-150405.000000000"))
	if store.CheckName("trash", to) != nil || strings.HasPrefix(to, name+"/") {
		return "", bad
	}
	return to, nil
}

// close releases the directory that was read.
func (d *deletion) close() {
	if d.old != nil {
		d.old.Close() //nolint:errcheck // nothing was written
	}
}

func (d *deletion) run(ctx context.Context) error {
	defer d.close()
	if d.rest != nil {
		err := d.rest.Replace(ctx, d.name, d.old, d.key)
		if kind := errs.KindOf(err); kind == errs.NotFound || kind == errs.Corrupt {
			if why := store.Overtaken(context.WithoutCancel(ctx), d.st, d.old, d.name); errs.KindOf(why) == errs.Busy {
				return why
			}
		}
		return err
	}
	if d.trash != "" {
		if err := d.move(ctx); err != nil {
			return err
		}
	}
	return d.st.RemoveTree(ctx, d.name)
}

// move makes a checkpoint in the trash that links the files of the deleted one.
func (d *deletion) move(ctx context.Context) error {
	info, err := d.st.Stat(ctx, d.name)
	if err != nil {
		return err
	}
	if !info.Dir {
		return &errs.Error{Kind: errs.Unsupported, Got: "a checkpoint that is a single file", Want: "a directory to move",
			Remedy: "delete it without Deletion.GCS.TodeleteFullPath"}
	}
	files, err := parts.Files(ctx, d.st, d.name, nil)
	if err != nil {
		return err
	}
	txn, err := d.st.Begin(ctx, d.trash, store.TxnOptions{})
	if err != nil {
		return err
	}
	defer txn.Abort() //nolint:errcheck // no-op after Commit; else the reason is already being returned
	last := lastOf(files)
	for _, f := range files {
		if f == last {
			continue
		}
		if err := txn.Link(ctx, f, path.Join(d.name, f)); err != nil {
			return err
		}
	}
	b, err := store.ReadAll(ctx, d.st, path.Join(d.name, last))
	if err != nil {
		return err
	}
	return txn.Commit(ctx, store.Blob{Name: last, Data: b})
}

// lastOf returns the document of a checkpoint that must be written last.
func lastOf(files []string) string {
	for _, last := range []string{manifest.Name, orbax.CommitFile, orbax.CheckpointFile, orbax.TreeFile} {
		for _, f := range files {
			if f == last {
				return f
			}
		}
	}
	return files[0]
}
