package ocdbt

import (
	"context"
	"io"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// CompactOptions tune Compact. The zero value does it now.
type CompactOptions struct {
	Time           time.Time     // of the commit, as in CommitOptions
	TargetFileSize int64         // size at which a new data file begins; 0: 2 GiB
	Name           func() string // makes the name of a data file; nil: RandomName
}

func (o *CompactOptions) withDefaults() CompactOptions {
	var v CompactOptions
	if o != nil {
		v = *o
	}
	if v.TargetFileSize <= 0 {
		v.TargetFileSize = 2 << 30
	}
	if v.Name == nil {
		v.Name = RandomName
	}
	return v
}

// Compaction is a commit that leaves one version, whose values and nodes lie in new files without
// gaps. It is written like any commit, Copies first. Afterwards Check lists all other files as
// orphans.
type Compaction struct {
	Commit
	Copies []CopiedFile
}

// CopiedFile is a data file that consists of values of the database.
type CopiedFile struct {
	Name string
	Size int64
	refs []Ref // in the order of the file, back to back
}

// Compact plans the compaction of the open version, which must be the newest. It
// reads the tree, not the values. A value that several keys share stays shared.
func Compact(ctx context.Context, db *DB, o *CompactOptions) (*Compaction, error) {
	options := o.withDefaults()
	commit, err := (&CommitOptions{Time: options.Time, Name: options.Name()}).withDefaults()
	if err != nil {
		return nil, err
	}
	if latest, ok := db.manifest.Latest(); !ok || latest.Generation != db.version.Generation {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "ocdbt.Compact", Subject: db.name,
			Want: "a database opened at the newest generation"}
	}
	c := &Compaction{}
	moved := map[place]Ref{}
	var entries []Entry
	for e, err := range db.List(ctx, Range{}) {
		if err != nil {
			return nil, err
		}
		if v := e.Value; !v.IsInline() {
			at := place{v.File.Path(), v.Offset, v.Length}
			to, ok := moved[at]
			if !ok {
				to = c.add(v, options)
				moved[at] = to
			}
			e.Value = to
		}
		entries = append(entries, e)
	}
	w := newCommitWriter(db, File{Name: commit.Name})
	if err := checkEntries(entryList(entries)); err != nil {
		return nil, err
	}
	root, err := w.root(content{entries: entries})
	if err != nil {
		return nil, err
	}
	done, err := w.commit(&Manifest{Config: db.manifest.Config, Versions: []Version{db.next(root, commit.Time)}})
	if err != nil {
		return nil, err
	}
	c.Commit = *done
	return c, nil
}

// place identifies a value in a file.
type place struct {
	path           string
	offset, length int64
}

// add plans the copy of a value and returns its new place.
func (c *Compaction) add(v Ref, o CompactOptions) Ref {
	n := len(c.Copies) - 1
	if n < 0 || c.Copies[n].Size >= o.TargetFileSize {
		c.Copies = append(c.Copies, CopiedFile{Name: o.Name()})
		n++
	}
	f := &c.Copies[n]
	to := Ref{File: File{Name: f.Name}, Offset: f.Size, Length: v.Length}
	f.Size += v.Length
	f.refs = append(f.refs, v)
	return to
}

// copyBuffer is the size of the memory for copying.
const copyBuffer = 1 << 20

// WriteTo writes the content of the file, which it reads from the database that
// was compacted.
func (f *CopiedFile) WriteTo(ctx context.Context, db *DB, w io.Writer) error {
	buffer := make([]byte, copyBuffer)
	for _, ref := range f.refs {
		for off := int64(0); off < ref.Length; {
			p := buffer[:min(copyBuffer, ref.Length-off)]
			if err := db.ReadValueAt(ctx, ref, p, off); err != nil {
				return err
			}
			if _, err := w.Write(p); err != nil {
				return errs.Wrap("ocdbt.Compact", f.Name, err)
			}
			off += int64(len(p))
		}
	}
	return nil
}
