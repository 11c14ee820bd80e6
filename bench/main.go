// Bench measures Bivouac against the limits of the machine it runs on.
//
//	go run ./bench                         all measurements
//	go run ./bench -mib 1024 -rounds 7     with 1 GiB of state
//	go run ./bench -only save,restore      some of them
//
// Every measurement has a baseline, which is the same work done with nothing
// around it: raw writes, a memcpy, raw reads. Baseline and contenders run in
// turn, several rounds in one process, each round beginning with another one, so
// that a disk or neighbour that slows down hits all of them. What counts is the
// ratio of medians; absolute figures belong to the machine.
//
// The table goes to standard output, every sample to a JSON file below
// bench/results. No figure fails anything.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
)

// config is what the flags say.
type config struct {
	mib, arrays, rounds int
	dir                 string // where checkpoints are written
	photo               string
}

func (c config) bytes() int { return c.mib << 20 }

func main() {
	var c config
	flag.IntVar(&c.mib, "mib", 256, "size of the state in MiB")
	flag.IntVar(&c.arrays, "arrays", 16, "arrays of the state")
	flag.IntVar(&c.rounds, "rounds", 5, "rounds of each measurement")
	flag.StringVar(&c.dir, "dir", "bench/results", "directory on the disk to measure; a temporary one is made in it")
	flag.StringVar(&c.photo, "photo", "testdata/photos/flower.jpg", "image to decode")
	only := flag.String("only", "", "measurements to run, separated by commas: "+names())
	out := flag.String("out", "bench/results", "directory of the JSON file; empty for none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, c, *only, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// measurements by name, in the order in which they run.
var measurements = []struct {
	name string
	make func(context.Context, *bench) (measurement, error)
}{
	{"save", save}, {"blocked", blocked}, {"jitter", jitter(50)}, {"jitter99", jitter(99)},
	{"restore", restore}, {"jpeg", jpegDecode}, {"png", pngDecode}, {"permutation", permutation},
}

func names() string {
	var n []string
	for _, m := range measurements {
		n = append(n, m.name)
	}
	return strings.Join(n, ",")
}

// bench is what measurements share.
type bench struct {
	config
	dir   string // temporary
	state map[string]any
	flat  [][]byte // the bytes of the state, array by array
}

func run(ctx context.Context, c config, only, out string) (err error) {
	if c.mib < 1 || c.arrays < 1 || c.rounds < 1 || c.bytes()/c.arrays < 4096 {
		return fmt.Errorf("want sizes and rounds of at least 1, and 4 KiB an array")
	}
	dir, err := os.MkdirTemp(c.dir, ".bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a leftover is seen
	b := &bench{config: c, dir: dir}
	b.state, b.flat = newState(c.bytes(), c.arrays)
	wanted := strings.Split(only, ",")
	var results []result
	fmt.Printf("%s, %d MiB in %d arrays, %d rounds\n", machine(), c.mib, c.arrays, c.rounds)
	for _, m := range measurements {
		if only != "" && !slices.Contains(wanted, m.name) {
			continue
		}
		r, err := b.measure(ctx, m.name, m.make)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		r.print(os.Stdout)
		results = append(results, r)
	}
	if len(results) == 0 {
		return fmt.Errorf("no measurement %q; there are %s", only, names())
	}
	if out == "" {
		return nil
	}
	return write(out, c, results)
}

func machine() string {
	return fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version())
}
