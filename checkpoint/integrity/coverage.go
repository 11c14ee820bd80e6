package integrity

import (
	"path"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/dcp"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/store"
)

// Verdict says in one word what Verify found.
type Verdict uint8

// The verdicts.
const (
	// Damaged: something is missing or was changed after it was written.
	Damaged Verdict = iota
	// Readable: no damage was found, but some bytes have no checksum; see Report.Covered.
	Readable
	// Sound: no damage was found, and a checksum covers every byte.
	Sound
)

// String returns "damaged", "readable" or "sound".
func (v Verdict) String() string {
	return [...]string{"damaged", "readable", "sound"}[min(v, Sound)]
}

// Coverage says how much of one leaf or document a checksum covers.
type Coverage struct {
	Item string // item of a leaf
	Path string // parameter of a leaf, or file of a document, relative to the checkpoint
	// Document: the entry is a file without arrays: metadata, strings, or an item that is not a tree.
	Document bool
	Bytes    int64 // as stored; for arrays without the bytes around them
	Covered  int64 // how many of them a checksum covers
	Err      error // its damage; nil if no damage was found
}

// Verdict returns what was found in one word.
func (r *Report) Verdict() Verdict {
	switch {
	case len(r.Problems) > 0:
		return Damaged
	case r.Manifest:
		return Sound
	}
	for _, p := range r.Parts {
		if p.Covered < p.Bytes {
			return Readable
		}
	}
	return Sound
}

// Covered returns how many bytes of Parts a checksum covers, and how many bytes Parts have.
func (r *Report) Covered() (covered, bytes int64) {
	for _, p := range r.Parts {
		covered += p.Covered
		bytes += p.Bytes
	}
	return covered, bytes
}

// Share returns the covered fraction of the bytes of Parts, from 0 to 1. It is 1 only if each byte
// is covered.
func (r *Report) Share() float64 {
	covered, bytes := r.Covered()
	if covered >= bytes {
		return 1
	}
	return min(float64(covered)/float64(bytes), 1-1e-9)
}

// dataFile reports whether a file of a checkpoint holds arrays or nodes of a database. Their bytes
// are counted by leaf.
func (v *verifier) dataFile(name string) bool {
	base := path.Base(name)
	if base == ocdbt.ManifestName {
		return true
	}
	switch base {
	case "zarr.json", ".zarray", ".zattrs", ".zgroup":
		return false
	}
	item, below := "", name
	if !v.items[""] {
		var ok bool
		if item, below, ok = strings.Cut(name, "/"); !ok {
			return false
		}
	}
	if !v.items[item] {
		return false // a file of an item that is not a tree
	}
	first, _, deeper := strings.Cut(below, "/")
	return deeper && first != orbax.ArraysDir
}

// documents counts the files without arrays of a checkpoint without a manifest. If the checkpoint
// is a single file, it counts the bytes around the arrays.
func (v *verifier) documents(files []store.Info) {
	if !strings.HasPrefix(v.c.Layout, "orbax") {
		arrays := int64(0)
		for _, p := range v.r.Parts {
			arrays += p.Bytes
		}
		rest := max(0, v.r.Bytes-arrays)
		for _, f := range files {
			if f.Name == dcp.MetadataName { // values that were compressed may be larger than the files
				rest = max(rest, f.Size)
			}
		}
		v.r.Parts = append(v.r.Parts, Coverage{Path: v.around(), Document: true, Bytes: rest})
		return
	}
	for _, f := range files {
		if f.Size > 0 && !v.dataFile(f.Name) {
			v.r.Parts = append(v.r.Parts, Coverage{Path: f.Name, Document: true, Bytes: f.Size})
		}
	}
}

// around describes the bytes around the arrays in a file with a format of its own.
func (v *verifier) around() string {
	switch v.c.Layout {
	case "safetensors":
		return "headers"
	case "numpy":
		return "names and headers"
	case "pt", "pt ranks":
		return "headers"
	case "dcp":
		return ".metadata, values and archives"
	}
	return "everything else"
}

// ours counts each leaf of a checkpoint with a manifest, and each file without arrays, as covered.
func (v *verifier) ours(f manifest.File) {
	if !v.dataFile(f.Name) && strings.HasPrefix(v.c.Layout, "orbax") {
		v.r.Parts = append(v.r.Parts, Coverage{Path: f.Name, Document: true, Bytes: f.Size, Covered: f.Size})
	}
}

// lostTree returns the damage of an item that was a tree and lost its document, which the remaining
// files show. It returns nil for other items.
func (v *verifier) lostTree(it layout.Item, files []store.Info) error {
	if it.Kind != layout.Unknown || orbax.OwnHandler(it.Handler) {
		return nil
	}
	lost := strings.Contains(it.Handler, "PyTree") || strings.Contains(it.Handler, "StandardCheckpointHandler")
	for _, f := range files {
		below, ok := strings.CutPrefix(f.Name, it.Name+"/")
		if !ok || lost {
			continue
		}
		switch first, _, _ := strings.Cut(below, "/"); {
		case first == ocdbt.ManifestName, first == orbax.StringsFile, ocdbt.IsProcessDir(first),
			path.Base(below) == ".zarray", path.Base(below) == "zarr.json":
			lost = true
		}
	}
	if !lost {
		return nil
	}
	return &errs.Error{Kind: errs.Corrupt, Op: "integrity.Verify", Subject: path.Join(it.Name, orbax.TreeFile),
		Got:    "the file is missing",
		Remedy: "without it the leaves of " + strconv.Quote(it.Name) + " are unknown"}
}

// lostRoot works like lostTree for a flat checkpoint, which was itself a tree.
func lostRoot(files []store.Info) error {
	for _, f := range files {
		if f.Name == ocdbt.ManifestName || path.Dir(f.Name) == orbax.ArraysDir {
			return &errs.Error{Kind: errs.Corrupt, Op: "integrity.Verify", Subject: orbax.TreeFile, Got: "the file is missing",
				Remedy: "without it the leaves are unknown"}
		}
	}
	return nil
}
