package reader

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/internal/energon"
)

// energonSplits is the file of Megatron-Energon that says which archives a split has.
const energonSplits = ".nv-meta/split.yaml"

// energonOf finds a split of a folder that Megatron-Energon prepared: WebDataset archives, in the
// order of split.yaml. The outputs are the components of the samples. Of dataset.yaml nothing is
// used: it names code.
func energonOf(ctx context.Context, dir, split string) (name string, args op.Args, err error) {
	at := datafs.Join(dir, filepath.FromSlash(energonSplits))
	bad := func(kind errs.Kind, want, got, remedy string) error {
		return &errs.Error{Kind: kind, Op: "reader.Detect", Subject: at, Want: want, Got: got, Remedy: remedy}
	}
	text, err := readText(ctx, at)
	if err != nil {
		return "", nil, err
	}
	file, err := energon.Parse(text)
	if err != nil {
		return "", nil, bad(errs.Corrupt, "YAML as energon prepare writes it", err.Error(), "")
	}
	var have []string
	for s, list := range file.Parts {
		if len(list) > 0 {
			have = append(have, s)
		}
	}
	if len(have) == 0 {
		return "", nil, bad(errs.Corrupt, "split_parts with archives", "none", "")
	}
	if split, err = chooseSplit(dir, split, have); err != nil {
		return "", nil, err
	}
	archives, err := energonNames(file.Parts[split])
	if err != nil {
		return "", nil, err
	}
	excluded, err := energonNames(file.Exclude)
	if err != nil {
		return "", nil, err
	}
	has, without := make(map[string]bool, len(archives)), make(map[string]bool, len(excluded))
	for _, a := range archives {
		has[a] = true
	}
	for _, x := range excluded {
		without[x] = true
		for at := range x {
			if x[at] == '/' && has[x[:at]] && !has[x] {
				return "", nil, bad(errs.Unsupported, "exclude with whole archives", "the sample "+x,
					"write the archive again without it")
			}
		}
	}
	var paths []string
	seen := make(map[string]bool, len(archives))
	for _, a := range archives {
		if !filepath.IsLocal(filepath.FromSlash(a)) {
			return "", nil, bad(errs.Corrupt, "archives below the folder", fmt.Sprintf("%q", a), "")
		}
		path := datafs.Join(dir, filepath.FromSlash(a))
		if seen[path] {
			return "", nil, bad(errs.Corrupt, "each archive once", a+" twice", "")
		}
		if seen[path] = true; !without[a] {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return "", nil, bad(errs.Invalid, "an archive of the split "+split+" that is not excluded", "none", "")
	}
	for _, path := range paths {
		if _, err := datafs.Stat(ctx, path); err != nil {
			return "", nil, fileError("reader.Detect", path, err)
		}
	}
	args = op.Args{"paths": paths}
	for k, v := range tarArgs(paths) {
		args[k] = v
	}
	return "readers.webdataset", args, nil
}

// energonNames expands the ranges in names.
func energonNames(list []string) (names []string, err error) {
	for _, pattern := range list {
		more, err := braces(pattern)
		if err != nil {
			return nil, err
		}
		if len(more) == 0 {
			more = []string{pattern}
		}
		if names = append(names, more...); len(names) > mostRange {
			return nil, &errs.Error{Kind: errs.Exhausted, Op: "reader.Detect", Subject: pattern,
				Want: fmt.Sprintf("at most %d archives", mostRange)}
		}
	}
	return names, nil
}
