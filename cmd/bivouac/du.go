package main

import (
	"context"
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

// DuOptions are the flags of `bivouac du`.
type DuOptions struct {
	parallel
	Long bool
}

// usage is what `du --json` prints of a run.
type usage struct {
	Directory string      `json:"directory"`
	Steps     int         `json:"steps"`
	Bytes     int64       `json:"bytes"`     // of all files, each as often as it has names here
	Disk      int64       `json:"disk"`      // bytes on the disk, of each file once
	Shared    int64       `json:"shared"`    // bytes on the disk of files with several names in this run
	Elsewhere int64       `json:"elsewhere"` // bytes on the disk of files that have names outside of it too
	Parts     []usagePart `json:"parts"`     // with --long: the steps, and what lies beside them

	files map[inodeID]fileUse
}

// usagePart is the use of a step.
type usagePart struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Freed int64  `json:"freed"` // bytes that a removal of this step alone would free
}

// inodeID identifies a file, whatever names it has.
type inodeID struct{ device, inode uint64 }

// fileUse is a file on the disk.
type fileUse struct {
	disk  int64
	links int // its names anywhere
	here  int // its names that were found
	part  int // the part of the run with its only names, or -1
}

// duSummary is the summary of `du --jsonl`.
type duSummary struct {
	Runs   int   `json:"runs"`
	Bytes  int64 `json:"bytes"`
	Disk   int64 `json:"disk"` // of all runs, of each file once
	Failed int   `json:"failed"`
}

func newDuCommand(g *global) *cobra.Command {
	var o DuOptions
	cmd := with(&cobra.Command{
		Use:   "du PATH…",
		Short: "Say how much runs take on the disk, and what their steps share",
		Long: `Say how much runs take. BYTES are the bytes of all files as a copy has them. DISK
is what they take on the disk: a file that several steps share counts once. SHARED is
the part of DISK that several steps of the run share, OUTSIDE the part that has names
outside of the run too, and stays if the run is removed. The last line counts files
that several runs share once.

With --long each step has a line. FREED is what its removal alone would free.

` + manyHelp + `
An object store shares nothing: there DISK equals BYTES.

` + exitCodesHelp,
		Example: `  bivouac du runs
  bivouac du runs/digits --long`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runDu(cmd.Context(), args, o, g) },
	}, o.addFlags(g), g.addJSON, g.addURLs)
	cmd.Flags().BoolVarP(&o.Long, "long", "l", false, "print each step too")
	return cmd
}

func runDu(ctx context.Context, args []string, o DuOptions, g *global) error {
	list, err := findNamed(ctx, args)
	if err != nil {
		return err
	}
	docs, sums, total := documents{g: g}, tally{op: "du"}, duSummary{}
	table := newTable(g, "PATH", ">STEPS", ">BYTES", ">DISK", ">SHARED", ">OUTSIDE", ">FREED")
	all := map[inodeID]bool{}
	err = each(ctx, o.jobs(), list, func(ctx context.Context, t named) (*usage, error) { return measure(ctx, t.path, o) },
		func(t named, u *usage, err error) error {
			total.Runs++
			if sums.add(t.path, err); err != nil {
				if total.Failed++; len(list) > 1 {
					g.blame(t.path, err)
					return docs.add(failedRun{t.path, newFailureText(err)})
				}
				return nil
			}
			total.Bytes += u.Bytes
			total.Disk += u.Disk
			for id, f := range u.files {
				if f.links == f.here {
					continue // no other run has it
				}
				if all[id] {
					total.Disk -= f.disk
				}
				all[id] = true
			}
			u.files = nil
			for _, p := range u.Parts {
				table.add("  "+place(u.Directory).join(p.Name), "", size(p.Bytes), "", "", "", size(p.Freed))
			}
			table.add(u.Directory, strconv.Itoa(u.Steps), size(u.Bytes), size(u.Disk), size(u.Shared), size(u.Elsewhere),
				size(u.Disk-u.Elsewhere))
			return docs.add(u)
		})
	if err == nil {
		err = docs.end(len(list), total)
	}
	if err != nil {
		return err
	}
	if !g.machine() && total.Runs > total.Failed {
		table.print()
		if len(list) > 1 {
			g.printf("%d runs, %s, %s on the disk\n", total.Runs, size(total.Bytes), size(total.Disk))
		}
	}
	return sums.err()
}

// measure measures a run, or a checkpoint.
func measure(ctx context.Context, dir string, o DuOptions) (*usage, error) {
	u := &usage{Directory: dir, Parts: []usagePart{}, files: map[inodeID]fileUse{}}
	is, err := place(dir).isDirectory(ctx)
	if err != nil {
		return nil, err
	}
	var parts []entry
	switch {
	case checkpoint.IsCheckpoint(ctx, dir, nil):
		u.Steps = 1
	case !is:
		return nil, noCheckpoint(ctx, dir)
	default:
		if parts, err = place(dir).list(ctx); err != nil {
			return nil, err
		}
		if _, run := isRun(ctx, dir, parts); !run {
			return nil, (&runDir{}).missing(ctx, dir, anyStep)
		}
	}
	if u.Steps == 1 {
		if err := u.add(ctx, dir, 0); err != nil {
			return nil, err
		}
	}
	for i, e := range parts {
		at := place(dir).join(e.name)
		if e.dir && checkpoint.IsCheckpoint(ctx, at, nil) {
			u.Steps++
		}
		before := *u
		if err := u.add(ctx, at, i); err != nil {
			return nil, err
		}
		if o.Long {
			u.Parts = append(u.Parts, usagePart{Name: e.name, Bytes: u.Bytes - before.Bytes})
		}
	}
	for _, f := range u.files {
		if f.here > 1 {
			u.Shared += f.disk
		}
		if f.links > f.here {
			u.Elsewhere += f.disk
		}
		if f.part >= 0 && f.part < len(u.Parts) && f.links == f.here {
			u.Parts[f.part].Freed += f.disk
		}
	}
	return u, nil
}

// add adds the files of a part of a run.
func (u *usage) add(ctx context.Context, at string, part int) error {
	if place(at).remote() {
		files, err := place(at).files(ctx)
		for _, f := range files {
			u.Bytes += f.Bytes
			u.Disk += f.Bytes
		}
		return err
	}
	err := filepath.WalkDir(at, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		links, allocated := inode(info)
		u.Bytes += info.Size()
		id := identity(info)
		if id == (inodeID{}) {
			id.inode = uint64(len(u.files)) + 1 // every file counts by itself
		}
		f, known := u.files[id]
		if !known {
			u.Disk += allocated
			f = fileUse{disk: allocated, links: links, part: part}
		}
		if f.here++; f.part != part {
			f.part = -1
		}
		u.files[id] = f
		return nil
	})
	if err != nil {
		return &errs.Error{Kind: errs.IO, Subject: at, Err: err}
	}
	return nil
}
