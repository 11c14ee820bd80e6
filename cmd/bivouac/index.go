package main

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/store"
)

// IndexOptions are the flags of `bivouac index`.
type IndexOptions struct {
	Output    string
	Format    string
	Workers   int
	Check     bool
	Lines     bool
	Overwrite bool
}

// AddFlags declares the flags.
func (o *IndexOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.Output, "output", "o", "", "file to write; by default bivouac.index in the folder of the data")
	f.StringVar(&o.Format, "format", "", "format of the files; by default it is found out")
	atLeast(f, &o.Workers, "workers", 1, 0, "files that are read at once; by default one for each processor")
	f.BoolVar(&o.Check, "check", false, "compare the index that is there with the files, and change nothing")
	f.BoolVar(&o.Lines, "idx", false, "also write the index of each file that DALI and MXNet read, beside it")
	f.BoolVar(&o.Overwrite, "overwrite", false,
		"replace an index that has other files, and with --idx those beside the files")
}

// indexed is what `index --json` prints.
type indexed struct {
	Index       string      `json:"index"`
	Format      string      `json:"format"`
	Files       int         `json:"files"`
	Records     int64       `json:"records"`
	Bytes       int64       `json:"bytes"`
	Keys        bool        `json:"keys"`
	Parts       []string    `json:"parts"` // names of the components of samples
	Fingerprint string      `json:"fingerprint"`
	Reused      int         `json:"reused"`            // files that an interrupted run had read
	LeftOut     []string    `json:"left_out"`          // files that are of no known format
	Copies      [][2]string `json:"copies"`            // files that seem to be a copy of another
	Lines       []string    `json:"idx,omitempty"`     // indexes in text that were written
	Checked     []checked   `json:"checked,omitempty"` // with --check
}

func newIndexCommand(g *global) *cobra.Command {
	var o IndexOptions
	return with(&cobra.Command{
		Use:   "index DIR|FILE…",
		Short: "Find the records of a data set, and write an index of them",
		Long: `Find the records of all files of a data set, and write an index of them:
bivouac.index beside the data, or the file of --output. Readers map it into
memory, so that opening takes no time, and refuse it if a file was changed.

The format is found by the contents of the files. In a folder, files of no known
format are left out and named. A named file of no known format is an error.

Files are read in parallel. The index appears in one step at the end. If the
command is killed, the next run goes on with the files that are not done.

--check reads all files again and compares them with the index. It exits with 4
if one is missing, was changed, is damaged, or is not in the index.

` + exitCodesHelp,
		Example: `  bivouac index shards`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.index(cmd.Context(), args, o)
		},
	}, g.addJSON, o.AddFlags, g.addURLs)
}

const indexOp = "index"

func (g *global) index(ctx context.Context, args []string, o IndexOptions) error {
	paths, dir, err := dataFiles(ctx, args, o.Output)
	if err != nil {
		return err
	}
	target := o.Output
	if target == "" {
		target = datafs.Join(dir, index.Name)
	}
	set, err := shards.Open(ctx, indexOp, paths)
	if err != nil {
		return err
	}
	defer set.Close()
	named := make(map[string]bool, len(args))
	for _, arg := range args {
		named[arg] = true
	}
	f, chosen, left, err := formatOf(ctx, set, o.Format, func(i int) bool { return named[set.Path(i)] })
	if err != nil {
		return err
	}
	if len(chosen) < set.Len() {
		set.Close() //nolint:errcheck // nothing was written
		if set, err = shards.Open(ctx, indexOp, chosen); err != nil {
			return err
		}
	}
	total := int64(0)
	for i := range set.Len() {
		total += set.Size(i)
	}
	w := newWork(g)
	show := w.on(f.Name)
	build := index.BuildOptions{Workers: o.Workers, Root: datafs.Dir(target),
		OnFile: func(_ int, done int64) { show(done, total) }}
	if o.Check {
		r, err := checkIndex(ctx, target, set, f, build)
		w.close()
		if err != nil {
			return err
		}
		r.LeftOut = left
		if err := g.show(r, func() { g.printChecked(r) }); err != nil {
			return err
		}
		return r.failed()
	}
	var lines []string
	if o.Lines {
		if lines, err = linesOf(set, f, o.Overwrite); err != nil {
			w.close()
			return err
		}
	}
	if err := mayReplace(ctx, target, set, f, o.Overwrite); err != nil {
		w.close()
		return err
	}
	x, reused, err := makeIndex(ctx, target, set, f, build)
	w.close()
	if err != nil {
		return err
	}
	defer x.Close()
	for i, path := range lines {
		if err := writeLines(path, x, i, f); err != nil {
			return err
		}
	}
	r := describeIndex(target, x)
	r.Reused, r.LeftOut, r.Lines = reused, left, lines
	return g.show(r, func() { g.printIndexed(r) })
}

// makeIndex makes the index at target. An index that belongs into a bucket is made in a temporary
// directory first.
func makeIndex(ctx context.Context, target string, set *shards.Set, f index.Format,
	o index.BuildOptions) (x *index.Index, reused int, err error) {
	if !datafs.IsURL(target) {
		return index.Make(ctx, indexOp, target, set, f, o)
	}
	st, name, err := store.FromURL(ctx, target)
	if err != nil {
		return nil, 0, err
	}
	dir, err := os.MkdirTemp("", "bivouac-index-*")
	if err != nil {
		return nil, 0, fileError(target, err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is temporary
	local := filepath.Join(dir, index.Name)
	if x, reused, err = index.Make(ctx, indexOp, local, set, f, o); err != nil {
		return nil, 0, err
	}
	b, err := os.ReadFile(local)
	if err == nil {
		err = st.Put(ctx, name, b, store.PutOptions{})
	}
	if err != nil {
		x.Close() //nolint:errcheck // the other error says more
		return nil, 0, fileError(target, err)
	}
	return x, reused, nil
}

// mayReplace returns an error if the file at target must not be replaced by an index of set: if it
// is not an index, or an index that knows more than the new one will. With overwrite any index may
// be replaced. An index that is damaged, and one of files that are gone, may always be replaced.
func mayReplace(ctx context.Context, target string, set *shards.Set, f index.Format, overwrite bool) error {
	refuse := func(got, remedy string) error {
		return &errs.Error{Kind: errs.Exists, Op: indexOp, Subject: target, Want: "no file, or an index of these files",
			Got: got, Remedy: remedy}
	}
	is, err := index.IsIndex(target)
	switch {
	case errors.Is(err, errs.NotFound):
		return nil
	case err != nil:
		return err
	case !is:
		return refuse("a file that is no index", "name another with --output")
	case overwrite:
		return nil
	}
	x, err := index.Open(target)
	if errors.Is(err, errs.Corrupt) {
		return nil
	}
	if err != nil {
		return err
	}
	defer x.Close()
	if x.Format() != f.Name {
		return refuse("an index of "+x.Format(), "name another with --output, or replace it with --overwrite")
	}
	chosen := make(map[string]bool, set.Len())
	for i := range set.Len() {
		chosen[absolute(set.Path(i))] = true
	}
	for _, file := range x.Files() {
		path := absolute(pathOf(target, file))
		if _, err := datafs.Stat(ctx, path); err == nil && !chosen[path] {
			return refuse("an index that also has "+file.Name,
				"name the whole folder, name another index with --output, or replace it with --overwrite")
		}
	}
	return nil
}

// dataFiles returns the files that the arguments name, and the folder that the index belongs into.
// Of a folder it returns all files below it, sorted by path, without hidden ones and indexes.
func dataFiles(ctx context.Context, args []string, output string) (paths []string, dir string, err error) {
	for _, arg := range args {
		info, err := datafs.Stat(ctx, arg)
		if err != nil {
			return nil, "", fileError(arg, err)
		}
		if !info.IsDir() {
			paths = append(paths, arg)
			continue
		}
		if len(args) == 1 {
			dir = arg
		}
		before := len(paths)
		if datafs.IsURL(arg) {
			err = datafs.Below(ctx, arg, func(name string, _ fs.FileInfo) error {
				base := path.Base(name)
				if !strings.HasPrefix(name, ".") && !strings.Contains(name, "/.") && !isIndex(base) {
					paths = append(paths, datafs.Join(arg, name))
				}
				return nil
			})
			if err == nil && len(paths) == before {
				err = noFile(arg)
			}
			if err != nil {
				return nil, "", err
			}
			continue
		}
		root := strings.TrimSuffix(arg, "/") + "/" // so that a link is followed
		err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return fileError(path, err)
			case strings.HasPrefix(d.Name(), ".") && path != root:
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			case d.IsDir(), isIndex(d.Name()), output != "" && filepath.Clean(path) == filepath.Clean(output):
				return nil
			}
			info, err := os.Stat(path)
			switch {
			case err != nil:
				return fileError(path, err) // of a link that leads nowhere
			case info.IsDir():
				return &errs.Error{Kind: errs.Unsupported, Op: indexOp, Subject: path, Want: "files and folders",
					Got: "a link to a folder", Remedy: "name the folder that it leads to"}
			case info.Mode().IsRegular():
				paths = append(paths, path)
			}
			return nil
		})
		if err != nil {
			return nil, "", err
		}
		slices.Sort(paths[before:])
		if len(paths) == before {
			return nil, "", noFile(arg)
		}
	}
	if dir == "" {
		dir = datafs.Dir(paths[0])
	}
	return paths, dir, nil
}

func noFile(dir string) error {
	return &errs.Error{Kind: errs.NotFound, Op: indexOp, Subject: dir, Want: "a folder with files", Got: "no file"}
}

// isIndex reports whether a file is an index of others, or being written.
func isIndex(name string) bool {
	return strings.HasPrefix(name, index.Name) || strings.HasSuffix(name, ".idx")
}

func fileError(path string, err error) error {
	if err == nil {
		return nil
	}
	var own *errs.Error
	if errors.As(err, &own) {
		return errs.Wrap(indexOp, "", err)
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &errs.Error{Kind: shards.Kind(err), Op: indexOp, Subject: path, Err: err}
}

// formatOf returns the format of the files of a set, those that have it, and those that have none.
// All must have the same. A file that was named must have one.
func formatOf(ctx context.Context, set *shards.Set, name string,
	named func(i int) bool) (f index.Format, chosen, left []string, err error) {
	left = []string{}
	if name != "" {
		f, err = reader.RecordFormat(name)
		if err != nil {
			return f, nil, nil, usageError{err}
		}
	}
	found, failed := make([]index.Format, set.Len()), make([]error, set.Len())
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(16, set.Len()) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < set.Len() && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if name != "" && named(i) {
					found[i] = f
				} else {
					found[i], failed[i] = reader.DetectRecords(ctx, indexOp, set, i)
				}
			}
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return f, nil, nil, &errs.Error{Kind: errs.Canceled, Op: indexOp, Err: err}
	}
	first := ""
	for i := range found {
		path := set.Path(i)
		switch {
		case failed[i] != nil && (named(i) || !errors.Is(failed[i], errs.Unsupported)):
			return f, nil, nil, failed[i]
		case failed[i] != nil, name != "" && found[i].Name != name:
			left = append(left, path)
			continue
		case f.Name == "":
			f, first = found[i], path
		case f.Name != found[i].Name:
			return f, nil, nil, &errs.Error{Kind: errs.Invalid, Op: indexOp, Subject: path,
				Want: "files of one format, " + f.Name + " as " + first,
				Got:  found[i].Name, Remedy: "choose one with --format"}
		}
		chosen = append(chosen, path)
	}
	if len(chosen) == 0 {
		if name != "" {
			return f, nil, nil, &errs.Error{Kind: errs.NotFound, Op: indexOp, Subject: set.Path(0),
				Want: "files of the format " + name, Got: "none"}
		}
		return f, nil, nil, failed[0]
	}
	return f, chosen, left, nil
}

// describeIndex says what an index has.
func describeIndex(path string, x *index.Index) indexed {
	r := indexed{Index: path, Format: x.Format(), Files: len(x.Files()), Records: x.Records(), Keys: x.HasKeys(),
		Parts:       append([]string{}, x.PartNames()...),
		Fingerprint: x.Fingerprint(), Copies: [][2]string{}}
	type contents struct {
		print string
		probe uint32
	}
	seen := map[contents]int{}
	for i, f := range x.Files() {
		r.Bytes += f.Size
		c := contents{f.Print, f.Probe}
		if first, ok := seen[c]; ok && f.Size > 0 {
			r.Copies = append(r.Copies, [2]string{pathOf(path, f), pathOf(path, x.Files()[first])})
		} else {
			seen[c] = i
		}
	}
	return r
}

// pathOf returns the path of a file of an index.
func pathOf(path string, f index.File) string {
	name := filepath.FromSlash(f.Name)
	if datafs.IsAbs(name) {
		return name
	}
	return datafs.Join(datafs.Dir(path), name)
}

func (g *global) printIndexed(r indexed) {
	g.printf("index        %s\n", r.Index)
	g.printf("format       %s\n", r.Format)
	g.printf("files        %d, %s\n", r.Files, size(r.Bytes))
	g.printf("records      %d\n", r.Records)
	if len(r.Parts) > 0 {
		g.printf("parts        %s\n", strings.Join(r.Parts, " "))
	}
	g.printf("fingerprint  %s\n", r.Fingerprint)
	if r.Reused > 0 {
		g.printf("%d files were read by a run that was interrupted\n", r.Reused)
	}
	for _, path := range r.Lines {
		g.printf("written      %s\n", path)
	}
	g.printLeft(r)
	for _, c := range r.Copies {
		g.printf("alike        %s may be a copy of %s: places of records and probed bytes are equal\n", c[0], c[1])
	}
}

func (g *global) printLeft(r indexed) {
	for _, path := range r.LeftOut {
		g.printf("left out     %s, which is not %s\n", path, r.Format)
	}
}

// linesOf returns where the indexes in text of the files go.
func linesOf(set *shards.Set, f index.Format, overwrite bool) ([]string, error) {
	if f.Lines == nil {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: indexOp, Subject: "--idx",
			Want: "a format that has an index in text", Got: f.Name}
	}
	var list []string
	for i := range set.Len() {
		path := f.Lines.Path(set.Path(i))
		if datafs.IsURL(path) {
			return nil, &errs.Error{Kind: errs.Unsupported, Op: indexOp, Subject: "--idx", Want: "files on a disk",
				Got: path, Remedy: "leave --idx out: the index in the bucket has the same"}
		}
		if _, err := os.Lstat(path); err == nil && !overwrite {
			return nil, &errs.Error{Kind: errs.Exists, Op: indexOp, Subject: path, Remedy: "give --overwrite to replace it"}
		}
		list = append(list, path)
	}
	return list, nil
}

// writeLines writes the index in text of a file, in one step.
func writeLines(path string, x *index.Index, file int, f index.Format) (err error) {
	out, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return fileError(path, err)
	}
	defer func() {
		if err != nil {
			out.Close()           //nolint:errcheck // the first error says more
			os.Remove(out.Name()) //nolint:errcheck // the first error says more
		}
	}()
	from, to := x.In(file)
	var records iter.Seq2[index.Record, error] = func(yield func(index.Record, error) bool) {
		for id := from; id < to; id++ {
			if !yield(x.Record(id)) {
				return
			}
		}
	}
	b := bufio.NewWriterSize(out, 1<<20)
	if err := f.Lines.Write(b, to-from, records); err != nil {
		return err
	}
	for _, step := range []func() error{b.Flush, func() error { return out.Chmod(0o644) }, out.Sync, out.Close,
		func() error { return os.Rename(out.Name(), path) }} {
		if err := step(); err != nil {
			return fileError(path, err)
		}
	}
	return nil
}
