package reader

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

// pathParam is the argument of readers of lists of files.
var pathParam = op.Parameter{Name: "path", Type: op.Strings, Required: true, Tuning: true,
	Doc: "Paths of the files, in this order. A path with *, ? or [ stands for all files that match, sorted by name."}

// indexParam is the argument of readers that look records up in an index.
var indexParam = op.Parameter{Name: "index_path", Type: op.String, Tuning: true,
	Doc: "The index that bivouac index made; by default bivouac.index beside the first file, or else the records are " +
		"found when the data set is opened."}

// counts returns the number of samples of each file. starts are their first samples, and total is
// the number of all samples.
func counts(starts []int64, total int64) []int64 {
	list := make([]int64, len(starts))
	for i, from := range starts {
		to := total
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		list[i] = to - from
	}
	return list
}

// pathsOf returns the files that the argument path names.
func pathsOf(ctx context.Context, c *op.Config) ([]string, error) {
	var list []string
	given := op.Get[[]string](c, "path")
	if len(given) == 0 {
		return nil, c.Invalid("path", "at least one path", "no path", "")
	}
	for _, path := range given {
		if path == "" {
			return nil, c.Invalid("path", "paths of files", "an empty path", "")
		}
		if !datafs.HasMeta(path) || exists(ctx, path) {
			list = append(list, path)
			continue
		}
		found, err := datafs.Glob(ctx, path)
		if err != nil {
			return nil, c.Invalid("path", "a pattern such as *.txt", fmt.Sprintf("%q", path), "")
		}
		if len(found) == 0 {
			return nil, &errs.Error{Kind: errs.NotFound, Op: c.Schema.FullName(), Subject: path, Want: "files that match",
				Got: "no such file"}
		}
		slices.Sort(found)
		list = append(list, found...)
	}
	return list, nil
}

// exists reports whether there is something at a path.
func exists(ctx context.Context, path string) bool {
	set, err := shards.Open(ctx, "", []string{path})
	if err == nil {
		set.Close() //nolint:errcheck // no file was opened
		return true
	}
	return !errors.Is(err, errs.NotFound)
}

// findRun returns the last run that begins at or before id. starts are the first ids of the runs,
// and more than one may begin at the same id: the empty ones come first.
func findRun(starts []int64, id int64) int {
	at, _ := slices.BinarySearchFunc(starts, id, func(start, id int64) int {
		if start <= id {
			return -1
		}
		return 1
	})
	return at - 1
}
