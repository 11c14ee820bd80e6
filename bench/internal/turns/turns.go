// Package turns compares sides that are processes of their own: each builds what it
// needs, waits for its turn and times itself, several rounds, each beginning with another
// side, so that a neighbour who slows the machine down hits all of them. What counts is
// the ratio of medians in one run.
package turns

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/bench/internal/child"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Request is what a side's process is asked to do.
type Request struct {
	Op      string `json:"op"` // versions, begin, go
	Who     string `json:"who,omitempty"`
	Case    string `json:"case,omitempty"`
	Threads int    `json:"threads,omitempty"`
	Data    string `json:"data,omitempty"`
}

// Answer is what it did, by its own clock.
type Answer struct {
	Seconds  float64           `json:"seconds,omitempty"`
	CPU      float64           `json:"cpu,omitempty"` // seconds of all its threads; of a machine that others use they tell more
	Units    int               `json:"units,omitempty"`
	Digest   uint64            `json:"digest,omitempty"` // what the words that were delivered fold into
	Note     string            `json:"note,omitempty"`
	Versions map[string]string `json:"versions,omitempty"`
}

// Bench is one run. The exported fields are for the program that it belongs to.
type Bench struct {
	Name        string // of the program: bench/Name
	Comparisons []Comparison
	Own         []string                                       // sides that are this program
	Start       map[string]func() (*child.Process, error)      // other programs, by side
	Peers       map[string]string                              // flags that name interpreters of peers.py, and what they have
	Begin       func(context.Context, Request) (Runner, error) // makes the runner of a case for one of Own
	Prepare     func(data string) error                        // makes the data

	Rounds int
	Data   string // of the images
	Source string // directory of peers.py

	threads      []int
	self         string
	versions     map[string]string // of the other libraries, by the name of the side
	interpreters map[string]string
}

// Main runs the program: flags, sides, tables.
func (b *Bench) Main() {
	b.versions, b.interpreters = map[string]string{}, map[string]string{}
	flag.IntVar(&b.Rounds, "rounds", 5, "rounds of each comparison")
	flag.StringVar(&b.Data, "data", "bench/results/images", "directory of the images; they are made where it has none")
	flag.StringVar(&b.Source, "source", "bench/"+b.Name, "directory of peers.py")
	var pythons []*string
	for name, has := range b.Peers {
		pythons = append(pythons, flag.String(name, "", "interpreter that has "+has+"; empty for none"))
	}
	only := flag.String("only", "", "comparisons to run, separated by commas: "+b.names())
	threads := flag.String("threads", "1,2", "numbers of threads, separated by commas")
	out := flag.String("out", "bench/results", "directory of the JSON file; empty for none")
	serving := flag.Bool("serve", false, "be the process of one side (for this program)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *serving {
		err = serve(ctx, b.Begin)
	} else {
		err = b.run(ctx, pythons, *only, *threads, *out)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench/%s: %v\n", b.Name, err)
		stop()
		os.Exit(1)
	}
}

func (b *Bench) run(ctx context.Context, pythons []*string, only, threads, out string) (err error) {
	for _, t := range strings.Split(threads, ",") {
		n, err := strconv.Atoi(t)
		if err != nil || n < 1 {
			return fmt.Errorf("want -threads as in 1,2, got %q", threads)
		}
		b.threads = append(b.threads, n)
	}
	if b.Rounds < 1 {
		return fmt.Errorf("want -rounds of at least 1")
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.Data, err = filepath.Abs(b.Data); err != nil {
		return err
	}
	if err := b.Prepare(b.Data); err != nil {
		return err
	}
	for _, python := range pythons {
		if err := b.findPeers(*python); err != nil {
			return err
		}
	}
	fmt.Printf("%s, %d rounds\n", machine(), b.Rounds)
	var results []result
	wanted := strings.Split(only, ",")
	for _, c := range b.Comparisons {
		if only != "" && !slices.Contains(wanted, c.Name) {
			continue
		}
		for _, n := range b.threads {
			if n > 1 && !c.Threaded {
				continue
			}
			r, err := b.compare(ctx, c, n)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
			r.print(os.Stdout)
			results = append(results, r)
		}
	}
	if len(results) == 0 {
		return fmt.Errorf("no comparison %q; there are %s", only, b.names())
	}
	if out == "" {
		return nil
	}
	return b.write(out, results)
}

func (b *Bench) names() string {
	var n []string
	for _, c := range b.Comparisons {
		n = append(n, c.Name)
	}
	return strings.Join(n, ",")
}

// findPeers asks an interpreter what it has; the first that has a library runs it.
func (b *Bench) findPeers(python string) error {
	if python == "" {
		return nil
	}
	c, err := child.Start(nil, python, filepath.Join(b.Source, "peers.py"))
	if err != nil {
		return err
	}
	var a Answer
	if err := c.Ask(Request{Op: "versions"}, &a); err != nil {
		return err
	}
	for who, version := range a.Versions {
		if b.versions[who] == "" {
			b.versions[who], b.interpreters[who] = version, python
		}
	}
	return c.Close()
}

func machine() string {
	return fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version())
}

// Fold is the consumer of a batch: the exclusive or of all its words.
func Fold(b *tensor.Batch) uint64 {
	var x0, x1, x2, x3 uint64
	data := b.Data
	for ; len(data) >= 32; data = data[32:] {
		x0 ^= binary.LittleEndian.Uint64(data)
		x1 ^= binary.LittleEndian.Uint64(data[8:])
		x2 ^= binary.LittleEndian.Uint64(data[16:])
		x3 ^= binary.LittleEndian.Uint64(data[24:])
	}
	for ; len(data) >= 8; data = data[8:] {
		x0 ^= binary.LittleEndian.Uint64(data)
	}
	return x0 ^ x1 ^ x2 ^ x3
}
