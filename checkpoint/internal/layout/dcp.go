package layout

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/dcp"
	"github.com/bivouac-ml/bivouac/format/pt"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// A checkpoint of torch.distributed.checkpoint is a directory with .metadata and one or more data
// files of each rank. It has one item, a tree. Each chunk of a tensor has a CRC-32, unless the
// writer left them out. Values of Python are read with the tree, because they may be containers.

// dcpDirectory reports whether a directory with these names is such a checkpoint.
func (e entries) dcpDirectory() bool { return e.file(dcp.MetadataName) }

// halfDCP returns why a directory that looks like such a checkpoint cannot be loaded, or nil for
// other directories.
func (e entries) halfDCP(name string) error {
	var why error
	for n, dir := range e {
		rank, inner := strings.CutPrefix(strings.TrimSuffix(n, dcp.MetadataName), "__")
		switch {
		case dir:
		case inner && strings.HasSuffix(n, dcp.MetadataName) && rank != "" && strings.Trim(rank, "0123456789") == "":
			return &errs.Error{Kind: errs.Unsupported, Op: "checkpoint.Open", Subject: name,
				Want: "one " + dcp.MetadataName, Got: "one for each rank",
				Remedy: "load it with torch.distributed.checkpoint, and save it with use_collectives=True"}
		case strings.HasSuffix(n, dcp.DataSuffix):
			why = &errs.Error{Kind: errs.Corrupt, Op: "checkpoint.Open", Subject: name,
				Want: dcp.MetadataName + ", which is written last", Got: "data files without it",
				Remedy: "load another checkpoint: the save of this one was never finished"}
		}
	}
	return why
}

func (c *Checkpoint) dcpMeta(ctx context.Context) error {
	info, err := c.st.Stat(ctx, c.path(dcp.MetadataName))
	if err == nil && !info.ModTime.IsZero() {
		c.Meta.Commit = info.ModTime.UnixNano()
	}
	return err
}

func (c *Checkpoint) dcpTree(ctx context.Context, it Item) (*OpenTree, error) {
	b, err := store.ReadAll(ctx, c.st, c.path(dcp.MetadataName))
	if err != nil {
		return nil, err
	}
	m, err := dcp.Parse(b)
	if err != nil {
		return nil, errs.Wrap("", c.path(dcp.MetadataName), err)
	}
	t := &OpenTree{lenient: it.lenient, files: newFiles(c, ""), limit: c.opts.Reads, NoEmpties: true}
	if err := c.fillDCP(ctx, t, m); err != nil {
		return nil, errs.Wrap("", c.name, joinClose(err, t))
	}
	return t, nil
}

// fillDCP makes the leaves.
func (c *Checkpoint) fillDCP(ctx context.Context, t *OpenTree, m *dcp.Metadata) error {
	sizes := dataFiles{c: c, sizes: map[string]int64{}, wrong: map[string]error{}}
	for i := range m.Entries {
		e := &m.Entries[i]
		for _, ch := range e.Chunks {
			if err := sizes.check(ctx, ch); err != nil && e.Err == nil {
				e.Err = err
			}
		}
	}
	values := make([]*pt.Archive, len(m.Entries))
	err := t.files.each(len(m.Entries), func(i int) error {
		e := &m.Entries[i]
		if !e.Value || e.Err != nil {
			return nil
		}
		var err error
		if values[i], err = readValue(ctx, t.files, e.Chunks[0]); err != nil {
			e.Err = err
			if kind := errs.KindOf(err); kind == errs.Canceled || kind == errs.IO || kind == errs.Closed {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var b valueTree
	for i := range m.Entries {
		e := &m.Entries[i]
		if err := b.addEntry(t, e, values[i]); err != nil {
			return errs.Wrap("", "leaf "+strconv.Quote(e.Key), err)
		}
	}
	return b.finish(t)
}

// dataFiles knows the sizes of data files.
type dataFiles struct {
	c     *Checkpoint
	sizes map[string]int64
	wrong map[string]error
}

// check returns an error unless the file of a chunk has the bytes of the chunk.
func (d *dataFiles) check(ctx context.Context, ch dcp.Chunk) error {
	if ch.File == "" {
		return nil // a chunk without elements
	}
	size, known := d.sizes[ch.File]
	if !known {
		info, err := d.c.st.Stat(ctx, d.c.path(ch.File))
		switch {
		case errs.KindOf(err) == errs.NotFound, err == nil && info.Dir:
			err = missingFile(d.c.path(ch.File), nil)
		case err == nil:
			size = info.Size
		}
		d.sizes[ch.File], d.wrong[ch.File] = size, err
	}
	if err := d.wrong[ch.File]; err != nil {
		return err
	}
	if end := ch.Offset + ch.Length; end > size {
		return &errs.Error{Kind: errs.Corrupt, Op: "checkpoint", Subject: d.c.path(ch.File),
			Want: "at least " + strconv.FormatInt(end, 10) + " bytes", Got: strconv.FormatInt(size, 10),
			Remedy: "the file was cut short; restore it, or load another checkpoint"}
	}
	return nil
}

// Limits for a value of Python that is compressed.
const (
	valueBytes = 64 << 20
	valueRatio = 64
)

// readValue reads a value of Python.
func readValue(ctx context.Context, files *files, ch dcp.Chunk) (*pt.Archive, error) {
	a := archived{files: files, chunk: ch}
	r, size := a.reader(ctx), ch.Length
	if len(ch.Transforms) > 0 {
		raw := make([]byte, ch.Length)
		if err := files.ReadAt(ctx, ch.File, raw, ch.Offset); err != nil {
			return nil, err
		}
		b, err := ch.Undo(nil, raw, valueBytes+valueRatio*len(raw))
		if err != nil {
			return nil, a.where(err)
		}
		r, size = bytes.NewReader(b), int64(len(b))
	}
	archive, err := pt.Open(r, size)
	if err != nil {
		return nil, a.where(adviseValue(err))
	}
	if len(ch.Transforms) > 0 && hasTensor(archive.Root) {
		return nil, a.where(&errs.Error{Kind: errs.Unsupported, Want: "a compressed value without tensors",
			Got: "tensors in it"})
	}
	return archive, nil
}

// adviseValue adds what the caller can do about a value that is not data.
func adviseValue(err error) error {
	return advise(err, "leave it out of the load (PLACEHOLDER), or load it with torch if you trust it, and save it as "+
		"numbers, texts and tensors")
}

// advise adds a remedy to an error of kind Unsupported that has none.
func advise(err error, remedy string) error {
	if !errors.Is(err, errs.Unsupported) {
		return err
	}
	var e *errs.Error
	for cause := err; errors.As(cause, &e); cause = e.Err {
		if e.Remedy != "" {
			return err
		}
	}
	return &errs.Error{Err: err, Remedy: remedy}
}

func hasTensor(n *tree.Node) bool {
	_, ok := n.Value.(*pt.Tensor)
	return ok || slices.ContainsFunc(n.Items, hasTensor)
}

// tensorLeaf makes the leaf of a tensor.
func tensorLeaf(files *files, e *dcp.Entry) *Leaf {
	parts := make([]*part, len(e.Chunks))
	packed := e.Moved
	for i, ch := range e.Chunks {
		box := zarr.Box{Origin: ch.Origin, Shape: ch.Shape}
		parts[i] = &part{box, &archived{files: files, dtype: e.DType, chunk: ch}}
		packed = packed || len(ch.Transforms) > 0
	}
	a := newTiled(e.Shape, e.DType.Size(), parts, true, packed)
	return &Leaf{Kind: Array, array: a, Form: a.form(e.DType)}
}

// form returns the Form of an tiled array.
func (a *tiled) form(d tensor.DType) *Form {
	f := &Form{ValueType: orbax.TypeNumpy, DType: d, Shape: a.shape, ReadShape: a.unit(), ChunkShape: []int(a.shape)}
	if a.cell != nil {
		f.ChunkShape = a.cell
	}
	return f
}

// refuse makes a leaf of an array that cannot be read. A lenient tree records why. Otherwise
// reading the leaf fails, so that other leaves can be loaded, unless something is damaged: that is
// returned.
func (t *OpenTree) refuse(l *Leaf, err error) error {
	if t.lenient || errs.KindOf(err) != errs.Unsupported {
		return t.tolerate(l, err)
	}
	l.DType, l.array = tensor.Uint8, refusal{err}
	return nil
}

// refusal is an array that cannot be read.
type refusal struct{ err error }

// unit implements source.
func (r refusal) unit() []int { return nil }

// readRegion implements source.
func (r refusal) readRegion(context.Context, zarr.Box, zarr.Box, []byte, *worker) error { return r.err }

// checkBox implements source.
func (r refusal) checkBox(zarr.Box, []byte) error { return r.err }

// entire implements source.
func (r refusal) entire() bool { return false }
