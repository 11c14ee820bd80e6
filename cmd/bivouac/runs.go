package main

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// named is a run or a checkpoint that an argument names.
type named struct {
	path  string
	below string // what path adds to the argument; its last element if that is the run itself
	err   error  // why there is nothing: a pattern without a match
}

const (
	// walkDepth is how many directories below an argument may lie between it and a run.
	walkDepth = 5
	// walkMost bounds the directories that one argument makes a command list. A home directory or a
	// whole disk has more.
	walkMost = 100_000
)

// findNamed returns what the arguments of a command name, in their order, each once. An argument
// is a checkpoint, a run, a directory with runs somewhere below it, or a pattern of these. An
// argument that names nothing of them is returned as it is: the command says what is wrong with it.
func findNamed(ctx context.Context, args []string) ([]named, error) {
	return find(ctx, args, runsBelow)
}

// find implements findNamed. below returns what a directory stands for.
func find(ctx context.Context, args []string, below func(context.Context, string) ([]string, error)) ([]named, error) {
	var out []named
	seen := map[string]bool{}
	for _, arg := range args {
		names := []string{arg}
		if pattern := isPattern(ctx, arg); pattern {
			w := &walk{}
			var err error
			if names, err = w.expand(ctx, arg); err != nil {
				return nil, err
			}
			if len(names) == 0 {
				out = append(out, named{path: arg, err: &errs.Error{Kind: errs.NotFound, Subject: arg,
					Want: "a run or checkpoint that matches the pattern"}})
			}
		}
		for _, name := range names {
			found, err := below(ctx, name)
			if err != nil {
				return nil, err
			}
			for _, at := range found {
				if clean := place(at).join(); !seen[clean] {
					seen[clean] = true
					out = append(out, named{path: at, below: place(at).under(place(name))})
				}
			}
		}
	}
	return out, nil
}

// findExactly works like findNamed, but does not look below directories: nobody should remove runs
// by the name of a directory above them.
func findExactly(ctx context.Context, args []string) ([]named, error) {
	return find(ctx, args, func(_ context.Context, name string) ([]string, error) { return []string{name}, nil })
}

// under returns the path from top to p, or the last element of p if that is top.
func (p place) under(top place) string {
	whole, above := p.join(), top.join()
	if p.remote() {
		_, whole = store.SplitURL(whole)
		_, above = store.SplitURL(above)
	}
	if whole == above {
		return p.base()
	}
	return strings.TrimPrefix(strings.TrimPrefix(whole, strings.TrimSuffix(above, "/")), "/")
}

// isPattern reports whether an argument has a character of patterns and names nothing itself.
func isPattern(ctx context.Context, arg string) bool {
	name := arg
	if p := place(arg); p.remote() {
		_, name = store.SplitURL(arg)
	}
	if !strings.ContainsAny(name, "*?[") {
		return false
	}
	_, err := place(arg).isDirectory(ctx)
	return err != nil
}

// runsBelow returns the runs and checkpoints that a directory holds, itself if it is one. Without
// any it returns the directory.
func runsBelow(ctx context.Context, dir string) ([]string, error) {
	if is, err := place(dir).isDirectory(ctx); err != nil || !is || checkpoint.IsCheckpoint(ctx, dir, nil) {
		return []string{dir}, nil //nolint:nilerr // the command tells it
	}
	w := &walk{}
	if err := w.below(ctx, dir, 0); err != nil {
		return nil, err
	}
	if len(w.found) == 0 {
		return []string{dir}, nil
	}
	return w.found, nil
}

// walk looks for runs in a bounded number of directories.
type walk struct {
	found  []string
	listed int
}

// list lists a directory, and fails if there were too many.
func (w *walk) list(ctx context.Context, dir string) ([]entry, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if w.listed++; w.listed > walkMost {
		return nil, &errs.Error{Kind: errs.Exhausted, Subject: dir, Want: "at most " + strconv.Itoa(walkMost) +
			" directories below an argument",
			Remedy: "name the directory of the runs, or a pattern of them"}
	}
	return place(dir).list(ctx)
}

// below finds the runs at and below a directory. It follows no symbolic links, and looks neither
// into hidden directories nor into runs and checkpoints.
func (w *walk) below(ctx context.Context, dir string, depth int) error {
	list, err := w.list(ctx, dir)
	if err != nil {
		if depth > 0 && errs.KindOf(err) == errs.NotFound {
			return nil // it was removed meanwhile
		}
		return err
	}
	steps, run := isRun(ctx, dir, list)
	if run {
		w.found = append(w.found, dir)
		return nil
	}
	before := len(w.found)
	for _, e := range list {
		if !e.dir || strings.HasPrefix(e.name, ".") || store.IsStaging(e.name) || depth == walkDepth {
			continue
		}
		sub := place(dir).join(e.name)
		if depth > 0 || !steps { // a step of a run that is not whole is not looked into twice
			if checkpoint.IsCheckpoint(ctx, sub, nil) {
				w.found = append(w.found, sub)
				continue
			}
		}
		if err := w.below(ctx, sub, depth+1); err != nil {
			return err
		}
	}
	if steps && len(w.found) == before && holdsRemains(ctx, dir, list) { // all its steps are damaged
		w.found = append(w.found, dir)
	}
	return nil
}

// holdsRemains reports whether one of the directories in dir that have names like steps may be what
// is left of one. The folders of the classes of an image data set have such names too.
func holdsRemains(ctx context.Context, dir string, list []entry) bool {
	var names []string
	for _, e := range list {
		if e.dir {
			names = append(names, e.name)
		}
	}
	for _, f := range training.NameFamilies(names) {
		for _, name := range f.Names {
			inside, err := place(place(dir).join(name)).list(ctx)
			if err != nil {
				return true // the command says why it cannot be read
			}
			below := make([]string, len(inside))
			for i, e := range inside {
				below[i] = e.name
			}
			if training.WasStep(below) {
				return true
			}
		}
	}
	return false
}

// isRun reports whether a directory is a run, and whether it has names like
// steps.
func isRun(ctx context.Context, dir string, list []entry) (steps, run bool) {
	var names []string
	for _, e := range list {
		switch {
		case e.name == store.LockName || e.dir && isAside(e.name):
			run = true
		case e.dir:
			names = append(names, e.name)
		}
	}
	families := training.NameFamilies(names)
	for _, f := range families {
		steps = steps || f.Prefix == nil
		for _, name := range slices.Backward(f.Names) { // mostly the first one is whole
			if run {
				return steps, true
			}
			run = checkpoint.IsCheckpoint(ctx, place(dir).join(name), nil)
		}
	}
	return steps, run
}

// expand returns the names that match a pattern, in ascending order. The elements of a pattern are
// as path.Match has them. The element ** stands for any number of directories. Elements that do not
// begin with a point match no hidden names. Files are left out unless they are checkpoints.
func (w *walk) expand(ctx context.Context, pattern string) ([]string, error) {
	p := place(pattern)
	base, rest := "", pattern
	if p.remote() {
		base, rest = store.SplitURL(pattern)
	}
	elems := strings.Split(rest, "/")
	fixed := slices.IndexFunc(elems, func(e string) bool { return strings.ContainsAny(e, "*?[") })
	start := place(strings.Join(elems[:fixed], "/"))
	switch {
	case p.remote():
		start = place(store.JoinURL(base, string(start)))
	case fixed > 0 && start == "":
		start = "/"
	case start == "":
		start = "."
	}
	for _, e := range elems[fixed:] {
		if _, err := path.Match(e, ""); err != nil {
			return nil, usageError{&errs.Error{Kind: errs.Invalid, Subject: pattern, Want: "a pattern such as runs/*/ckpt",
				Got: strconv.Quote(e)}}
		}
	}
	var out []string
	err := w.match(ctx, start, elems[fixed:], 0, &out)
	slices.Sort(out)
	return out, err
}

// match adds to out what matches the elements below a directory.
func (w *walk) match(ctx context.Context, dir place, elems []string, depth int, out *[]string) error {
	list, err := w.list(ctx, string(dir))
	if kind := errs.KindOf(err); kind == errs.NotFound || err != nil && depth > 0 && kind == errs.Permission {
		return nil
	} else if err != nil {
		return err
	}
	elem, last := elems[0], len(elems) == 1
	for _, e := range list {
		below := place(dir.join(e.name))
		hidden := strings.HasPrefix(e.name, ".") || store.IsStaging(e.name)
		switch {
		case elem == "**" && hidden:
		case elem == "**":
			if last {
				*out = append(*out, string(below))
				continue
			}
			if e.dir && depth < walkDepth {
				err = w.match(ctx, below, elems, depth+1, out)
			}
		case hidden && !strings.HasPrefix(elem, "."):
		default:
			if ok, _ := path.Match(elem, e.name); !ok {
				continue
			}
			if !last {
				if e.dir || !below.remote() { // it may be a symbolic link to a directory
					err = w.match(ctx, below, elems[1:], depth, out)
				}
			} else if is, _ := below.isDirectory(ctx); is || checkpoint.IsCheckpoint(ctx, string(below), nil) {
				*out = append(*out, string(below))
			}
		}
		if err != nil {
			return err
		}
	}
	if elem == "**" && !last {
		return w.match(ctx, dir, elems[1:], depth, out)
	}
	return nil
}
