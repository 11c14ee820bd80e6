package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/bivouac-ml/bivouac/bench/internal/child"
	"github.com/bivouac-ml/bivouac/bench/internal/disk"
)

// row is what one side of a comparison did.
type row struct {
	Name     string   `json:"name"`
	Baseline bool     `json:"baseline,omitempty"`
	Skip     string   `json:"skip,omitempty"` // why there is nothing
	Samples  []answer `json:"samples,omitempty"`
	Median   float64  `json:"median"` // seconds
	CPU      float64  `json:"cpu"`    // seconds of all threads; the median
	Min      float64  `json:"min"`
	Max      float64  `json:"max"`
	Ratio    float64  `json:"ratio"` // speed against the fastest baseline; without one, against Bivouac's fastest
	Peak     int64    `json:"peak"`  // the largest
	Read     int64    `json:"read"`  // medians of these
	Written  int64    `json:"written"`
	Alloc    int64    `json:"alloc"`
	Disk     int64    `json:"disk"`
}

// result is one table.
type result struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Tree  string `json:"tree"`
	Bytes int64  `json:"bytes"` // of the state
	Rows  []row  `json:"rows"`
}

// team is a side and its process, which sides of one kind share.
type team struct {
	side
	*child.Process
	path string
	row  *row
}

// crew is the processes of a comparison, by the kind of contender.
type crew map[string]*child.Process

// compare runs the rounds of one comparison; a first one, which warms up, does
// not count. In each round another side begins. One that fails is left out from
// then on, and the table says why.
func (b *bench) compare(ctx context.Context, c comparison) (r result, err error) {
	r = result{Name: c.name, Title: c.title, Tree: c.tree, Rows: make([]row, len(c.sides))}
	state, err := newState(c.tree, b.mib<<20)
	if err != nil {
		return r, err
	}
	r.Bytes = size(state)
	state = nil
	var teams []*team
	running := crew{}
	defer func() {
		for _, c := range running {
			err = errors.Join(err, c.Close())
		}
	}()
	for i, s := range c.sides {
		r.Rows[i].Name, r.Rows[i].Baseline = s.name, s.baseline
		t, skip, err := b.join(running, s, c.tree, filepath.Join(b.dir, fmt.Sprintf("%s-%d", c.name, i)))
		if err != nil {
			return r, fmt.Errorf("%s: %w", s.name, err)
		}
		if r.Rows[i].Skip = skip; skip == "" {
			t.row = &r.Rows[i]
			teams = append(teams, t)
		}
	}
	for round := -1; round < b.rounds; round++ {
		for k := range teams {
			if ctx.Err() != nil {
				return r, ctx.Err()
			}
			t := teams[(k+max(round, 0))%len(teams)]
			if t.row.Skip != "" {
				continue
			}
			if err := t.play(round >= 0); err != nil {
				t.row.Skip = err.Error()
			}
		}
	}
	r.summarize()
	for _, t := range teams {
		err = errors.Join(err, os.RemoveAll(t.path))
	}
	return r, err
}

// join finds the process of a side, or starts it and has it make the state.
// Where there is no such contender, it says why.
func (b *bench) join(running crew, s side, tree, path string) (t *team, skip string, err error) {
	c := running[s.who]
	fresh := c == nil
	switch {
	case !fresh:
	case !s.peer():
		c, err = child.Start(nil, b.self, "-serve")
	case b.python == "":
		return nil, "no -python", nil
	case b.versions[s.who] == "":
		return nil, s.who + " is not installed", nil
	default:
		env := []string{"JAX_PLATFORMS=cpu"}
		if tree == matrix {
			env = append(env, "XLA_FLAGS=--xla_force_host_platform_device_count=8")
		}
		c, err = child.Start(env, b.python, filepath.Join(b.source, "peers.py"))
	}
	if err != nil {
		return nil, "", err
	}
	running[s.who] = c
	if fresh {
		err = c.Ask(request{Op: "begin", Who: s.who, Tree: tree, MiB: b.mib, Path: path}, &answer{})
	}
	if err == nil && s.keep {
		op := "keep"
		if s.peer() {
			op = "save"
		}
		err = c.Ask(request{Op: op, Config: s.config, Path: path}, &answer{})
	}
	return &team{side: s, Process: c, path: path}, "", err
}

// play is one round of one side.
func (t *team) play(counts bool) error {
	if t.cold {
		if err := eachFile(t.path, func(name string, _ int64) error { return disk.Evict(name) }); err != nil {
			return err
		}
	}
	var a answer
	if err := t.Ask(request{Op: t.op, Config: t.config, Path: t.path}, &a); err != nil {
		return err
	}
	t.row.Skip = a.Skip
	if !counts || a.Skip != "" {
		return nil
	}
	err := eachFile(t.path, func(_ string, size int64) error { a.Disk += size; return nil })
	t.row.Samples = append(t.row.Samples, a)
	return err
}

// eachFile calls f for all files below a path, or for the file that it is.
func eachFile(path string, f func(name string, size int64) error) error {
	err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return f(name, info.Size())
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// summarize fills in medians and ratios.
func (r *result) summarize() {
	best := [2]float64{} // of the sides that are no baseline and may be the measure; of the baselines
	for i := range r.Rows {
		w := &r.Rows[i]
		if len(w.Samples) == 0 {
			continue
		}
		seconds := sorted(w.Samples, func(a answer) float64 { return a.Seconds })
		w.Min, w.Median, w.Max = seconds[0], middle(seconds), seconds[len(seconds)-1]
		w.CPU = middle(sorted(w.Samples, func(a answer) float64 { return a.CPU }))
		peaks := sorted(w.Samples, func(a answer) int64 { return a.Peak })
		w.Peak = peaks[len(peaks)-1]
		w.Read = middle(sorted(w.Samples, func(a answer) int64 { return a.Read }))
		w.Written = middle(sorted(w.Samples, func(a answer) int64 { return a.Written }))
		w.Alloc = middle(sorted(w.Samples, func(a answer) int64 { return a.Alloc }))
		w.Disk = middle(sorted(w.Samples, func(a answer) int64 { return a.Disk }))
		kind := 0
		if w.Baseline {
			kind = 1
		}
		if best[kind] == 0 || w.Median < best[kind] {
			best[kind] = w.Median
		}
	}
	measure := cmp.Or(best[1], best[0])
	for i := range r.Rows {
		if w := &r.Rows[i]; w.Median > 0 {
			w.Ratio = measure / w.Median
		}
	}
}

func sorted[T cmp.Ordered](list []answer, of func(answer) T) []T {
	out := make([]T, len(list))
	for i, a := range list {
		out[i] = of(a)
	}
	slices.Sort(out)
	return out
}

func middle[T int64 | float64](sorted []T) T {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
