package main

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

// checked is what --check found out about a file.
type checked struct {
	Path  string `json:"path"`
	State string `json:"state"` // ok, changed, damaged, missing, new
	Error string `json:"error,omitempty"`
}

// checkIndex compares the index at path with the files of a set.
func checkIndex(ctx context.Context, path string, set *shards.Set, f index.Format,
	o index.BuildOptions) (r indexed, err error) {
	x, err := index.Open(path)
	if err != nil {
		return r, errs.Wrap(indexOp, "", err)
	}
	defer x.Close()
	r = describeIndex(path, x)
	r.Copies = [][2]string{}
	places := map[string]int{}
	for i := range set.Len() {
		places[absolute(set.Path(i))] = i
	}
	at := make([]int, len(x.Files())) // in the set, or -1
	for i, want := range x.Files() {
		name := pathOf(path, want)
		r.Checked = append(r.Checked, checked{Path: name, State: "missing"})
		at[i] = -1
		if k, ok := places[absolute(name)]; ok {
			at[i] = k
			delete(places, absolute(name))
		}
	}
	var next, done atomic.Int64
	var group sync.WaitGroup
	var mu sync.Mutex
	for range max(1, min(cmp.Or(o.Workers, runtime.GOMAXPROCS(0)), len(at))) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(at) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if at[i] < 0 {
					continue
				}
				r.Checked[i].compare(ctx, x.Files()[i], set.Path(at[i]), f)
				n := done.Add(set.Size(at[i]))
				mu.Lock()
				o.OnFile(0, n)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return r, &errs.Error{Kind: errs.Canceled, Op: indexOp, Err: err}
	}
	for i := range set.Len() {
		if _, ok := places[absolute(set.Path(i))]; ok {
			r.Checked = append(r.Checked, checked{Path: set.Path(i), State: "new"})
		}
	}
	return r, nil
}

func absolute(path string) string {
	if abs, err := datafs.Abs(path); err == nil {
		return abs
	}
	return datafs.Clean(path)
}

// compare finds the records of a file again.
func (c *checked) compare(ctx context.Context, want index.File, path string, f index.Format) {
	c.State = "ok"
	one, err := shards.Open(ctx, indexOp, []string{path})
	if err == nil {
		defer one.Close()
		var x *index.Index
		if x, err = index.Build(ctx, indexOp, one, f, index.BuildOptions{Workers: 1}); err == nil {
			if got := x.Files()[0]; got.Print != want.Print || got.Probe != want.Probe {
				c.State = "changed"
			}
		}
	}
	if err != nil {
		c.State, c.Error = "damaged", oneLine(err)
	}
}

func (r *indexed) failed() error {
	wrong := 0
	var first checked
	for _, c := range r.Checked {
		if c.State != "ok" {
			if wrong++; wrong == 1 {
				first = c
			}
		}
	}
	if wrong == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Mismatch, Op: indexOp, Subject: r.Index, Want: "the index of these files",
		Got:    first.Path + ": " + first.State,
		Remedy: "make it again with bivouac index"}
}

func (g *global) printChecked(r indexed) {
	wrong := 0
	for _, c := range r.Checked {
		if c.State != "ok" {
			wrong++
			g.printf("%-8s %s\n", c.State, c.Path)
			if c.Error != "" {
				g.printf("         %s\n", c.Error)
			}
		}
	}
	g.printLeft(r)
	g.printf("%d of %d files are as in the index\n", len(r.Checked)-wrong, len(r.Checked))
}
