package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"
)

// print writes the table of a comparison.
func (r result) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s (%s of values)\n", r.Title, bytes(r.Bytes))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\tmin\tmedian\tmax\tratio\tCPU\tpeak memory\tread\twritten\tGo heap\tfiles\t\n")
	for _, x := range r.Rows {
		name := x.Name
		if x.Baseline {
			name += " *"
		}
		if len(x.Samples) == 0 {
			fmt.Fprintf(t, "%s\t–\t\t\t\t\t\t\t\t\t\t%s\n", name, x.Skip)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.3f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, seconds(x.Min), seconds(x.Median), seconds(x.Max), x.Ratio,
			cpu(x.CPU), bytes(x.Peak), bytes(x.Read), bytes(x.Written), bytes(x.Alloc), bytes(x.Disk), x.Skip)
	}
	t.Flush() //nolint:errcheck // a table on a terminal
}

func seconds(s float64) string {
	if s >= 1 {
		return fmt.Sprintf("%.3f s", s)
	}
	return fmt.Sprintf("%.2f ms", s*1e3)
}

// cpu renders the time of threads. Peers do not tell theirs.
func cpu(s float64) string {
	if s == 0 {
		return "–"
	}
	return seconds(s)
}

func bytes(n int64) string {
	switch {
	case n == 0:
		return "–"
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", (n+1<<19)>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d kB", (n+999)/1000)
}

// write keeps all samples under the time of the run.
func (b *bench) write(dir string, results []result) error {
	now := time.Now().UTC()
	text, err := json.MarshalIndent(struct {
		Time     time.Time         `json:"time"`
		Machine  string            `json:"machine"`
		MiB      int               `json:"mib"`
		Rounds   int               `json:"rounds"`
		Versions map[string]string `json:"versions"`
		Results  []result          `json:"results"`
	}{now, machine(), b.mib, b.rounds, b.versions, results}, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	name := filepath.Join(dir, "checkpoint-"+now.Format("20060102T150405Z")+".json")
	if err := os.WriteFile(name, append(text, '\n'), 0o666); err != nil {
		return err
	}
	fmt.Printf("\n* the limit; ratio: speed against the fastest of these, else against the fastest of all\n%s\n", name)
	return nil
}
