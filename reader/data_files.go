package reader

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/internal/folders"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

// dataFiles are the files of readers that have one sample in each, such as readers.numpy.
type dataFiles struct {
	set   *shards.Set
	names []string // as they were given; nil: they were found below root
	root  string
}

// name returns the name of a file as DALI gives it: as it was given, or relative to the root.
func (f *dataFiles) name(i int) string {
	if f.names != nil {
		return f.names[i]
	}
	name := f.set.Path(i)[len(f.root)+1:]
	if !strings.Contains(name, "/") {
		return "./" + name
	}
	return name
}

// dataFileParams are the arguments that say which files there are.
func dataFileParams(filter string) []op.Parameter {
	return []op.Parameter{
		{Name: "file_root", Type: op.String, Tuning: true, Doc: "Directory whose files, and those in its folders, are read, or what files and file_list are relative to."},
		{Name: "file_filter", Type: op.String, Default: filter, Tuning: true, Doc: "Pattern of file names, with file_root alone. It tells upper from lower case."},
		{Name: "file_list", Type: op.String, Tuning: true, Doc: "Text file with a path on each line, instead of file_root; its own folder is the default of file_root."},
		{Name: "files", Type: op.Strings, Tuning: true, Doc: "Paths of the files, in this order, instead of file_root."},
	}
}

// checkDataFiles checks the arguments of dataFileParams, and the arguments of all readers.
func checkDataFiles(c *op.Config) error {
	switch {
	case c.Has("files") && c.Has("file_list"):
		return c.Invalid("file_list", "only file_list or only files", "both", "")
	case c.Has("files") && len(op.Get[[]string](c, "files")) == 0:
		return c.Invalid("files", "at least one path", "no path", "")
	case !c.Has("files") && !c.Has("file_list") && op.Get[string](c, "file_root") == "":
		return c.Invalid("file_root", "a directory, files, or file_list", "none of them", "")
	}
	pattern := op.Get[string](c, "file_filter")
	if _, err := path.Match(pattern, ""); err != nil {
		return c.Invalid("file_filter", "a pattern such as *.npy", strconv.Quote(pattern), "")
	}
	return loaderargs.Check(c)
}

// openDataFiles finds the files of a reader.
func openDataFiles(ctx context.Context, c *op.Config) (*dataFiles, error) {
	name := c.Schema.FullName()
	names, root, err := dataFileNames(ctx, c, false)
	if err != nil {
		return nil, err
	}
	paths := names
	if root != "" {
		paths = make([]string, len(names))
		for i, n := range names {
			if paths[i] = n; !datafs.IsAbs(n) {
				paths[i] = datafs.Under(root, strings.TrimPrefix(n, "./"))
			}
		}
	}
	set, err := shards.Open(ctx, name, paths)
	if err != nil {
		return nil, err
	}
	f := &dataFiles{set: set, root: root}
	if c.Has("files") || c.Has("file_list") {
		f.names = names
	}
	return f, nil
}

// firstDataFile opens the first file alone, for readers whose outputs depend on it.
func firstDataFile(c *op.Config) (*shards.Set, error) {
	names, root, err := dataFileNames(context.Background(), c, true)
	if err != nil {
		return nil, err
	}
	first := names[0]
	if root != "" && !datafs.IsAbs(first) {
		first = datafs.Under(root, strings.TrimPrefix(first, "./"))
	}
	return shards.Open(context.Background(), c.Schema.FullName(), []string{first})
}

// dataFileNames returns the names of the files, at least one, and what they are relative to.
func dataFileNames(ctx context.Context, c *op.Config, first bool) (names []string, root string, err error) {
	root = op.Get[string](c, "file_root")
	switch {
	case c.Has("files"):
		for _, n := range op.Get[[]string](c, "files") {
			names = append(names, filepath.ToSlash(n))
		}
		return names, root, nil
	case c.Has("file_list"):
		list := op.Get[string](c, "file_list")
		if root == "" {
			root = filepath.ToSlash(datafs.Dir(list))
		}
		names, err = linesOf(ctx, c.Schema.FullName(), list, first)
	default:
		names, err = walkDataFiles(ctx, c, root, first)
	}
	return names, root, err
}

// linesOf returns the lines of a list of files that are not empty, at least one.
func linesOf(ctx context.Context, name, list string, first bool) ([]string, error) {
	file, err := datafs.OpenText(ctx, list)
	if err != nil {
		return nil, fileError(name, list, err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	var names []string
	lines := bufio.NewReaderSize(file, maxListLine)
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, &errs.Error{Kind: errs.Invalid, Op: name, Subject: fmt.Sprintf("%s, line %d", list, number),
				Want: fmt.Sprintf("a line of at most %d bytes", maxListLine), Got: "a longer line"}
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fileError(name, list, err)
		case ctx.Err() != nil:
			return nil, fileError(name, list, ctx.Err())
		}
		if text := strings.TrimRight(string(line), "\r\n"); text != "" {
			if names = append(names, filepath.ToSlash(text)); first {
				return names, nil
			}
		}
		if err != nil {
			break
		}
	}
	if len(names) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: name, Subject: list, Want: "at least one line with a path",
			Got: "no line"}
	}
	return names, nil
}

// walkDataFiles returns the matching files of a directory and of the folders in it, as DALI names
// and sorts them: folder by folder, and the directory itself is the folder ".".
func walkDataFiles(ctx context.Context, c *op.Config, root string, first bool) ([]string, error) {
	name := c.Schema.FullName()
	if info, err := datafs.Stat(ctx, root); err == nil && !info.IsDir() {
		return nil, &errs.Error{Kind: errs.Invalid, Op: name, Subject: root, Want: "a directory", Got: "a file"}
	}
	dirs, err := folders.Names(ctx, name, root)
	if err != nil {
		return nil, err
	}
	dirs = append(dirs, ".")
	slices.Sort(dirs)
	pattern := strings.ReplaceAll(op.Get[string](c, "file_filter"), "[!", "[^") // as in shells
	match := func(name string) bool { ok, _ := path.Match(pattern, name); return ok }
	var names []string
	seen := 0
	for len(dirs) > 0 {
		some := dirs
		if first {
			some = dirs[:1]
		}
		dirs = dirs[len(some):]
		lists, err := folders.List(ctx, name, root, some, match)
		if err != nil {
			return nil, err
		}
		for i := range lists {
			l := &lists[i]
			seen += l.Seen
			for _, e := range l.Files {
				if e.Size >= 0 {
					names = append(names, some[i]+"/"+l.Name(e))
				}
			}
			*l = folders.Listing{}
		}
		if first && len(names) > 0 {
			break
		}
	}
	if len(names) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: name, Subject: root,
			Want: "files that match " + op.Get[string](c, "file_filter"),
			Got:  fmt.Sprintf("no match among %d files", seen)}
	}
	return names, nil
}
