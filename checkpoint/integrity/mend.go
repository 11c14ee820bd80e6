package integrity

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parity"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parts"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/scrub"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// examined is the result of looking for what can be mended in a damaged checkpoint.
type examined struct {
	*parity.Report
	manifest *manifest.Manifest
	raw      []byte // the manifest, as it was written
	why      error  // what is wrong with the manifest on disk; nil if it equals raw
	found    []byte // the manifest on disk, its readable part
}

// Mendable reports whether there is damage and all of it can be mended.
func (x *examined) Mendable() bool {
	return (x.why != nil || len(x.Bad) > 0) && x.Beyond() == nil
}

// files returns the names of the damaged files.
func (x *examined) files() (names []string) {
	if x.why != nil {
		names = append(names, manifest.Name)
	}
	for _, b := range x.Bad {
		names = append(names, b.File.Name)
	}
	return names
}

// examine looks at a damaged checkpoint. It returns nil for a checkpoint without parity, unless
// anyway is set, and for one whose manifest cannot be restored. beyond says why it cannot, if there
// is a copy of the manifest.
func examine(ctx context.Context, st store.Store, name string, anyway bool,
	progress func(done, total int64)) (x *examined, beyond, err error) {
	x = &examined{}
	if x.found, err = readable(ctx, st, path.Join(name, manifest.Name)); errs.KindOf(err) == errs.Canceled {
		return nil, nil, err
	}
	x.raw, x.why = x.found, err
	if err == nil {
		x.manifest, x.why = manifest.Parse(x.raw)
	}
	if x.why != nil {
		switch errs.KindOf(x.why) {
		case errs.Corrupt, errs.NotFound, errs.IO:
		case errs.Unsupported, errs.Invalid:
			return nil, nil, nil
		default: // the answer is not known
			return nil, nil, x.why
		}
		x.raw, err = parity.Manifest(ctx, st, name, x.found)
		if err == nil {
			x.manifest, err = manifest.Parse(x.raw)
		}
		switch {
		case errs.KindOf(err) == errs.Canceled:
			return nil, nil, err
		case err != nil:
			return nil, err, nil
		}
	}
	if !anyway && !parity.Has(x.manifest) {
		return nil, nil, nil
	}
	if x.Report, err = parity.Examine(ctx, st, name, x.manifest, progress); err != nil {
		return nil, nil, err
	}
	return x, nil, nil
}

// readable reads a file. If the whole cannot be read, it returns the readable last bytes with the
// error.
func readable(ctx context.Context, st store.Store, name string) ([]byte, error) {
	b, err := store.ReadAll(ctx, st, name)
	if errs.KindOf(err) != errs.IO {
		return b, err
	}
	r, e := st.Open(ctx, name)
	if e != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	b = make([]byte, min(r.Size(), 512))
	if r.ReadAt(ctx, b, r.Size()-int64(len(b))) != nil {
		return nil, err
	}
	return b, err
}

// mend mends the checkpoint name and renames it to final, if that differs. It reports whether the
// damage why is dealt with.
func (r *repairer) mend(ctx context.Context, name, final string, why error, oneOfMany bool) (done bool, err error) {
	old, err := store.Pin(ctx, r.st, name)
	if err != nil {
		return false, err
	}
	defer old.Close() //nolint:errcheck // nothing was written
	x, _, err := examine(ctx, old, name, false, r.progress(name))
	if err != nil || x == nil || !x.Mendable() {
		return false, err
	}
	a := RepairAction{Kind: RepairMend, Path: r.below(name), Why: why, Files: x.files()}
	if final != name {
		a.To = path.Base(final)
	}
	if !oneOfMany {
		a.Shared = r.sharers(ctx, name, x)
	}
	return true, r.act(a, func() error {
		if err := r.replace(ctx, name, final, old, x); err != nil {
			return err
		}
		if err := scrub.Forget(ctx, r.st, parts.ParentOf(final), path.Base(final)); err != nil {
			return err
		}
		damage, err := check(ctx, r.st, final)
		if err == nil {
			err = damage
		}
		return err
	})
}

// replace makes the checkpoint final from the checkpoint name, with the damaged files restored. If
// both names are the same, it exchanges the two directories; otherwise it removes name afterwards.
func (r *repairer) replace(ctx context.Context, name, final string, old store.Pinned, x *examined) error {
	files, err := parts.Files(ctx, old, name, func(e store.Info) bool { return store.IsStaging(e.Name) })
	if err != nil {
		return err
	}
	var o store.TxnOptions
	if final == name {
		o.Replaces = old
	}
	txn, err := r.st.Begin(ctx, final, o)
	if err != nil {
		return err
	}
	defer txn.Abort() //nolint:errcheck // no-op after Commit; else the reason is already being returned
	bad := map[string]bool{}
	for _, b := range x.Bad {
		bad[b.File.Name] = true
		from := r.mended[x.content(b.File)]
		if from == "" {
			err = x.Write(ctx, txn, b.File)
		} else {
			err = txn.Link(ctx, b.File.Name, from)
		}
		if err != nil {
			return err
		}
	}
	for _, f := range files {
		if f == manifest.Name || bad[f] {
			continue
		}
		if err := txn.Link(ctx, f, path.Join(name, f)); err != nil {
			return err
		}
	}
	now, err := readable(ctx, r.st, path.Join(name, manifest.Name))
	if err != nil && x.why == nil {
		return err
	}
	if !bytes.Equal(now, x.found) {
		return &errs.Error{Kind: errs.Mismatch, Subject: name, Want: "the checkpoint that was examined",
			Got: "a checkpoint that changed meanwhile", Remedy: "repair it again, while no other process writes there"}
	}
	if err := txn.Commit(ctx, store.Blob{Name: manifest.Name, Data: x.raw}); err != nil {
		return err
	}
	for _, b := range x.Bad {
		if c := x.content(b.File); c != "" && r.mended[c] == "" {
			if r.mended == nil {
				r.mended = map[string]string{}
			}
			r.mended[c] = path.Join(final, b.File.Name)
		}
	}
	if final == name {
		return nil
	}
	return r.st.RemoveTree(ctx, name)
}

// content returns a key for the content of a file, independent of its name: files with equal keys
// have equal bytes. It is "" if the content is not known.
func (x *examined) content(f manifest.File) string {
	kind, hash := "data", f.Hash
	if parity.Is(f.Name) {
		i := slices.IndexFunc(x.manifest.Files, func(d manifest.File) bool { return parity.Name(d.Name) == f.Name })
		if i < 0 {
			return ""
		}
		kind, hash = "parity", x.manifest.Files[i].Hash
	}
	if hash == (manifest.Hash{}) {
		return ""
	}
	// The size of a parity file determines its redundancy.
	return fmt.Sprintf("%s %d %x", kind, f.Size, hash)
}

// sharers returns the checkpoints beside name that share a damaged file with it.
func (r *repairer) sharers(ctx context.Context, name string, x *examined) (names []string) {
	contents := map[string]bool{}
	for _, b := range x.Bad {
		if c := x.content(b.File); c != "" {
			contents[c] = true
		}
	}
	if len(contents) == 0 {
		return nil
	}
	parent := parts.ParentOf(name)
	for e, err := range r.st.List(ctx, parent) {
		if err != nil {
			return names
		}
		beside := path.Join(parent, e.Name)
		if !e.Dir || beside == name || store.IsStaging(e.Name) {
			continue
		}
		raw, err := store.ReadAll(ctx, r.st, path.Join(beside, manifest.Name))
		if err != nil {
			continue
		}
		m, err := manifest.Parse(raw)
		if err != nil {
			continue
		}
		other := &examined{manifest: m}
		if slices.ContainsFunc(m.Files, func(f manifest.File) bool { return contents[other.content(f)] }) {
			names = append(names, e.Name)
		}
	}
	return names
}

// restore mends a step that was set aside and gives it back its name, if the name is free. Other
// steps stay as they are.
func (r *repairer) restore(ctx context.Context, name string) error {
	final := path.Join(path.Dir(name), layout.BeforeAside(path.Base(name)))
	if _, err := r.st.Stat(ctx, final); errs.KindOf(err) != errs.NotFound || !r.opts.IsStep(path.Base(final)) {
		return nil
	}
	damage, err := check(ctx, r.st, name)
	if err != nil || damage == nil {
		return nil // the step was set aside for another reason
	}
	_, err = r.mend(ctx, name, final, damage, true)
	return err
}

// firstDamage reads a whole checkpoint and returns its first damage, or nil if it is sound.
func firstDamage(ctx context.Context, name string, o *VerifyOptions) (damage, err error) {
	r, err := Verify(ctx, name, o)
	if err != nil {
		return nil, err
	}
	if !r.OK() {
		damage = r.Problems[0]
	}
	return damage, nil
}

// check works like firstDamage for a checkpoint in st.
func check(ctx context.Context, st store.Store, name string) (damage, err error) {
	return firstDamage(ctx, name, &VerifyOptions{Store: st})
}
