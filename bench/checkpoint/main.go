// Checkpoint measures checkpoints against the disk and against other libraries.
//
//	go run ./bench/checkpoint                              Bivouac and the raw limits
//	go run ./bench/checkpoint -python .peers/bin/python    and Orbax, safetensors, numpy, torch (make bench-peers)
//	go run ./bench/checkpoint -mib 256 -only save16,warm   less of it
//
// Every side of a comparison is a process of its own that makes the same state,
// waits for its turn and times itself, several rounds, each beginning with
// another side, so that a disk or a neighbour that slows down hits all of them.
// What counts is the ratio of medians in one run.
//
// The tables go to standard output, every sample to a JSON file below bench/results. Memory is the
// peak of the resident set beyond what was there before; bytes read and written are counted by
// system calls (/proc/self/io), which do not count reads through a mapping.
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
	"strings"

	"github.com/bivouac-ml/bivouac/bench/internal/child"
)

// bench is one run.
type bench struct {
	mib, rounds          int
	dir                  string // temporary, on the disk to measure
	self, python, source string
	versions             map[string]string // of the other libraries, by the name of the contender too
}

func main() {
	var b bench
	flag.IntVar(&b.mib, "mib", 1024, "size of the states in MiB")
	flag.IntVar(&b.rounds, "rounds", 5, "rounds of each comparison")
	flag.StringVar(&b.dir, "dir", "bench/results", "directory on the disk to measure; a temporary one is made in it")
	flag.StringVar(&b.python, "python", "", "interpreter that has the other libraries; empty for none")
	flag.StringVar(&b.source, "source", "bench/checkpoint", "directory of peers.py")
	only := flag.String("only", "", "comparisons to run, separated by commas: "+names())
	out := flag.String("out", "bench/results", "directory of the JSON file; empty for none")
	serving := flag.Bool("serve", false, "be the process of one side (for this program)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *serving {
		err = serve(ctx, os.Stdin, os.Stdout)
	} else {
		err = b.run(ctx, *only, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/checkpoint:", err)
		stop()
		os.Exit(1)
	}
}

func names() string {
	var n []string
	for _, c := range comparisons {
		n = append(n, c.name)
	}
	return strings.Join(n, ",")
}

func (b *bench) run(ctx context.Context, only, out string) (err error) {
	if b.mib < 64 || b.rounds < 1 {
		return fmt.Errorf("want -mib of at least 64 and -rounds of at least 1")
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.dir, err = filepath.Abs(b.dir); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp(b.dir, ".bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir) //nolint:errcheck // a leftover is seen
	if err := b.findPeers(); err != nil {
		return err
	}
	fmt.Printf("%s, states of %d MiB, %d rounds\n", machine(), b.mib, b.rounds)
	wanted := strings.Split(only, ",")
	var results []result
	for _, c := range comparisons {
		if only != "" && !slices.Contains(wanted, c.name) {
			continue
		}
		r, err := b.compare(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		r.print(os.Stdout)
		results = append(results, r)
	}
	if len(results) == 0 {
		return fmt.Errorf("no comparison %q; there are %s", only, names())
	}
	if out == "" {
		return nil
	}
	return b.write(out, results)
}

// findPeers asks the interpreter what it has.
func (b *bench) findPeers() error {
	if b.python == "" {
		return nil
	}
	c, err := child.Start(nil, b.python, filepath.Join(b.source, "peers.py"))
	if err != nil {
		return err
	}
	var a answer
	if err = c.Ask(request{Op: "versions"}, &a); err == nil {
		err = c.Close()
	}
	b.versions = a.Versions
	if v := b.versions["orbax-checkpoint"]; v != "" {
		b.versions["orbax"] = v
	}
	return err
}

func machine() string {
	return fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version())
}
