package reader

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/internal/energon"
)

// energonSplits is the file of Megatron-Energon that says which archives a split has.
const energonSplits = ".nv-meta/split.yaml"

// energonOf finds a split of a folder that Megatron-Energon prepared: WebDataset archives, in the
// order of split.yaml. The outputs are the components of the samples. Of dataset.yaml nothing is
// used: it names code.
func energonOf(dir, split string) (name string, args op.Args, err error) {
	at := filepath.Join(dir, filepath.FromSlash(energonSplits))
	bad := func(kind errs.Kind, want, got, remedy string) error {
		return &errs.Error{Kind: kind, Op: "reader.Detect", Subject: at, Want: want, Got: got, Remedy: remedy}
	}
	text, err := os.ReadFile(at)
	if err != nil {
		return "", nil, fileError("reader.Detect", at, err)
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
	for _, x := range excluded {
		shard := slices.ContainsFunc(archives, func(a string) bool { return strings.HasPrefix(x, a+"/") })
		if shard && !slices.Contains(archives, x) {
			return "", nil, bad(errs.Unsupported, "exclude with whole archives", "the sample "+x,
				"write the archive again without it")
		}
	}
	var paths []string
	for _, a := range archives {
		if !filepath.IsLocal(filepath.FromSlash(a)) {
			return "", nil, bad(errs.Corrupt, "archives below the folder", fmt.Sprintf("%q", a), "")
		}
		path := filepath.Join(dir, filepath.FromSlash(a))
		if slices.Contains(paths, path) {
			return "", nil, bad(errs.Corrupt, "each archive once", a+" twice", "")
		}
		if !slices.Contains(excluded, a) {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return "", nil, bad(errs.Invalid, "an archive of the split "+split+" that is not excluded", "none", "")
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
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
		names = append(names, more...)
	}
	return names, nil
}
