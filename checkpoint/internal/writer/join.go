package writer

import (
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/store"
)

// Join turns the draft of a checkpoint into what is committed. It is called when
// the data files are written, and may take committed files over through txn.
type Join func(ctx context.Context, txn store.Txn, draft *Draft) error

// Draft is a checkpoint, or a part of one, whose data files are written: all but their bytes.
type Draft struct {
	Docs     []store.Blob       // small files, written after Join
	Manifest *manifest.Manifest // of the data files and arrays; the records of the Docs are added
	// Entries are the entries of the database of each tree item that has one, in
	// the order of their keys, files relative to the directory of the item.
	Entries map[string][]ocdbt.Entry
	// Bare is set by Join where the manifest would not list all files: none is made.
	Bare bool
}

// join has Options.Join make what is committed.
func (w *Writer) join(ctx context.Context, txn store.Txn, docs []store.Blob,
	m *manifest.Manifest) (_ []store.Blob, bare bool, _ error) {
	if w.opts.Join == nil {
		return docs, false, nil
	}
	draft := &Draft{Docs: docs, Manifest: m, Entries: map[string][]ocdbt.Entry{}}
	for _, t := range w.trees {
		if t == nil || !InDatabase(t.layout) {
			continue
		}
		draft.Entries[t.item] = t.entries().all()
	}
	err := w.opts.Join(ctx, txn, draft)
	return draft.Docs, draft.Bare, err
}
