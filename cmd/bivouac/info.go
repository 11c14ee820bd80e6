package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// InfoOptions are the flags of `bivouac info`.
type InfoOptions struct {
	Step     int64
	Contents bool
	Files    bool
	Tree     bool
}

// AddFlags declares the flags.
func (o *InfoOptions) AddFlags(cmd *cobra.Command) {
	atLeast(cmd.Flags(), &o.Step, "step", 0, anyStep, "step of a run; by default the newest")
	cmd.Flags().BoolVar(&o.Tree, "tree", false, "draw the leaves as a tree")
	cmd.Flags().BoolVar(&o.Files, "files", false, "list the files: size, bytes on the disk, hard links, time")
	cmd.Flags().BoolVar(&o.Contents, "contents", false, "read everything: print JSON items, and the SHA-256 of each array")
}

// description is what `info --json` prints.
type description struct {
	Path      string              `json:"path"`
	Step      *int64              `json:"step,omitempty"` // if the directory has the name of a step
	Layout    string              `json:"layout"`
	Began     *time.Time          `json:"began,omitempty"`
	Committed *time.Time          `json:"committed,omitempty"`
	Manifest  bool                `json:"manifest"`
	Custom    json.RawMessage     `json:"custom,omitempty"`
	Notes     map[string]string   `json:"annotations,omitempty"`
	Items     map[string]itemJSON `json:"items"`
	Storage   storage             `json:"storage"`
	Files     []storedFile        `json:"files,omitempty"` // with --files
}

type itemJSON struct {
	Kind    string          `json:"kind"`
	Handler string          `json:"handler,omitempty"`
	Bytes   int64           `json:"bytes"`
	Leaves  []leafJSON      `json:"leaves,omitempty"`
	JSON    json.RawMessage `json:"json,omitempty"`
}

type leafJSON struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`
	DType  string `json:"dtype,omitempty"`
	Shape  []int  `json:"shape,omitzero"`
	Chunk  []int  `json:"chunk,omitzero"` // the smallest part that can be read by itself
	Shard  []int  `json:"shard,omitzero"` // the unit that contains several such parts
	Bytes  int64  `json:"bytes"`
	File   string `json:"file,omitempty"`  // the file that holds it, if it has its own file
	Value  any    `json:"value,omitempty"` // the text of a string
	SHA256 string `json:"sha256,omitempty"`
	Error  string `json:"error,omitempty"` // why it cannot be read
}

func newInfoCommand(g *global) *cobra.Command {
	var o InfoOptions
	return with(&cobra.Command{
		Use:   "info PATH",
		Short: "Describe a checkpoint: its items, and type and shape of every leaf",
		Long: `Describe a checkpoint, or a step of a run directory. Checkpoints that Orbax wrote
are described as well.

` + exitCodesHelp,
		Example: `  bivouac info runs/digits           # the newest step
  bivouac info runs/digits --step 1000 --tree`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runInfo(cmd.Context(), args[0], o, g) },
	}, o.AddFlags, g.addStepPrefix, g.addJSON, g.addURLs)
}

func runInfo(ctx context.Context, path string, o InfoOptions, g *global) error {
	found, err := resolve(ctx, path, o.Step, g)
	if err != nil {
		return err
	}
	path = found.path
	d, info, err := describeFound(ctx, found)
	if err != nil {
		return err
	}
	var contents map[string]any
	if o.Contents {
		if contents, err = checkpoint.LoadCheckpointables(ctx, path, nil); err != nil {
			return err
		}
	}
	if o.Contents {
		for _, it := range info.Items {
			d.Items[it.Name] = describe(it, contents[it.Name])
		}
	}
	files, err := place(path).files(ctx)
	if err != nil {
		return err
	}
	d.Storage = sum(files)
	d.Storage.remote = place(path).remote()
	if o.Files {
		d.Files = files
	}
	return cmp.Or(g.show(d, func() { d.print(g, info, o) }), unreadable(path, info))
}

// describeFound describes a checkpoint without its contents and files.
func describeFound(ctx context.Context, found resolved) (description, *checkpoint.Info, error) {
	info, err := checkpoint.Metadata(ctx, found.path, nil)
	if err != nil {
		return description{}, nil, err
	}
	d := description{Path: found.path, Step: found.step, Layout: info.Layout, Began: known(info.Began),
		Committed: known(info.Commit), Manifest: info.Manifest, Custom: info.Custom, Notes: info.Annotations,
		Items: map[string]itemJSON{}}
	for _, it := range info.Items {
		d.Items[it.Name] = describe(it, nil)
	}
	return d, info, nil
}

// unreadable returns an error for leaves that cannot be read, after all were listed.
func unreadable(path string, info *checkpoint.Info) error {
	var first error
	n := 0
	for _, it := range info.Items {
		for _, l := range it.Leaves {
			if l.Err == nil {
				continue
			}
			if n++; first == nil {
				first = l.Err
			}
		}
	}
	if n == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.KindOf(first), Op: "info", Subject: path, Got: fmt.Sprintf("%d leaves that cannot be read", n)}
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// describe returns an item as it is printed. contents are nil unless they were read.
func describe(it checkpoint.ItemInfo, contents any) itemJSON {
	out := itemJSON{Kind: it.Kind, Handler: it.Handler, Bytes: it.Bytes()}
	var sums map[string]string
	switch c := contents.(type) {
	case json.RawMessage:
		out.JSON = c
	case *tree.Node:
		sums = sha256s(c)
	}
	for _, l := range it.Leaves {
		leaf := leafJSON{Path: l.Param, Kind: l.Kind.String(), Bytes: l.Bytes(), File: l.File, SHA256: sums[l.Param]}
		if l.Err != nil {
			leaf.Error = oneLine(l.Err)
		} else if l.Kind == checkpoint.StringLeaf {
			leaf.Value = l.Text
		}
		if l.DType != tensor.Invalid {
			leaf.DType, leaf.Shape, leaf.Chunk = l.DType.String(), append([]int{}, l.Shape...), l.ReadShape
			if !slices.Equal(l.ChunkShape, l.ReadShape) {
				leaf.Shard = l.ChunkShape
			}
		}
		out.Leaves = append(out.Leaves, leaf)
	}
	return out
}

// sha256s hashes the bytes of every number and array of a tree.
func sha256s(root *tree.Node) map[string]string {
	sums := map[string]string{}
	for _, e := range tree.Flatten(root) {
		var b []byte
		switch v := e.Node.Value.(type) {
		case tensor.Tensor:
			b = v.Data
		case checkpoint.Bytes:
			b = v
		case int64:
			b = tensor.ScalarOf(v).Data
		case uint64:
			b = tensor.ScalarOf(v).Data
		case float64:
			b = tensor.ScalarOf(v).Data
		case bool:
			b = tensor.ScalarOf(v).Data
		default:
			continue
		}
		sum := sha256.Sum256(b)
		sums[e.Path.Param()] = hex.EncodeToString(sum[:])
	}
	return sums
}

func (d *description) print(g *global, info *checkpoint.Info, o InfoOptions) {
	g.printf("%s: %s", d.Path, d.Layout)
	switch {
	case d.Committed != nil && d.Began != nil:
		g.printf(", committed %s, %s after it began", d.Committed.Local().Format(time.DateTime), d.Committed.Sub(*d.Began).Round(time.Millisecond))
	case d.Committed != nil:
		g.printf(", committed %s", d.Committed.Local().Format(time.DateTime))
	case d.Began != nil:
		g.printf(", begun %s", d.Began.Local().Format(time.DateTime))
	}
	covered := "no manifest: only what the format checks is covered"
	if d.Manifest {
		covered = "every byte is covered by " + place(d.Path).base() + "/bivouac.manifest"
	}
	g.printf("\n%s\n%s\n", d.Storage, covered)
	for _, f := range d.Files {
		g.printf("  %-40s %10s %10s on disk  %2d names  %s\n", f.Name, size(f.Bytes), size(f.Allocated), f.Links, f.Modified.Local().Format(time.DateTime))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Notes)) {
		g.printf("%s: %s\n", name, d.Notes[name])
	}
	for _, it := range info.Items {
		d.printItem(g, it, o.Tree)
	}
}

func (d *description) printItem(g *global, it checkpoint.ItemInfo, drawn bool) {
	item := d.Items[it.Name]
	g.printf("\n%s  %s", it.Name, item.Kind)
	if len(item.Leaves) > 0 {
		g.printf(", %d leaves, %s", len(item.Leaves), size(item.Bytes))
	}
	g.printf("\n")
	if item.JSON != nil {
		g.print("  " + string(item.JSON) + "\n")
	}
	var root picture
	for i, l := range it.Leaves {
		what, notes := item.Leaves[i].words(l)
		if drawn {
			root.add(l.Path, strings.TrimSpace(fmt.Sprintf("%s  %s  %s", what, size(l.Bytes()), notes)), l.Bytes())
			continue
		}
		g.printf("  %-28s %-24s %10s  %s\n", item.Leaves[i].Path, what, size(l.Bytes()), notes)
	}
	root.draw(g.stdout, "", root.width(0))
}

// words describes a leaf, with additional notes.
func (j leafJSON) words(l checkpoint.LeafInfo) (what, notes string) {
	what = j.Kind
	if j.Error != "" {
		return what, "ERROR: " + j.Error
	}
	if j.DType != "" {
		what = j.DType + l.Shape.String()
	} else if j.Value != nil {
		what = "string"
	}
	var list []string
	if l.KeyImpl != "" {
		list = append(list, "PRNG key "+l.KeyImpl)
	}
	if j.DType != "" && !slices.Equal(j.Chunk, j.Shape) {
		list = append(list, "chunks of "+tensor.Shape(j.Chunk).String())
	}
	if j.Shard != nil && !slices.Equal(j.Shard, j.Shape) {
		list = append(list, "in shards of "+tensor.Shape(j.Shard).String())
	}
	if j.SHA256 != "" {
		list = append(list, j.SHA256)
	}
	return what, strings.Join(list, "  ")
}

// storedFile is a file of a checkpoint as the disk has it.
type storedFile struct {
	Name      string    `json:"name"`
	Bytes     int64     `json:"bytes"`
	Allocated int64     `json:"allocated"` // bytes on the disk
	Links     int       `json:"links"`     // number of its names; other steps that share the file have names of it too
	Modified  time.Time `json:"modified"`
}

// storage sums up the storage of a checkpoint.
type storage struct {
	Files       int   `json:"files"`
	Bytes       int64 `json:"bytes"`
	Allocated   int64 `json:"allocated"`
	LinkedFiles int   `json:"linked_files"` // files with further names, usually in other steps
	LinkedBytes int64 `json:"linked_bytes"` // their bytes, which stay if only this checkpoint is removed

	remote bool // the files are objects of an object store, which says nothing of disks and links
}

// filesBelow lists the files of a checkpoint, which may be one file.
func filesBelow(path string) ([]storedFile, error) {
	var out []storedFile
	err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		below, err := filepath.Rel(path, name)
		if below == "." {
			below = filepath.Base(path)
		}
		links, allocated := inode(info)
		out = append(out, storedFile{Name: filepath.ToSlash(below), Bytes: info.Size(), Allocated: allocated, Links: links, Modified: info.ModTime().UTC()})
		return err
	})
	if err != nil {
		return nil, &errs.Error{Kind: errs.IO, Subject: path, Err: err}
	}
	return out, nil
}

// sum sums up files.
func sum(files []storedFile) storage {
	s := storage{Files: len(files)}
	for _, f := range files {
		s.Bytes += f.Bytes
		s.Allocated += f.Allocated
		if f.Links > 1 {
			s.LinkedFiles++
			s.LinkedBytes += f.Bytes
		}
	}
	return s
}

// String describes the storage in words.
func (s storage) String() string {
	if s.remote {
		return strconv.Itoa(s.Files) + " objects, " + size(s.Bytes)
	}
	text := strconv.Itoa(s.Files) + " files, " + size(s.Bytes) + ", " + size(s.Allocated) + " on the disk"
	if s.LinkedFiles > 0 {
		text += "; " + size(s.LinkedBytes) + " in " + strconv.Itoa(s.LinkedFiles) + " files that other checkpoints link too"
	}
	return text
}

// picture draws leaves as a tree of their keys; the leaves of one container are drawn together.
type picture struct {
	name  string
	text  string // description of a leaf
	below []*picture
	bytes int64
	leafs int
}

// add adds a leaf. A container appears at the place of its first leaf.
func (p *picture) add(path tree.Path, text string, bytes int64) {
	p.bytes += bytes
	p.leafs++
	if len(path) == 0 {
		p.text = text
		return
	}
	for _, b := range p.below {
		if b.name == path[0].Name {
			b.add(path[1:], text, bytes)
			return
		}
	}
	b := &picture{name: path[0].Name}
	p.below = append(p.below, b)
	b.add(path[1:], text, bytes)
}

// width returns the width of the names, with the lines in front of them.
func (p *picture) width(depth int) int {
	w := 3*depth + utf8.RuneCountInString(printable(p.name))
	for _, b := range p.below {
		w = max(w, b.width(depth+1))
	}
	return w
}

// draw prints what is below p, names in a column of the given width.
func (p *picture) draw(w io.Writer, before string, column int) {
	for i, b := range p.below {
		branch, next := "├─ ", "│  "
		if i == len(p.below)-1 {
			branch, next = "└─ ", "   "
		}
		name := before + branch + printable(b.name)
		text := b.text
		if len(b.below) > 0 {
			text = fmt.Sprintf("%d leaves, %s", b.leafs, size(b.bytes))
		}
		pad := strings.Repeat(" ", max(0, column-utf8.RuneCountInString(name)))
		fmt.Fprintf(w, "%s%s  %s\n", name, pad, printable(text))
		b.draw(w, before+next, column)
	}
}
