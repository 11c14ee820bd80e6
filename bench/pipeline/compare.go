package main

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
	"strings"
	"text/tabwriter"
	"time"

	"github.com/bivouac-ml/bivouac/bench/internal/child"
)

// comparison is one table for each number of threads.
type comparison struct {
	name, title string
	unit        string
	sides       []side
	threaded    bool // more than one thread makes a difference
}

// side is one row: who does which case.
type side struct {
	name string
	who  string // "bivouac", "limit", "c", or a side of peers.py
	use  string // case, where it is not that of the comparison
	// target is how many times as fast as this side Bivouac should be; 0: no target.
	target float64
}

var (
	ours        = side{name: "Bivouac", who: "bivouac"}
	dali        = func(target float64) side { return side{name: "DALI", who: "dali", target: target} }
	torchvision = func(target float64) side { return side{name: "torchvision", who: "torchvision", target: target} }
)

// comparisons in the order in which they run. The targets are those of the design.
var comparisons = []comparison{
	{"train", "JPEG files to random crops of 224x224, mirrored and normalised", "image",
		[]side{ours, dali(2), torchvision(2.5)}, true},
	{"region", "the same, decoding only the region of the crop", "image", []side{ours, dali(1.8)}, true},
	{"decode", "JPEG to RGB", "image", []side{ours, {name: "libjpeg-turbo in C", who: "c", target: 0.97}, dali(1),
		torchvision(1), {name: "OpenCV", who: "opencv"}, {name: "Pillow", who: "pillow"}}, true},
	{"decode-region", "random regions of JPEG to RGB", "image", []side{ours, dali(1.2)}, true},
	{"resize", "resize 500x375 to 224x224, antialiased", "image",
		[]side{ours, dali(5), {name: "Pillow", who: "pillow", target: 2}}, true},
	{"resize-linear", "resize 500x375 to 224x224, linear, not antialiased", "image",
		[]side{ours, dali(3), {name: "OpenCV", who: "opencv", target: 0.7}}, true},
	{"normalize", "crop, mirror, normalise 224x224 to float32 CHW", "image",
		[]side{ours, {name: "memory: reads and writes of the same bytes", who: "limit", target: 0.5}, dali(1.5)}, true},
	{"blur", "gaussian blur 224x224, sigma 1", "image", []side{ours, dali(1.5)}, true},
	{"constant-1", "a graph of one constant, batch 1", "iteration", []side{ours, dali(10)}, false},
	{"constant-64", "a graph of one constant, batch 64", "iteration", []side{ours, dali(10)}, false},
	{"uniform-64", "one random.uniform, batch 64", "iteration", []side{ours, dali(10)}, false},
	{"source-batch", "external source of 64 arrays of 1 kB, by batch", "iteration", []side{ours, dali(10)}, false},
	{"source-sample", "external source of 64 arrays of 1 kB, by sample", "iteration", []side{ours, dali(10)}, false},
	{"checkpoint", "a checkpoint of a running pipeline", "call", []side{ours, dali(0)}, false},
}

func names() string {
	var n []string
	for _, c := range comparisons {
		n = append(n, c.name)
	}
	return strings.Join(n, ",")
}

// row is what one side did.
type row struct {
	Name    string   `json:"name"`
	Skip    string   `json:"skip,omitempty"` // why there is nothing
	Note    string   `json:"note,omitempty"`
	Samples []answer `json:"samples,omitempty"`
	Median  float64  `json:"median"` // units a second
	Min     float64  `json:"min"`
	Max     float64  `json:"max"`
	Ratio   float64  `json:"ratio,omitempty"` // Bivouac's speed against this side's
	Target  float64  `json:"target,omitempty"`

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
func (b *bench) compare(ctx context.Context, c comparison, threads int) (r result, err error) {
	r = result{Name: c.name, Title: c.title, Unit: c.unit, Threads: threads, Rows: make([]row, len(c.sides))}
	defer func() {
		for _, w := range r.Rows {
			if w.process != nil {
				err = errors.Join(err, w.process.Close())
			}
		}
	}()
	for i, s := range c.sides {
		w := &r.Rows[i]
		w.Name, w.Target = s.name, s.target
		if err := b.begin(w, s, cmp.Or(s.use, c.name), threads); err != nil {
			w.Skip = err.Error()
		}
	}
	for round := -1; round < b.rounds; round++ {
		for k := range r.Rows {
			if ctx.Err() != nil {
				return r, ctx.Err()
			}
			w := &r.Rows[(k+max(round, 0))%len(r.Rows)]
			if w.Skip != "" {
				continue
			}
			var a answer
			if err := w.process.Ask(request{Op: "go"}, &a); err != nil {
				w.Skip = err.Error()
			} else if round >= 0 {
				w.Samples = append(w.Samples, a)
			}
		}
	}
	r.summarize()
	return r, nil
}

// begin starts the process of a side and has it build what the case needs.
func (b *bench) begin(w *row, s side, use string, threads int) (err error) {
	switch s.who {
	case "bivouac", "limit":
		w.process, err = child.Start(nil, b.self, "-serve")
	case "c":
		w.process, err = b.startC()
	default:
		if b.interpreters[s.who] == "" {
			return fmt.Errorf("%s is not installed", s.name)
		}
		w.Note = b.versions[s.who]
		w.process, err = child.Start(nil, b.interpreters[s.who], filepath.Join(b.source, "peers.py"))
	}
	if err != nil {
		return err
	}
	var a answer
	err = w.process.Ask(request{Op: "begin", Who: s.who, Case: use, Threads: threads, Data: b.data}, &a)
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
			w.Min, w.Median, w.Max = rates[0], (rates[(n-1)/2]+rates[n/2])/2, rates[n-1]
		}
	}
	for i := 1; i < len(r.Rows); i++ {
		if w := &r.Rows[i]; w.Median > 0 {
			w.Ratio = r.Rows[0].Median / w.Median
		}
	}
}

// print writes the table.
func (r result) print(out io.Writer) {
	threads := ""
	if r.Threads > 1 {
		threads = fmt.Sprintf(", %d threads", r.Threads)
	}
	fmt.Fprintf(out, "\n%s%s (%ss a second)\n", r.Title, threads, r.Unit)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\tmin\tmedian\tmax\tBivouac is\ttarget\t\n")
	for _, w := range r.Rows {
		if len(w.Samples) == 0 {
			fmt.Fprintf(t, "%s\t–\t\t\t\t\t  %s\n", w.Name, w.Skip)
			continue
		}
		ratio, target := "", ""
		if w.Ratio > 0 {
			ratio = fmt.Sprintf("%.2fx", w.Ratio)
		}
		if w.Target > 0 {
			target = fmt.Sprintf("%.2fx", w.Target)
		}
		fmt.Fprintf(t, "%s\t%.0f\t%.0f\t%.0f\t%s\t%s\t  %s\n", w.Name, w.Min, w.Median, w.Max, ratio, target, cmp.Or(w.Skip, w.Note))
	}
	t.Flush() //nolint:errcheck // a table on a terminal
}

// write keeps all samples under the time of the run.
func (b *bench) write(dir string, results []result) error {
	now := time.Now().UTC()
	text, err := json.MarshalIndent(struct {
		Time     time.Time         `json:"time"`
		Machine  string            `json:"machine"`
		Rounds   int               `json:"rounds"`
		Versions map[string]string `json:"versions"`
		Results  []result          `json:"results"`
	}{now, machine(), b.rounds, b.versions, results}, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	name := filepath.Join(dir, "pipeline-"+now.Format("20060102T150405Z")+".json")
	if err := os.WriteFile(name, append(text, '\n'), 0o666); err != nil {
		return err
	}
	fmt.Printf("\nratio: Bivouac's speed against that of the row\n%s\n", name)
	return nil
}
