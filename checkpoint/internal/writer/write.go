package writer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/store"
)

// commitText is what Orbax writes into commit_success.txt, without the path: a checkpoint may
// be moved.
const commitText = "Checkpoint commit was successful"

// Write writes the checkpoint through the transaction and commits it. The transaction is over when
// it returns. Write returns the commit time that the checkpoint records.
//
// Arrays that Snapshot has not copied are read from the memory of the caller. They must not be
// changed before Options.OnRelease is called, or Write has returned.
func (w *Writer) Write(ctx context.Context, txn store.Txn) (time.Time, error) {
	defer txn.Abort() //nolint:errcheck // no-op after txn.Commit; else the reason is already being returned
	defer w.release()
	start := time.Now()
	now := w.opts.Now()
	w.base = w.opts.Dedup.openBase(ctx)
	guard := w.withParity(txn)
	if guard != nil {
		txn = guard
	}
	if err := w.writePacked(ctx, txn); err != nil {
		return now, err
	}
	var small []store.Blob
	for i := range w.items {
		files, err := w.itemDocuments(ctx, i, now)
		if err != nil {
			return now, err
		}
		small = append(small, files...)
	}
	if err := w.writeFiles(ctx, txn); err != nil {
		return now, err
	}
	m := &manifest.Manifest{}
	if w.signed() {
		m.Label = w.opts.Label
	}
	if err := w.listWritten(m); err != nil {
		return now, err
	}
	if err := w.runHandlers(ctx, txn, m); err != nil {
		return now, err
	}
	w.status.handled(w)
	w.base.report(&w.stats)
	w.stats.Persist = time.Since(start)
	start = time.Now()
	small = append(append(append(small, w.rootDocuments(now)...), w.annotations()...), w.opts.Extra...)
	if guest := guard != nil && w.opts.Guest != ""; guest {
		if err := w.finishParity(ctx, guard, m); err != nil {
			return now, err
		}
		guard = nil
	}
	small, bare, err := w.join(ctx, txn, small, m)
	if err != nil {
		return now, err
	}
	for _, f := range small {
		if err := txn.Put(ctx, f.Name, f.Data); err != nil {
			return now, err
		}
		w.listSmall(m, f.Name, f.Data)
	}
	w.status.documents(w)
	markers := w.markers()
	for _, b := range markers {
		w.listSmall(m, b.Name, b.Data)
	}
	if guard != nil && !bare {
		if err := w.addParity(ctx, guard, m, markers); err != nil {
			return now, err
		}
	}
	last := store.Blob{Name: w.manifestName(), Data: manifest.Sign(m.Append(nil), w.opts.Signing)}
	w.sum = sha256.Sum256(last.Data)
	if last.Name == "" || bare {
		last, markers = markers[0], markers[1:]
	}
	err = txn.Commit(ctx, last, markers...)
	w.stats.Commit = time.Since(start)
	made := txn.Stats()
	w.stats.Bytes, w.stats.Files, w.stats.Direct = made.Bytes, made.Files, made.Direct
	return now, err
}

// ManifestSum returns the SHA-256 of the manifest, in hexadecimal digits, after Write has returned.
func (w *Writer) ManifestSum() string { return hex.EncodeToString(w.sum[:]) }

// manifestName returns the name of the manifest. The manifest of a part lies beside its
// database, where a finalization by Orbax keeps it apart from the manifests of other parts. A
// part without a database has no manifest, and its name is "".
func (w *Writer) manifestName() string {
	if w.opts.Style != Pending {
		return manifest.Name
	}
	for i := range w.plans() {
		return path.Join(w.items[i].Name, w.opts.Process, manifest.Name)
	}
	return ""
}

// itemDocuments returns the small files of an item. The nodes of its database are appended to the
// data files.
func (w *Writer) itemDocuments(ctx context.Context, i int, now time.Time) ([]store.Blob, error) {
	it, t := w.items[i], w.trees[i]
	var files []store.Blob
	if it.Commit == nil {
		files = []store.Blob{{Name: path.Join(it.Name, it.File), Data: it.JSON}}
	}
	if t != nil {
		var err error
		if files, err = t.readAndEncode(ctx, w.uuids[i], now); err != nil {
			return nil, err
		}
	}
	if w.opts.Style == Step && w.opts.Layout != options.SafetensorsLayout {
		files = append(files, store.Blob{Name: path.Join(it.Name, orbax.CommitFile), Data: []byte(commitText)})
	}
	return files, nil
}

// rootDocuments returns the small files at the root.
func (w *Writer) rootDocuments(now time.Time) []store.Blob {
	if w.opts.Layout == options.SafetensorsLayout {
		return nil
	}
	var small []store.Blob
	if w.opts.Style != Step {
		small = append(small, store.Blob{Name: orbax.MarkerFile, Data: nil})
	}
	handlers := make(map[string]string, len(w.items))
	for _, it := range w.items {
		handlers[it.Name] = it.Handler
	}
	doc := orbax.Checkpoint{Handlers: handlers, Init: w.began.UnixNano(), Commit: now.UnixNano(), Custom: w.opts.Custom}
	w.opts.Custom = nil // the document holds it now
	return append(small, store.Blob{Name: orbax.CheckpointFile, Data: doc.Append(nil)})
}

// annotations returns the file of the annotations. It lies at the root, or in a part beside its
// manifest, so that two parts of one checkpoint have different names for it.
func (w *Writer) annotations() []store.Blob {
	if len(w.opts.Annotations) == 0 {
		return nil
	}
	return []store.Blob{{Name: path.Join(path.Dir(w.manifestName()), orbax.AnnotationsFile),
		Data: w.opts.Annotations.Append(nil)}}
}

// markers returns the files that mark a checkpoint as complete.
func (w *Writer) markers() []store.Blob {
	if w.opts.Layout == options.SafetensorsLayout {
		return nil
	}
	return []store.Blob{{Name: orbax.CommitFile, Data: []byte(commitText)}}
}

// listWritten lists the written arrays and data files in the manifest, with their checksums.
func (w *Writer) listWritten(m *manifest.Manifest) error {
	for _, t := range w.plans() {
		for _, a := range t.arrays {
			if InDatabase(t.layout) && a.inNode() || a.absent() {
				continue
			}
			l := a.record(t.item)
			if err := a.unchanged(l); err != nil {
				return err
			}
			m.Leaves = append(m.Leaves, l)
		}
		for _, f := range t.files {
			m.Files = append(m.Files, manifest.File{Name: path.Join(t.data, f.name), Size: f.size, CRC: f.sum(), Hash: f.hash(),
				Age: f.age, Runs: f.digests()})
		}
		for _, f := range t.files {
			if f.head != nil {
				m.Heads = append(m.Heads, manifest.File{Name: path.Join(t.data, f.name), Size: int64(len(f.head)),
					CRC: crc.Sum(f.head)})
			}
		}
		if t.nodes != nil {
			m.Nodes = append(m.Nodes, t.nodes.lastPart(path.Join(t.data, t.nodes.name)))
		}
	}
	return nil
}

// Join turns the draft of a checkpoint into the checkpoint that is committed. It is called after
// the data files were written, and may link committed files through txn.
type Join func(ctx context.Context, txn store.Txn, draft *Draft) error

// Draft is a checkpoint, or a part, whose data files are written: everything except their bytes.
type Draft struct {
	Docs     []store.Blob       // small files, written after Join
	Manifest *manifest.Manifest // of the data files and arrays; the records of the Docs are added
	// Entries are the entries of the database of each tree item that has one, in key order. Their
	// files are relative to the directory of the item.
	Entries map[string][]ocdbt.Entry
	// Bare is set by Join if the manifest would not list all files: then no manifest is made.
	Bare bool
}

// join calls Options.Join to make the checkpoint that is committed.
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
