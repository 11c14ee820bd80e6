// Pipeline measures pipelines against DALI, torchvision, OpenCV, Pillow and the
// limits of the machine.
//
//	go run ./bench/pipeline                                Bivouac and the limits
//	go run ./bench/pipeline -python .peers-pipeline/bin/python   and DALI, OpenCV, Pillow (bench/pipeline/peers)
//	go run ./bench/pipeline -only train,decode -threads 1  less of it
//
// The data set is 512 generated JPEG files of about 500x375 pixels. Every side of
// a comparison is a process of its own that builds what it needs, waits for its turn and times itself, several
// rounds, each beginning with another side, so that a neighbour who slows the
// machine down hits all of them. Whoever delivers batches has their words folded
// into one, so that what was delivered was seen. What counts is the ratio of
// medians in one run.
//
// The tables go to standard output, every sample to a JSON file below bench/results.
package main

import (
	"context"
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
)

// request is what a side's process is asked to do.
type request struct {
	Op      string `json:"op"` // versions, begin, go
	Who     string `json:"who,omitempty"`
	Case    string `json:"case,omitempty"`
	Threads int    `json:"threads,omitempty"`
	Data    string `json:"data,omitempty"`
}

// answer is what it did, by its own clock.
type answer struct {
	Seconds  float64           `json:"seconds,omitempty"`
	Units    int               `json:"units,omitempty"`
	Digest   uint64            `json:"digest,omitempty"` // what the words that were delivered fold into
	Note     string            `json:"note,omitempty"`
	Versions map[string]string `json:"versions,omitempty"`
}

// bench is one run.
type bench struct {
	rounds        int
	threads       []int
	data          string // of the images
	self, source  string
	python, torch string
	versions      map[string]string // of the other libraries, by the name of the side
	interpreters  map[string]string
}

func main() {
	b := bench{versions: map[string]string{}, interpreters: map[string]string{}}
	flag.IntVar(&b.rounds, "rounds", 5, "rounds of each comparison")
	flag.StringVar(&b.data, "data", "bench/results/images", "directory of the images; they are made where it has none")
	flag.StringVar(&b.python, "python", "", "interpreter that has DALI, OpenCV and Pillow; empty for none")
	flag.StringVar(&b.torch, "torch", "", "interpreter that has torchvision; empty for none")
	flag.StringVar(&b.source, "source", "bench/pipeline", "directory of peers.py")
	only := flag.String("only", "", "comparisons to run, separated by commas: "+names())
	threads := flag.String("threads", "1,2", "numbers of threads, separated by commas")
	out := flag.String("out", "bench/results", "directory of the JSON file; empty for none")
	serving := flag.Bool("serve", false, "be the process of one side (for this program)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *serving {
		err = serve(ctx)
	} else {
		err = b.run(ctx, *only, *threads, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/pipeline:", err)
		stop()
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context, only, threads, out string) (err error) {
	for _, t := range strings.Split(threads, ",") {
		n, err := strconv.Atoi(t)
		if err != nil || n < 1 {
			return fmt.Errorf("want -threads as in 1,2, got %q", threads)
		}
		b.threads = append(b.threads, n)
	}
	if b.rounds < 1 {
		return fmt.Errorf("want -rounds of at least 1")
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.data, err = filepath.Abs(b.data); err != nil {
		return err
	}
	if err := makeImages(b.data); err != nil {
		return err
	}
	for _, python := range []string{b.python, b.torch} {
		if err := b.findPeers(python); err != nil {
			return err
		}
	}
	fmt.Printf("%s, %d rounds\n", machine(), b.rounds)
	var results []result
	wanted := strings.Split(only, ",")
	for _, c := range comparisons {
		if only != "" && !slices.Contains(wanted, c.name) {
			continue
		}
		for _, n := range b.threads {
			if n > 1 && !c.threaded {
				continue
			}
			r, err := b.compare(ctx, c, n)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			r.print(os.Stdout)
			results = append(results, r)
		}
	}
	if len(results) == 0 {
		return fmt.Errorf("no comparison %q; there are %s", only, names())
	}
	if out == "" {
		return nil
	}
	return b.write(out, results)
}

// findPeers asks an interpreter what it has; the first that has a library runs it.
func (b *bench) findPeers(python string) error {
	if python == "" {
		return nil
	}
	c, err := child.Start(nil, python, filepath.Join(b.source, "peers.py"))
	if err != nil {
		return err
	}
	var a answer
	if err := c.Ask(request{Op: "versions"}, &a); err != nil {
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
