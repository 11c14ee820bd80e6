package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"
)

// measurement is one question, and who answers it.
type measurement struct {
	title  string
	unit   string  // of the amount: "GiB", "image"
	amount float64 // of work in one sample
	// The contenders. Those marked baseline are the limit; the best of their
	// medians is what ratios refer to.
	contenders []contender
	close      func() error // may be nil
}

// contender is one way to do the work.
type contender struct {
	name     string
	baseline bool
	// once does the work once and returns the time that counts.
	once func(ctx context.Context) (time.Duration, error)
}

// result is what is written and printed.
type result struct {
	Name   string  `json:"name"`
	Title  string  `json:"title"`
	Unit   string  `json:"unit"`
	Amount float64 `json:"amount"`
	Rows   []row   `json:"rows"`
}

// row is the samples of one contender.
type row struct {
	Name     string    `json:"name"`
	Baseline bool      `json:"baseline,omitempty"`
	Seconds  []float64 `json:"seconds"`
	Min      float64   `json:"min"`
	Median   float64   `json:"median"`
	Max      float64   `json:"max"`
	Rate     float64   `json:"rate"`  // units a second, at the median
	Ratio    float64   `json:"ratio"` // speed against the best baseline, medians
}

// measure runs the rounds of one measurement; a first one, which warms up, is
// not counted.
func (b *bench) measure(ctx context.Context, name string, prepare func(context.Context, *bench) (measurement, error)) (r result, err error) {
	m, err := prepare(ctx, b)
	if err != nil {
		return r, err
	}
	if m.close != nil {
		defer func() {
			if e := m.close(); err == nil {
				err = e
			}
		}()
	}
	r = result{Name: name, Title: m.title, Unit: m.unit, Amount: m.amount, Rows: make([]row, len(m.contenders))}
	for i := -1; i < b.rounds; i++ {
		for k := range m.contenders {
			at := (k + max(i, 0)) % len(m.contenders)
			runtime.GC()
			took, err := m.contenders[at].once(ctx)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return r, fmt.Errorf("%s: %w", m.contenders[at].name, err)
			}
			if i >= 0 {
				r.Rows[at].Seconds = append(r.Rows[at].Seconds, took.Seconds())
			}
		}
	}
	r.summarize(m)
	return r, nil
}

func (r *result) summarize(m measurement) {
	best := 0.0
	for i := range r.Rows {
		w := &r.Rows[i]
		w.Name, w.Baseline = m.contenders[i].name, m.contenders[i].baseline
		sorted := slices.Sorted(slices.Values(w.Seconds))
		w.Min, w.Median, w.Max = sorted[0], median(sorted), sorted[len(sorted)-1]
		w.Rate = r.Amount / w.Median
		if w.Baseline && (best == 0 || w.Median < best) {
			best = w.Median
		}
	}
	for i := range r.Rows {
		r.Rows[i].Ratio = best / r.Rows[i].Median
	}
}

func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// print writes the table of one result; the baselines are marked.
func (r result) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s\n", r.Title)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\tmin\tmedian\tmax\t%s/s\tratio\t\n", r.Unit)
	for _, x := range r.Rows {
		name := x.Name
		if x.Baseline {
			name += " *"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.4g\t%.3f\t\n", name, seconds(x.Min), seconds(x.Median), seconds(x.Max), x.Rate, x.Ratio)
	}
	t.Flush() //nolint:errcheck // a table on a terminal
}

// seconds renders a time with four digits or so.
func seconds(s float64) string {
	switch {
	case s >= 1:
		return fmt.Sprintf("%.3f s", s)
	case s >= 1e-3:
		return fmt.Sprintf("%.2f ms", s*1e3)
	}
	return fmt.Sprintf("%.2f µs", s*1e6)
}

// write keeps all samples under the time of the run.
func write(dir string, c config, results []result) error {
	now := time.Now().UTC()
	doc := struct {
		Time    time.Time `json:"time"`
		Machine string    `json:"machine"`
		MiB     int       `json:"mib"`
		Arrays  int       `json:"arrays"`
		Rounds  int       `json:"rounds"`
		Results []result  `json:"results"`
	}{now, machine(), c.mib, c.arrays, c.rounds, results}
	b, err := json.MarshalIndent(doc, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	name := filepath.Join(dir, now.Format("20060102T150405Z")+".json")
	if err := os.WriteFile(name, append(b, '\n'), 0o666); err != nil {
		return err
	}
	fmt.Printf("\n* baseline; ratio: speed against the best baseline\n%s\n", name)
	return nil
}
