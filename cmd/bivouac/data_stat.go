package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/reader"
)

// scanned is what reading every record of a source found.
type scanned struct {
	Source  string       `json:"source"`
	Reader  string       `json:"reader"`
	Samples int64        `json:"samples"`
	Bytes   int64        `json:"bytes"` // of the fields
	Damaged int64        `json:"damaged"`
	Columns []columnStat `json:"columns,omitempty"`
	Errors  []damagedOne `json:"errors,omitempty"` // the first of them
}

// damagedOne is a sample that could not be read.
type damagedOne struct {
	Sample int64 `json:"sample"`
	failureText
}

// columnStat are the sizes of a column: of its first axis, and of its bytes.
type columnStat struct {
	Name    string  `json:"name"`
	Missing int64   `json:"missing,omitempty"`
	Bytes   int64   `json:"bytes"`
	Least   int64   `json:"least"`
	Mean    float64 `json:"mean"`
	Most    int64   `json:"most"`

	seen, sum int64
}

// mostErrors is how many damaged records are listed.
const mostErrors = 100

// scan reads every sample of a data set from all processors. A sample that cannot be read counts as
// damaged, unless the command was interrupted.
func scan(ctx context.Context, g *global, task string, d *dataset.Data) ([]scanned, error) {
	w := newWork(g)
	defer w.close()
	var list []scanned
	var before int64
	advance := samplesDone(w, task)
	for i, name := range d.Sources() {
		s, err := scanSource(ctx, name, d.Source(i), func(done int64) { advance(before+done, d.Len()) })
		if err != nil {
			return nil, err
		}
		before += s.Samples
		list = append(list, s)
	}
	return list, nil
}

// scanChunk is how many samples a goroutine takes at once.
const scanChunk = 64

func scanSource(ctx context.Context, name string, d *reader.Data, advance func(done int64)) (scanned, error) {
	s := scanned{Source: name, Reader: d.Reader(), Samples: d.Len(), Columns: make([]columnStat, len(d.Names()))}
	for i := range s.Columns {
		s.Columns[i] = columnStat{Name: d.Names()[i], Least: math.MaxInt64}
	}
	var next atomic.Int64
	var mu sync.Mutex
	var done int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			var f [1]reader.Fields
			for ctx.Err() == nil {
				from := next.Add(scanChunk) - scanChunk
				if from >= s.Samples {
					return
				}
				to := min(from+scanChunk, s.Samples)
				part := scanned{Columns: make([]columnStat, len(s.Columns))}
				for i := range part.Columns {
					part.Columns[i].Least = math.MaxInt64
				}
				for id := from; id < to; id++ {
					err := d.Read(ctx, []int64{id}, f[:])
					if ctx.Err() != nil {
						return
					}
					part.add(id, &f[0], err)
				}
				mu.Lock()
				s.merge(&part)
				done += to - from
				advance(done)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return s, &errs.Error{Kind: errs.Canceled, Op: "data", Err: context.Cause(ctx)}
	}
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.seen == 0 {
			c.Least = 0
			continue
		}
		c.Mean = float64(c.sum) / float64(c.seen)
	}
	return s, nil
}

// add counts a sample.
func (s *scanned) add(id int64, f *reader.Fields, err error) {
	if err != nil {
		s.Damaged++
		s.Errors = append(s.Errors, damagedOne{id, newFailureText(err)})
		return
	}
	for i := range s.Columns {
		c, v := &s.Columns[i], f.Values[i]
		if !v.DType.Valid() {
			c.Missing++
			continue
		}
		n := int64(1)
		if len(v.Shape) > 0 {
			n = int64(v.Shape[0])
		}
		c.seen++
		c.sum += n
		c.Bytes += int64(len(v.Data))
		c.Least, c.Most = min(c.Least, n), max(c.Most, n)
		s.Bytes += int64(len(v.Data))
	}
}

func (s *scanned) merge(o *scanned) {
	s.Bytes, s.Damaged = s.Bytes+o.Bytes, s.Damaged+o.Damaged
	s.Errors = append(s.Errors, o.Errors...)
	slices.SortFunc(s.Errors, func(a, b damagedOne) int { return cmp.Compare(a.Sample, b.Sample) })
	s.Errors = s.Errors[:min(len(s.Errors), mostErrors)]
	for i := range s.Columns {
		a, b := &s.Columns[i], &o.Columns[i]
		a.Missing, a.Bytes, a.seen, a.sum = a.Missing+b.Missing, a.Bytes+b.Bytes, a.seen+b.seen, a.sum+b.sum
		a.Least, a.Most = min(a.Least, b.Least), max(a.Most, b.Most)
	}
}

func newDataStatCommand(g *global) *cobra.Command {
	var o setOptions
	return with(&cobra.Command{
		Use:   "stat DATA",
		Short: "Read a data set and tell the sizes of its columns",
		Long: `Read every sample of a data set and tell for each column the bytes, and the least,
mean and largest extent of the first axis. Samples that cannot be read are counted.

` + setHelp + exitCodesHelp,
		Example: `  bivouac data stat data.yaml`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := o.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer d.Close() //nolint:errcheck // only read
			list, err := scan(cmd.Context(), g, "stat", d)
			if err != nil {
				return err
			}
			err = g.show(list, func() {
				sayFound(g, d)
				printStats(g, list)
			})
			if err == nil {
				err = damageOf(args[0], list)
			}
			return err
		},
	}, o.addFlags, g.addJSON, g.addURLs)
}

func printStats(g *global, list []scanned) {
	for _, s := range list {
		g.printf("%s  %s  %d samples, %s of fields\n", s.Source, s.Reader, s.Samples, size(s.Bytes))
		width := 0
		for _, c := range s.Columns {
			width = max(width, len(c.Name))
		}
		for _, c := range s.Columns {
			missing := ""
			if c.Missing > 0 {
				missing = fmt.Sprintf("  missing in %d", c.Missing)
			}
			g.printf("  %-*s  %d to %d, mean %.1f  %s%s\n", width, c.Name, c.Least, c.Most, c.Mean, size(c.Bytes), missing)
		}
	}
}

// verifySet reads every record of a data set.
func verifySet(ctx context.Context, g *global, path string, o *setOptions) error {
	d, err := o.open(ctx, path)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // only read
	list, err := scan(ctx, g, "verify", d)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Columns = nil
	}
	err = g.show(list, func() {
		sayFound(g, d)
		for _, s := range list {
			if s.Damaged == 0 {
				g.printf("sound: %s  %s  %d samples, %s\n", s.Source, s.Reader, s.Samples, size(s.Bytes))
				continue
			}
			g.printf("damaged: %s  %s  %d of %d samples\n", s.Source, s.Reader, s.Damaged, s.Samples)
			for _, e := range s.Errors {
				g.printf("  %s\n", e.Message)
			}
			if more := s.Damaged - int64(len(s.Errors)); more > 0 {
				g.printf("  and %d more\n", more)
			}
		}
	})
	if err == nil {
		err = damageOf(path, list)
	}
	return err
}

// damageOf returns an error if samples could not be read.
func damageOf(path string, list []scanned) error {
	var damaged, all int64
	for _, s := range list {
		damaged, all = damaged+s.Damaged, all+s.Samples
	}
	if damaged == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Corrupt, Op: "data", Subject: path, Want: fmt.Sprintf("%d sound samples", all),
		Got: fmt.Sprintf("%d that cannot be read", damaged)}
}
