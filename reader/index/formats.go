package index

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/seekable"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

// The init functions of the readers' packages fill the registry.
var registry struct {
	sync.RWMutex
	formats []Format
}

// Register makes a format known to Formats and Detect. It panics if the name is taken, which is a
// mistake in the program.
func Register(f Format) {
	registry.Lock()
	defer registry.Unlock()
	if slices.ContainsFunc(registry.formats, func(o Format) bool { return o.Name == f.Name }) {
		panic(&errs.Error{Kind: errs.Exists, Op: "index.Register", Subject: f.Name})
	}
	registry.formats = append(registry.formats, f)
	slices.SortFunc(registry.formats, func(a, b Format) int { return cmp.Compare(a.Name, b.Name) })
}

// Formats returns the registered formats, sorted by name.
func Formats() []Format {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Clone(registry.formats)
}

// Lookup returns the registered format with the given name. Fails with errs.NotFound if no
// format has it.
func Lookup(name string) (Format, error) {
	var names []string
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Format{}, &errs.Error{Kind: errs.NotFound, Op: "index", Subject: "format " + name,
		Want: "one of " + strings.Join(names, ", "),
		Got:  "another", Remedy: errs.DidYouMean(name, names)}
}

// headSize is how much of a file Detect reads.
const headSize = 4096

// Detect returns the format of file i of a set: of its contents, or else of its name. Fails with
// errs.Unsupported if it is of no registered format.
func Detect(ctx context.Context, op string, set *shards.Set, i int) (Format, error) {
	head, _, err := Head(ctx, set, i, headSize)
	if err != nil {
		return Format{}, errs.Wrap(op, "", err)
	}
	path, all := seekable.Plain(set.Path(i)), Formats()
	for _, f := range all {
		if f.Detect != nil && f.Detect(path, head) {
			return f, nil
		}
	}
	var names []string
	for _, f := range all {
		if f.Named(path) {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Format{}, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: set.Path(i),
		Want: "a file of the format " +
			strings.Join(names, " or "), Got: fmt.Sprintf("a file that begins with %q", head[:min(len(head), 8)])}
}

// Named reports whether a file has a usual name of the format.
func (f *Format) Named(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	return slices.ContainsFunc(f.Suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}
