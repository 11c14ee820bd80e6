package parts

import (
	"context"
	"crypto/ed25519"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parity"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/store"
)

// New returns an empty assembly. Joined with a draft it makes the checkpoint of that save,
// including what was added to the draft.
func New(st store.Store, name string) *Assembly { return newAssembly(st, name) }

// Open reads the documents of the committed checkpoint name, to add to it. If signing is not nil,
// that key must have signed the checkpoint; if it is nil, the checkpoint must not be signed. So the
// result has the same signer, or none. st is a store.Pinned of the name if other processes may
// write there meanwhile.
func Open(ctx context.Context, st store.Store, name string, signing ed25519.PrivateKey) (*Assembly, error) {
	a := newAssembly(st, name)
	files, err := Files(ctx, st, name, func(e store.Info) bool { return store.IsStaging(e.Name) })
	if err != nil {
		return nil, err
	}
	var m *manifest.Manifest
	if slices.Contains(files, manifest.Name) {
		b, err := store.ReadAll(ctx, st, path.Join(name, manifest.Name))
		if err == nil {
			m, err = manifest.Parse(b)
		}
		if err == nil {
			err = sameSigner(m, signing)
		}
		if err != nil {
			return nil, err
		}
		a.leaves, a.nodes, a.label = m.Leaves, m.Nodes, m.Label
		if a.parity, err = parity.Percent(ctx, st, name, m); err != nil {
			return nil, err
		}
		a.bases = []parity.Base{{Name: name, Manifest: m}}
	} else if signing != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Subject: name, Want: "a signed checkpoint, because Signing is set",
			Got: "a checkpoint without a manifest"}
	}
	if slices.Contains(files, orbax.CheckpointFile) {
		doc, err := store.ReadAll(ctx, st, path.Join(name, orbax.CheckpointFile))
		if err == nil {
			err = a.knowHandlers(doc)
		}
		if err != nil {
			return nil, errs.Wrap("", orbax.CheckpointFile, err)
		}
	}
	for _, f := range files {
		if f == manifest.Name || parity.Is(f) {
			continue // parity files are made anew, or linked with their files
		}
		if err := a.keep(ctx, name, f, m); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func sameSigner(m *manifest.Manifest, key ed25519.PrivateKey) error {
	switch {
	case key != nil:
		return m.CheckSignature(key.Public().(ed25519.PublicKey))
	case m.Digested():
		return &errs.Error{Kind: errs.Invalid, Want: "a signing key, because the checkpoint is signed", Got: "no key",
			Remedy: "set Signing"}
	}
	return nil
}

// keep takes over a file of the checkpoint: documents to be joined, other files unchanged.
func (a *Assembly) keep(ctx context.Context, name, file string, m *manifest.Manifest) error {
	from := path.Join(name, file)
	if item, below, ok := strings.Cut(file, "/"); ok && below == ocdbt.ManifestName && !a.own[item] {
		a.database(item).whole = true
	}
	if _, _, _, ok := processFile(file); ok || a.joins(file) == nil && file != orbax.MarkerFile {
		return a.link(ctx, file, from, m, file)
	}
	b, err := store.ReadAll(ctx, a.st, from)
	if err == nil && m != nil {
		err = m.CheckFile(file, b)
	}
	a.docs[file] = b
	return err
}

// IsStep reports whether the checkpoint is a step, without the marker of Orbax.
func (a *Assembly) IsStep() bool {
	_, marked := a.docs[orbax.MarkerFile]
	return !marked
}

// Remove removes leaves and items, as a later part would.
func (a *Assembly) Remove(r Removal) error { return a.remove(r) }

// Replace replaces the committed checkpoint name, from which the assembly was made, by the assembly
// in one move. Data files are linked, and documents are written anew. old is the directory that was
// read. If the name has another directory now, Replace returns errs.Busy.
func (a *Assembly) Replace(ctx context.Context, name string, old store.Pinned, signing ed25519.PrivateKey) error {
	if err := a.complete(); err != nil {
		return err
	}
	a.signing = signing
	a.unlink(orbax.CommitFile)
	a.docs[orbax.CommitFile] = []byte(commitText)
	return a.commit(ctx, name, store.TxnOptions{Replaces: old})
}

// Join adds the files that a save has written. It implements writer.Join.
func (a *Assembly) Join(ctx context.Context, txn store.Txn, draft *writer.Draft) error {
	for _, d := range draft.Docs {
		if d.Name == orbax.CheckpointFile {
			if err := a.knowHandlers(d.Data); err != nil {
				return errs.Wrap("", d.Name, err)
			}
		}
	}
	for _, d := range draft.Docs {
		merge := a.joins(d.Name)
		if merge == nil {
			merge = func(_, later []byte) ([]byte, error) { return later, nil }
		}
		if err := a.join(d.Name, d.Data, merge); err != nil {
			return errs.Wrap("", d.Name, err)
		}
	}
	for item, entries := range draft.Entries {
		d := a.database(item)
		d.steps = append(d.steps, step{put: entries})
	}
	for item, d := range a.items {
		if err := a.merge(ctx, item, d); err != nil {
			return errs.Wrap("", item, err)
		}
	}
	if err := a.complete(); err != nil {
		return err
	}
	draft.Manifest.Files = slices.DeleteFunc(draft.Manifest.Files,
		func(f manifest.File) bool { return a.links[f.Name] != "" })
	if err := a.take(ctx, txn, draft.Manifest); err != nil {
		return err
	}
	draft.Bare = !a.covered
	draft.Docs = draft.Docs[:0]
	for name, b := range a.docs {
		if name != orbax.CommitFile { // the Writer has it
			draft.Docs = append(draft.Docs, store.Blob{Name: name, Data: b})
		}
	}
	slices.SortFunc(draft.Docs, func(x, y store.Blob) int { return strings.Compare(x.Name, y.Name) })
	return nil
}
