package layout

import (
	"context"
	"crypto/ed25519"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parity"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/dcp"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/store"
)

// Checkpoint is an open checkpoint. Everything is read from one directory, even if its name leads
// elsewhere meanwhile. The caller must call Close.
type Checkpoint struct {
	// Layout is the name of the layout: "orbax v1", "orbax step", "orbax v0 flat", "safetensors",
	// "numpy", "flax", "dcp", "pt", "pt ranks".
	Layout   string
	Meta     orbax.Checkpoint
	Manifest *manifest.Manifest // or nil

	pin   store.Pinned // the directory; nil for a single file
	st    store.Store  // all reads of the checkpoint go through it
	raw   store.Store  // the same store, without checks against the manifest
	once  *once        // the same store, with Options.Once; else nil
	name  string
	info  store.Info // of the directory or file
	opts  Options
	kind  *kind
	items []string // ascending; "" is the checkpoint itself, if it is flat
	parts []string // the files of a checkpoint without documents of Orbax
	alone bool     // the checkpoint is a single file that was named

	sharded   bool              // the files of a safetensors checkpoint hold parts of tensors
	structure *orbax.Tree       // of a safetensors checkpoint that Bivouac wrote
	texts     map[string]string // its strings, by leaf name
	keys      map[string]string // its implementations of PRNG keys, by parameter
}

// entries are the names in a directory, true for directories.
type entries map[string]bool

// kind is one layout: how to recognise it, where its items lie, and how to open them.
type kind struct {
	name  string
	sniff func(entries) bool
	items func(entries) []string
	meta  func(c *Checkpoint, ctx context.Context) error
	item  func(c *Checkpoint, ctx context.Context, name string) (Item, error)
	tree  func(c *Checkpoint, ctx context.Context, it Item) (*OpenTree, error)
}

// kinds in the order in which they are tried.
var kinds = []*kind{
	{
		name:  "orbax v1",
		sniff: func(e entries) bool { return e.file(orbax.MarkerFile) && e.file(orbax.CheckpointFile) },
		items: entries.dirs,
		meta:  (*Checkpoint).orbaxMeta,
		item:  (*Checkpoint).orbaxItem,
		tree:  (*Checkpoint).orbaxTree,
	},
	{
		name:  "orbax v0 flat",
		sniff: func(e entries) bool { return e.file(orbax.TreeFile) },
		items: func(entries) []string { return []string{""} },
		meta:  (*Checkpoint).orbaxMeta,
		item:  (*Checkpoint).orbaxItem,
		tree:  (*Checkpoint).orbaxTree,
	},
	{
		name:  "orbax step",
		sniff: func(e entries) bool { return e.file(orbax.CheckpointFile) },
		items: entries.dirs,
		meta:  (*Checkpoint).orbaxMeta,
		item:  (*Checkpoint).orbaxItem,
		tree:  (*Checkpoint).orbaxTree,
	},
	{
		name:  "dcp",
		sniff: entries.dcpDirectory,
		items: func(entries) []string { return []string{orbax.StateItem} },
		meta:  (*Checkpoint).dcpMeta,
		item:  (*Checkpoint).numpyItem,
		tree:  (*Checkpoint).dcpTree,
	},
	{
		name:  "pt ranks",
		sniff: entries.ofRanks,
		items: func(entries) []string { return []string{orbax.StateItem} },
		meta:  (*Checkpoint).ranksMeta,
		item:  (*Checkpoint).numpyItem,
		tree:  (*Checkpoint).ranksTree,
	},
	{
		name:  "safetensors",
		sniff: func(e entries) bool { return len(e.safetensors()) > 0 },
		items: func(entries) []string { return []string{orbax.StateItem} },
		meta:  (*Checkpoint).safetensorsMeta,
		item:  (*Checkpoint).safetensorsItem,
		tree:  (*Checkpoint).safetensorsTree,
	},
	{
		name:  "flax",
		sniff: func(e entries) bool { return e.flax() != "" },
		items: func(entries) []string { return []string{orbax.StateItem} },
		meta:  (*Checkpoint).numpyMeta,
		item:  (*Checkpoint).numpyItem,
		tree:  (*Checkpoint).flaxTree,
	},
}

// numpyKind is the kind of a numpy file, which is a checkpoint only as a single file.
var numpyKind = &kind{
	name:  "numpy",
	sniff: func(e entries) bool { return e.numpy() != "" },
	items: func(entries) []string { return []string{orbax.StateItem} },
	meta:  (*Checkpoint).numpyMeta,
	item:  (*Checkpoint).numpyItem,
	tree:  (*Checkpoint).numpyTree,
}

func (e entries) file(name string) bool {
	dir, ok := e[name]
	return ok && !dir
}

// dirs returns the directories that may be items.
func (e entries) dirs() []string {
	var out []string
	for n, dir := range e {
		if dir && !store.IsStaging(n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// Options of opening. The zero value is what Open takes.
type Options struct {
	Key             ed25519.PublicKey // must have signed the manifest; nil checks no signature
	Label           string            // the label of the signature; "" checks no label
	OverRead        float64           // for safetensors files without a manifest: safetensors.Options
	ReadBytes       int64             // largest read of a safetensors file; 0 is about 4 MiB
	Reads           *Limit            // bounds reads of the checkpoint; nil is no limit
	FillMissing     bool              // missing chunks are the fill value, even if every chunk was stored; not with a manifest
	AllowNoManifest bool              // a checkpoint that was written with a manifest may have lost it
	Committed       bool              // a layout of Orbax must have commit_success.txt
	Lease           bool              // a removed checkpoint keeps its files until Close, if the store can
	Once            bool              // what was read is kept for CompareFiles; see once
}

// Open works like Options.Open of the zero Options.
func Open(ctx context.Context, st store.Store, name string) (*Checkpoint, error) {
	return Options{}.Open(ctx, st, name)
}

// Open recognises the checkpoint called name in st and reads its metadata.
//
// Errors: NotFound if the name does not exist, or no longer exists (store.ErrRemoved); Invalid if
// it is not a checkpoint, with what it is; Corrupt if the checkpoint is damaged, or not signed with
// the key.
func (o Options) Open(ctx context.Context, st store.Store, name string) (c *Checkpoint, err error) {
	for range replacements {
		if c, err = o.open(ctx, st, name); !errors.Is(err, store.ErrReplaced) {
			return c, err
		}
		o.Lease = true
	}
	return nil, err
}

// open works like Open for the directory that has the name now.
func (o Options) open(ctx context.Context, st store.Store, name string) (*Checkpoint, error) {
	const op = "checkpoint.Open"
	if store.IsStaging(name) {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: name, Want: "a committed checkpoint",
			Got:    "a checkpoint that was never committed",
			Remedy: "load another checkpoint; an interrupted save left this one"}
	}
	if strings.Contains(path.Base(name), ".partial_save") {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: name, Want: "a committed checkpoint",
			Got:    "a session of partial saves",
			Remedy: "finalize it with bivouac repair --apply, partial.Finalize, or the library that began it"}
	}
	c := &Checkpoint{name: name, opts: o}
	err := c.hold(ctx, st)
	if err == nil {
		err = c.Explain(ctx, c.begin(ctx))
	}
	if err == nil {
		err = c.complete(ctx)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// begin recognises the checkpoint.
func (c *Checkpoint) begin(ctx context.Context) error {
	const op = "checkpoint.Open"
	name := c.name
	in, err := c.read(ctx)
	if err != nil {
		return err
	}
	if !c.recognise(in) {
		return c.unrecognised(ctx, in)
	}
	if c.opts.Committed && strings.HasPrefix(c.Layout, "orbax") && !in.file(orbax.CommitFile) {
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: name, Want: "a committed checkpoint",
			Got:    "a checkpoint without " + orbax.CommitFile,
			Remedy: "load another checkpoint; if Orbax before 0.12.3 saved this one, set atomicity.allow_legacy_atomic_rename"}
	}
	if in.file(manifest.Name) {
		b, err := store.ReadAll(ctx, c.st, c.path(manifest.Name))
		if err == nil {
			c.Manifest, err = manifest.Parse(b)
		}
		if err == nil {
			err = c.itemsThere(in)
		}
		if err != nil {
			return errs.Wrap(op, name, err)
		}
	}
	if c.Manifest == nil && in.file(parity.CopyName) && !c.opts.AllowNoManifest {
		return errs.Wrap(op, name, c.manifestMissing())
	}
	if err := c.trust(in); err != nil {
		return errs.Wrap(op, name, err)
	}
	if c.once != nil {
		c.once.manifest = c.Manifest
	}
	return errs.Wrap(op, name, c.kind.meta(c, ctx))
}

// sniff finds the kind of the checkpoint, or returns nil if it is not a checkpoint.
func (c *Checkpoint) sniff(in entries) *kind {
	for _, k := range []*kind{numpyKind, ptKind} {
		if c.alone && k.sniff(in) {
			return k
		}
	}
	if i := slices.IndexFunc(kinds, func(k *kind) bool { return k.sniff(in) }); i >= 0 {
		return kinds[i]
	}
	return nil
}

// recognise determines from the names at its root what the checkpoint is.
func (c *Checkpoint) recognise(in entries) bool {
	if c.kind = c.sniff(in); c.kind == nil {
		return false
	}
	c.Layout, c.items, c.parts = c.kind.name, c.kind.items(in), in.safetensors()
	switch {
	case c.kind == numpyKind:
		c.parts = []string{in.numpy()}
	case c.kind == ptKind:
		c.parts = []string{in.pt()}
	case c.kind.name == "flax":
		c.parts = []string{in.flax()}
	case c.kind.name == "dcp":
		c.parts = []string{dcp.MetadataName}
	case c.kind.name == "pt ranks":
		files, _ := in.rankFiles()
		c.parts = slices.Concat(slices.Collect(maps.Values(files))...)
	}
	return true
}

// trust returns an error unless the key signed the manifest, and makes all further reads go through
// the signed manifest.
func (c *Checkpoint) trust(in entries) error {
	switch {
	case c.opts.Key == nil:
		return nil
	case c.Manifest == nil:
		return &errs.Error{Kind: errs.Corrupt, Op: "checkpoint", Subject: c.path(manifest.Name), Want: "a signed manifest",
			Got:    "no manifest",
			Remedy: "load without a key if you trust the checkpoint"}
	}
	if err := c.Manifest.CheckSignature(c.opts.Key); err != nil {
		return err
	}
	if c.opts.Label != "" {
		if err := c.Manifest.CheckLabel(c.opts.Label); err != nil {
			return err
		}
	}
	s := c.seal()
	in, err := s.listed(in)
	if err == nil && !c.recognise(in) {
		err = missingFile(c.path(orbax.CheckpointFile), nil)
	}
	return err
}

// orbaxMeta reads _CHECKPOINT_METADATA, which old flat checkpoints lack.
func (c *Checkpoint) orbaxMeta(ctx context.Context) error {
	b, err := c.file(ctx, orbax.CheckpointFile)
	if errs.KindOf(err) == errs.NotFound {
		return nil
	}
	if err == nil {
		c.Meta, err = orbax.ParseCheckpoint(b)
	}
	return err
}

// itemsThere compares the directories with the manifest, so that a lost item is not mistaken for
// one that was never saved.
func (c *Checkpoint) itemsThere(in entries) error {
	for _, f := range c.Manifest.Files {
		if dir, _, below := strings.Cut(f.Name, "/"); below && !in[dir] {
			return missingFile(f.Name, nil)
		}
	}
	return nil
}

func missingFile(name string, err error) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "checkpoint", Subject: name, Got: "the file is missing", Err: err}
}

// read lists the directory of the checkpoint. A single file of safetensors, numpy, torch or Flax
// counts as a directory with only that file.
func (c *Checkpoint) read(ctx context.Context) (entries, error) {
	if c.name != "" {
		info := c.info
		if !info.Dir && (isSafetensors(c.name) || isNumpy(c.name) || isPT(c.name) || isFlax(path.Base(c.name))) {
			dir, file := path.Split(c.name)
			c.name, c.alone = strings.TrimSuffix(dir, "/"), true
			in := entries{file: false}
			if file == safetensors.SingleName {
				if _, err := c.st.Stat(ctx, c.path(manifest.Name)); err == nil {
					in[manifest.Name] = false
				}
			}
			return in, nil
		}
		if !info.Dir {
			return nil, &errs.Error{Kind: errs.Invalid, Op: "checkpoint.Open", Subject: c.name,
				Want: "the directory of a checkpoint, or a file .safetensors, .npz, .npy, .pt, .pth, .ckpt or .msgpack",
				Got:  "another file"}
		}
	}
	in := entries{}
	for e, err := range c.st.List(ctx, c.name) {
		if err != nil {
			return nil, err
		}
		in[e.Name] = e.Dir
	}
	return in, nil
}

// unrecognised returns an error that says what a directory is, if it is not a checkpoint.
func (c *Checkpoint) unrecognised(ctx context.Context, in entries) error {
	e := &errs.Error{Kind: errs.Invalid, Op: "checkpoint.Open", Subject: c.name, Want: "a checkpoint",
		Got: "a directory without " + orbax.CheckpointFile}
	switch {
	case len(in) == 0:
		e.Got = "an empty directory"
	case in.file(manifest.Name), in.file(orbax.MarkerFile): // it was a checkpoint of Bivouac or Orbax
		return missingFile(c.path(orbax.CheckpointFile), nil)
	}
	if err := c.wrongLevel(ctx); err != nil {
		return err
	}
	if err := in.halfDCP(c.name); err != nil {
		return err
	}
	for _, d := range in.dirs() {
		if _, err := c.st.Stat(ctx, path.Join(c.name, d, orbax.CheckpointFile)); err == nil {
			e.Got, e.Remedy = "a directory of steps", "name a step, such as "+path.Join(c.name, d)
			break
		}
	}
	return e
}

// path returns the name of a file in the store. It joins as path.Join does.
func (c *Checkpoint) path(elem ...string) string {
	at := c.name
	for _, e := range elem {
		switch {
		case e == "":
		case at == "":
			at = e
		default:
			at += "/" + e
		}
	}
	if at == "" {
		return ""
	}
	return path.Clean(at)
}

// file reads a small file of the checkpoint and compares it with the manifest.
func (c *Checkpoint) file(ctx context.Context, name string) ([]byte, error) {
	b, err := store.ReadAll(ctx, c.st, c.path(name))
	if err != nil {
		if c.Manifest != nil && errs.KindOf(err) == errs.NotFound {
			if _, listed := c.Manifest.File(name); listed {
				return nil, missingFile(name, err)
			}
		}
		return nil, err
	}
	if c.Manifest == nil {
		return b, nil
	}
	return b, c.Manifest.CheckFile(name, b)
}

// CheckFiles compares the names and sizes of all files with the manifest, without reading the
// files. Parity files may be damaged or missing. A checkpoint without a manifest passes.
func (c *Checkpoint) CheckFiles(ctx context.Context) error {
	if c.Manifest == nil {
		return nil
	}
	if err := c.listAll(ctx); err != nil {
		return err
	}
	for _, f := range c.Manifest.Files {
		if parity.Is(f.Name) {
			continue // a lost parity file does not affect a load
		}
		info, err := c.st.Stat(ctx, c.path(f.Name))
		switch {
		case errs.KindOf(err) == errs.NotFound:
			return missingFile(c.path(f.Name), nil)
		case err != nil:
			return err
		case info.Dir || info.Size != f.Size:
			return sizeError(c.path(f.Name), f.Size, info.Size)
		}
	}
	return nil
}

// listAll lists the directories in which the manifest has files, if lists are kept. So the files
// need not be looked for one by one.
func (c *Checkpoint) listAll(ctx context.Context) error {
	if c.once == nil {
		return nil
	}
	before := ""
	for _, f := range c.Manifest.Files {
		dir := path.Dir(f.Name)
		if dir == before || dir == "." {
			continue
		}
		before = dir
		for _, err := range c.st.List(ctx, c.path(dir)) {
			if errs.KindOf(err) == errs.NotFound {
				break // CheckFiles says which file is missing
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// OpenFile opens a file of the checkpoint by its relative name. It compares nothing with the
// manifest.
func (c *Checkpoint) OpenFile(ctx context.Context, name string) (store.Reader, error) {
	return c.st.Open(ctx, c.path(name))
}

// Parity returns how many parity blocks the checkpoint has for 100 data blocks, or 0 without
// parity. It fails if the parity cannot be read.
func (c *Checkpoint) Parity(ctx context.Context) (int, error) {
	return parity.Percent(ctx, c.raw, c.name, c.Manifest)
}

// Unmerged returns the directories, each with a slash at its end, of the databases of the processes
// that wrote an item, if these databases were never merged.
func (c *Checkpoint) Unmerged(ctx context.Context, item string) ([]string, error) {
	if !strings.HasPrefix(c.Layout, "orbax") {
		return nil, nil
	}
	_, err := c.st.Stat(ctx, c.path(item, ocdbt.ManifestName))
	if errs.KindOf(err) != errs.NotFound {
		return nil, err
	}
	t := OpenTree{files: newFiles(c, item)}
	return t.processes(ctx)
}
