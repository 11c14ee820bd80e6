package writer

import (
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/store"
)

// Join turns what an image consists of into what is committed. It is called when
// the data files are written, and may take committed files over through txn.
type Join func(ctx context.Context, txn store.Txn, p *Piece) error

// Piece is an image on its way into a larger checkpoint: all but the bytes of
// its data files.
type Piece struct {
	Docs     []store.Blob       // small files, written after Join
	Manifest *manifest.Manifest // of the data files and arrays; that of the Docs is added
	// Entries are the values for the database of each tree item that has one, in
	// the order of their keys, files relative to the directory of the item.
	Entries map[string][]ocdbt.Entry
	// Bare is set by Join where the manifest would not list all files: none is made.
	Bare bool
}

// join has Options.Join make what is committed.
func (im *Image) join(ctx context.Context, txn store.Txn, docs []store.Blob, m *manifest.Manifest) (_ []store.Blob, bare bool, _ error) {
	if im.opts.Join == nil {
		return docs, false, nil
	}
	p := &Piece{Docs: docs, Manifest: m, Entries: map[string][]ocdbt.Entry{}}
	for _, t := range im.trees {
		if t == nil || !t.layout.ocdbt() {
			continue
		}
		p.Entries[t.item] = t.values().all()
	}
	err := im.opts.Join(ctx, txn, p)
	return p.Docs, p.Bare, err
}
