package turns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/bivouac-ml/bivouac/bench/internal/child"
)

// Comparison is one table for each number of threads.
type Comparison struct {
	Name, Title string
	Unit        string
	Sides       []Side
	Threaded    bool // more than one thread makes a difference
}

// Side is one row: a program and its case.
type Side struct {
	Name string
	Who  string // a side of Bench.Own, of Bench.Start, or of the peers
	Use  string // case, if it differs from the comparison's
	// Target is how many times as fast as this side the first should be; 0: no target.
	Target float64
	// Like, where it is not empty, is the Who of a side that delivers the same: a round
	// in which the digests differ is an error of this one.
	Like string
}

// row is what one side did.
type row struct {
	Name    string   `json:"name"`
	Skip    string   `json:"skip,omitempty"` // why there is nothing
	Note    string   `json:"note,omitempty"`
	Samples []Answer `json:"samples,omitempty"`
	Median  float64  `json:"median"` // units a second
	Min     float64  `json:"min"`
	Max     float64  `json:"max"`
	Ratio   float64  `json:"ratio,omitempty"` // the first's speed against this side's
	Target  float64  `json:"target,omitempty"`
	CPU     float64  `json:"cpu,omitempty"`      // microseconds of its threads a unit; the median
	CPURate float64  `json:"cpu_rate,omitempty"` // this side's against the first's

	process *child.Process
}

// result is one table.
type result struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Unit    string `json:"unit"`
	Threads int    `json:"threads"`
	Rows    []row  `json:"rows"`
}

// compare runs the rounds of one comparison; a first one, which warms up, does
// not count. One that fails is left out from then on, and the table says why.
func (b *Bench) compare(ctx context.Context, c Comparison, threads int) (r result, err error) {
	r = result{Name: c.Name, Title: c.Title, Unit: c.Unit, Threads: threads, Rows: make([]row, len(c.Sides))}
	defer func() {
		for _, w := range r.Rows {
			if w.process != nil {
				err = errors.Join(err, w.process.Close())
			}
		}
	}()
	for i, s := range c.Sides {
		w := &r.Rows[i]
		w.Name, w.Target = s.Name, s.Target
		if err := b.begin(w, s, cmp.Or(s.Use, c.Name), threads); err != nil {
			w.Skip = err.Error()
		}
	}
	for round := -1; round < b.Rounds; round++ {
		for k := range r.Rows {
			if ctx.Err() != nil {
				return r, ctx.Err()
			}
			w := &r.Rows[(k+max(round, 0))%len(r.Rows)]
			if w.Skip != "" {
				continue
			}
			var a Answer
			if err := w.process.Ask(Request{Op: "go"}, &a); err != nil {
				w.Skip = err.Error()
			} else if round >= 0 {
				w.Samples = append(w.Samples, a)
			}
		}
	}
	r.verify(c.Sides)
	r.summarize()
	return r, nil
}

// verify leaves out the sides that did not deliver what they should.
func (r *result) verify(sides []Side) {
	for i, s := range sides {
		other := slices.IndexFunc(sides, func(o Side) bool { return s.Like != "" && o.Who == s.Like })
		if other < 0 {
			continue
		}
		w, like := &r.Rows[i], r.Rows[other].Samples
		for round := range min(len(w.Samples), len(like)) {
			if got, want := w.Samples[round].Digest, like[round].Digest; got != want {
				w.Skip = fmt.Sprintf("in round %d it delivered %#x, %s %#x", round+1, got, sides[other].Name, want)
				w.Samples = nil
				break
			}
		}
	}
}

// begin starts the process of a side and has it build what the case needs.
func (b *Bench) begin(w *row, s Side, use string, threads int) (err error) {
	switch start := b.Start[s.Who]; {
	case slices.Contains(b.Own, s.Who):
		w.process, err = child.Start(nil, b.self, "-serve")
	case start != nil:
		w.process, err = start()
	default:
		if b.interpreters[s.Who] == "" {
			return fmt.Errorf("%s is not installed", s.Name)
		}
		w.Note = b.versions[s.Who]
		w.process, err = child.Start(nil, b.interpreters[s.Who], filepath.Join(b.Source, "peers.py"))
	}
	if err != nil {
		return err
	}
	var a Answer
	err = w.process.Ask(Request{Op: "begin", Who: s.Who, Case: use, Threads: threads, Data: b.Data}, &a)
	w.Note = cmp.Or(a.Note, w.Note)
	return err
}

// summarize fills in medians and ratios.
func (r *result) summarize() {
	for i := range r.Rows {
		w := &r.Rows[i]
		rates := make([]float64, len(w.Samples))
		for k, a := range w.Samples {
			rates[k] = float64(a.Units) / a.Seconds
		}
		if slices.Sort(rates); len(rates) > 0 {
			n := len(rates)
			w.Min, w.Median, w.Max = rates[0], middle(rates), rates[n-1]
		}
		costs := make([]float64, len(w.Samples))
		for k, a := range w.Samples {
			costs[k] = 1e6 * a.CPU / float64(a.Units)
		}
		if slices.Sort(costs); len(costs) > 0 {
			w.CPU = middle(costs)
		}
	}
	for i := 1; i < len(r.Rows); i++ {
		if w := &r.Rows[i]; w.Median > 0 {
			w.Ratio = r.Rows[0].Median / w.Median
		}
		if w := &r.Rows[i]; r.Rows[0].CPU > 0 {
			w.CPURate = w.CPU / r.Rows[0].CPU
		}
	}
}

// middle returns the median of sorted numbers.
func middle(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// print writes the table.
func (r result) print(out io.Writer) {
	threads := ""
	if r.Threads > 1 {
		threads = fmt.Sprintf(", %d threads", r.Threads)
	}
	fmt.Fprintf(out, "\n%s%s (%ss a second)\n", r.Title, threads, r.Unit)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\tmin\tmedian\tmax\tBivouac is\ttarget\tCPU, us\tratio\t\n")
	for _, w := range r.Rows {
		if len(w.Samples) == 0 {
			fmt.Fprintf(t, "%s\t–\t\t\t\t\t\t\t  %s\n", w.Name, w.Skip)
			continue
		}
		ratio, target, cpu, rate := "", "", "", ""
		if w.CPU > 0 {
			cpu = fmt.Sprintf("%.2f", w.CPU)
		}
		if w.CPURate > 0 {
			rate = fmt.Sprintf("%.2fx", w.CPURate)
		}
		if w.Ratio > 0 {
			ratio = fmt.Sprintf("%.2fx", w.Ratio)
		}
		if w.Target > 0 {
			target = fmt.Sprintf("%.2fx", w.Target)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t  %s\n", w.Name, figure(w.Min), figure(w.Median), figure(w.Max), ratio, target, cpu, rate, cmp.Or(w.Skip, w.Note))
	}
	t.Flush() //nolint:errcheck // a table on a terminal
}

// figure is a rate with as many digits as tell rates apart.
func figure(rate float64) string {
	if rate < 100 {
		return fmt.Sprintf("%.2f", rate)
	}
	return fmt.Sprintf("%.0f", rate)
}

// write keeps all samples under the time of the run.
func (b *Bench) write(dir string, results []result) error {
	now := time.Now().UTC()
	text, err := json.MarshalIndent(struct {
		Time     time.Time         `json:"time"`
		Machine  string            `json:"machine"`
		Rounds   int               `json:"rounds"`
		Versions map[string]string `json:"versions"`
		Results  []result          `json:"results"`
	}{now, machine(), b.Rounds, b.versions, results}, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	name := filepath.Join(dir, b.Name+"-"+now.Format("20060102T150405Z")+".json")
	if err := os.WriteFile(name, append(text, '\n'), 0o666); err != nil {
		return err
	}
	fmt.Printf("\nratio: Bivouac's speed divided by the row's speed\n%s\n", name)
	return nil
}
