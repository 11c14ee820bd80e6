package reader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

func importOf(reader string) string {
	for _, f := range formatList() {
		if f.Reader == reader {
			return f.Import
		}
	}
	return ""
}

func notLinked(reader, pkg string) error {
	return &errs.Error{Kind: errs.Unsupported, Op: "reader.Open", Subject: reader,
		Got:    "a reader that this program does not link",
		Remedy: fmt.Sprintf("import _ %q", pkg)}
}

// Detect finds the reader of a data set and its arguments. paths are files, or one folder. A name
// may be a pattern: "part-*.tar" or "part-{000..127}.tar". The files of a data set have one format.
// Their names tell it, and if they do not, their first bytes.
//
// The error is of kind errs.NotFound if nothing has the name, and of kind errs.Unsupported if no
// reader knows the files, or if the program does not link the reader. It names the import then.
func Detect(ctx context.Context, paths []string) (name string, args op.Args, err error) {
	return DetectSplit(ctx, paths, "")
}

// detect works like Detect without splits.
func detect(ctx context.Context, paths []string) (name string, args op.Args, err error) {
	files, err := Expand(ctx, paths)
	if err != nil {
		return "", nil, err
	}
	if name, args, ok := folderOf(ctx, paths, files); ok {
		return name, args, nil
	}
	var found Format
	for i, path := range files {
		f, ok, err := formatOf(ctx, path)
		if err != nil {
			return "", nil, err
		}
		if !ok {
			return "", nil, &errs.Error{Kind: errs.Unsupported, Op: "reader.Detect", Subject: path,
				Want: "a file of a known format",
				Got:  "another name and other first bytes", Remedy: "name the reader; bivouac ops lists them"}
		}
		if i > 0 && f.Reader != found.Reader {
			return "", nil, &errs.Error{Kind: errs.Mismatch, Op: "reader.Detect", Subject: path,
				Want: "a file for " + found.Reader + ", as " + files[0], Got: "one for " + f.Reader,
				Remedy: "make two data sets of them"}
		}
		found = f
	}
	schema, err := op.Lookup(found.Reader)
	if err != nil {
		if found.Import != "" {
			return "", nil, notLinked(found.Reader, found.Import)
		}
		return "", nil, errs.Wrap("reader.Detect", files[0], err)
	}
	args, err = found.args(schema, files)
	return found.Reader, args, err
}

// args returns the arguments for files.
func (f *Format) args(schema *op.Schema, files []string) (op.Args, error) {
	args, err := pathArgs(schema, files)
	if f.Args == nil {
		return args, err
	}
	if err != nil {
		args = op.Args{}
	}
	maps.Copy(args, f.Args(files))
	return args, nil
}

// PathArgs returns the arguments with which a reader reads files or patterns of files.
func PathArgs(ctx context.Context, name string, paths []string) (op.Args, error) {
	schema, err := Schema(name)
	if err != nil {
		return nil, err
	}
	if _, ok := schema.Param("file_root"); ok && len(paths) == 1 {
		if info, err := datafs.Stat(ctx, paths[0]); err == nil && info.IsDir() {
			return op.Args{"file_root": paths[0]}, nil
		}
	}
	if schema.FullName() == folderName && len(paths) == 1 {
		return op.Args{"path": paths[0]}, nil
	}
	files, err := Expand(ctx, paths)
	if err != nil {
		return nil, err
	}
	for _, f := range formatList() {
		if f.Reader == schema.FullName() {
			return f.args(schema, files)
		}
	}
	return pathArgs(schema, files)
}

// pathArgs puts files into the argument that names them.
func pathArgs(schema *op.Schema, files []string) (op.Args, error) {
	for _, name := range []string{"paths", "path", "files"} {
		p, ok := schema.Param(name)
		switch {
		case !ok:
		case p.Type == op.Strings:
			return op.Args{name: files}, nil
		case p.Type == op.String && len(files) == 1:
			return op.Args{name: files[0]}, nil
		case p.Type == op.String:
			return nil, &errs.Error{Kind: errs.Invalid, Op: schema.FullName(), Want: "one file", Got: fmt.Sprintf("%d files",
				len(files))}
		}
	}
	return nil, &errs.Error{Kind: errs.Unsupported, Op: schema.FullName(), Want: "an argument paths, path or files",
		Got:    "none",
		Remedy: "give the arguments of the reader"}
}

// folderOf finds data sets that are folders with files of their own.
func folderOf(ctx context.Context, paths, files []string) (name string, args op.Args, ok bool) {
	if len(paths) != 1 {
		return "", nil, false
	}
	info, err := datafs.Stat(ctx, paths[0])
	if err != nil || !info.IsDir() {
		return "", nil, false
	}
	for _, f := range files {
		switch datafs.Base(f) {
		case "index.json": // of MDS and of litdata
			b, err := datafs.ReadFile(ctx, f)
			for key, reader := range map[string]string{`"shards"`: "readers.mds", `"chunks"`: "readers.litdata"} {
				if err == nil && strings.Contains(string(b), key) {
					if schema, err := op.Lookup(reader); err == nil {
						if args, ok := dirArgs(schema, paths[0]); ok {
							return reader, args, true
						}
					}
				}
			}
		case "data.mdb":
			return "readers.caffe", op.Args{"path": paths}, true
		}
	}
	if len(files) == 0 { // only folders: a class each
		return fileName, op.Args{"file_root": paths[0]}, true
	}
	return "", nil, false
}

func dirArgs(schema *op.Schema, dir string) (op.Args, bool) {
	for _, name := range []string{"path", "paths", "dir", "root"} {
		switch p, ok := schema.Param(name); {
		case ok && p.Type == op.Strings:
			return op.Args{name: []string{dir}}, true
		case ok && p.Type == op.String:
			return op.Args{name: dir}, true
		}
	}
	return nil, false
}

// side reports whether a file lies beside the data and has no samples.
func side(name string) bool {
	base := datafs.Base(name)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || strings.HasPrefix(base, "bivouac.") {
		return true
	}
	switch strings.ToLower(filepath.Ext(base)) {
	case ".idx", ".md", ".txt", ".yaml", ".yml", ".lock", ".tmp", ".crc":
		return true
	}
	return base == "dataset_info.json" || base == "state.json" || base == "index.json"
}

// Expand returns the files that paths name: a file, a folder, or a pattern such as "part-*.tar" or
// "part-{000..127}.tar". A folder stands for its files except those that begin with a dot or "_"
// and those that accompany the data, such as indexes; if it has only folders it stands for no file.
// Patterns and folders are sorted by name.
func Expand(ctx context.Context, paths []string) ([]string, error) {
	var files []string
	if len(paths) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "reader.Expand", Want: "at least one path", Got: "no path"}
	}
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, &errs.Error{Kind: errs.Canceled, Op: "reader.Expand", Err: err}
		}
		list, err := expand(ctx, path)
		if err != nil {
			return nil, err
		}
		files = append(files, list...)
	}
	return files, nil
}

func expand(ctx context.Context, path string) ([]string, error) {
	info, err := datafs.Stat(ctx, path)
	if err == nil && info.IsDir() {
		entries, err := datafs.ReadDir(ctx, path)
		if err != nil {
			return nil, expandError(path, err)
		}
		var files, folders int
		var list []string
		for _, e := range entries {
			full := datafs.Join(path, e.Name())
			if info, err := datafs.Stat(ctx, full); err == nil && info.IsDir() {
				folders++
				continue
			}
			if files++; !side(full) || e.Name() == "index.json" {
				list = append(list, full)
			}
		}
		if len(list) == 0 && folders == 0 {
			return nil, &errs.Error{Kind: errs.NotFound, Op: "reader.Expand", Subject: path, Want: "files of a data set",
				Got: fmt.Sprintf("a folder with %d other files", files)}
		}
		return list, nil
	}
	if err == nil {
		return []string{path}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, expandError(path, err)
	}
	list := []string{path}
	if ranged, err := braces(path); err != nil || len(ranged) > 0 {
		if err != nil {
			return nil, err
		}
		list = ranged
	}
	if datafs.HasMeta(path) {
		var found []string
		for _, pattern := range list {
			names, err := datafs.Glob(ctx, pattern)
			if err != nil {
				return nil, &errs.Error{Kind: errs.Invalid, Op: "reader.Expand", Subject: path, Want: "a pattern of file names",
					Got: err.Error()}
			}
			found = append(found, slices.DeleteFunc(names, func(name string) bool {
				ext := datafs.Ext(pattern) // a pattern such as *.txt asks for them
				return side(name) && (ext == "" || ext != datafs.Ext(name))
			})...)
		}
		if len(found) == 0 {
			return nil, &errs.Error{Kind: errs.NotFound, Op: "reader.Expand", Subject: path, Want: "files that match",
				Got: "no match"}
		}
		return found, nil
	}
	if len(list) == 1 {
		return nil, expandError(path, err)
	}
	return list, nil
}

// mostRange bounds the files of a range of numbers.
const mostRange = 1 << 20

// braces returns the names of a range, "a{00..12}b", or nothing if the path has none.
func braces(path string) ([]string, error) {
	open := strings.IndexByte(path, '{')
	end := strings.IndexByte(path[max(open, 0):], '}')
	if open < 0 || end < 0 {
		return nil, nil
	}
	inner, before, after := path[open+1:open+end], path[:open], path[open+end+1:]
	var parts []string
	if lo, hi, ok := strings.Cut(inner, ".."); ok {
		var from, to int
		if _, err := fmt.Sscanf(lo+" "+hi, "%d %d", &from, &to); err != nil || from < 0 || to < from ||
			to-from >= mostRange {
			return nil, &errs.Error{Kind: errs.Invalid, Op: "reader.Expand", Subject: path,
				Want: "a range such as {000..127}", Got: "{" + inner + "}"}
		}
		for i := from; i <= to; i++ {
			parts = append(parts, fmt.Sprintf("%0*d", len(lo), i))
		}
	} else {
		parts = strings.Split(inner, ",")
	}
	var list []string
	for _, p := range parts {
		more, err := braces(before + p + after)
		if err != nil {
			return nil, err
		}
		if more == nil {
			more = []string{before + p + after}
		}
		if list = append(list, more...); len(list) > mostRange {
			return nil, &errs.Error{Kind: errs.Exhausted, Op: "reader.Expand", Subject: path,
				Want: fmt.Sprintf("at most %d files", mostRange)}
		}
	}
	return list, nil
}

func expandError(path string, err error) error {
	var own *errs.Error
	if errors.As(err, &own) {
		return errs.Wrap("reader.Expand", "", err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if other := datafs.Check(path); other != nil {
			return errs.Wrap("reader.Expand", "", other)
		}
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &errs.Error{Kind: shards.Kind(err), Op: "reader.Expand", Subject: path, Err: err}
}
