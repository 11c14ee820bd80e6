// Fleet measures the command on many runs at once.
//
//	go run ./bench/fleet                       200 runs of 20 steps of 256 KiB, in a temporary directory
//	go run ./bench/fleet -runs 20 -kib 4096    other runs
//	go run ./bench/fleet -before PATH          verify of an older build too, in turn
//
// It makes the runs, reads all their bytes once with as many goroutines as there are cores, and
// starts `bivouac verify`, `bivouac ls` and `bivouac prune --dry-run` on all of them, several
// rounds in turn. Each is a process of its own. It prints the median time of each and its
// ratio to the read, the same for the time of processors, and the bytes that the command read. Then
// it damages three runs, and checks the exit statuses.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/bench/internal/disk"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
)

// bench is one measurement.
type bench struct {
	runs, steps, kib, rounds int
	cold                     bool
	dir, command, before     string
}

func main() {
	var b bench
	flag.IntVar(&b.runs, "runs", 200, "number of runs")
	flag.IntVar(&b.steps, "steps", 20, "steps of each run")
	flag.IntVar(&b.kib, "kib", 256, "size of each step in KiB")
	flag.IntVar(&b.rounds, "rounds", 3, "rounds")
	flag.BoolVar(&b.cold, "cold", false, "let the cache of the system forget the runs before each measurement")
	flag.StringVar(&b.dir, "dir", "", "directory on the disk to measure; a temporary one is made in it")
	flag.StringVar(&b.command, "bivouac", "", "the command; by default it is built")
	flag.StringVar(&b.before, "before", "", "an older build of the command, to measure its verify in turn")
	read := flag.String("read", "", "only read the files below this directory; the benchmark starts itself with it")
	flag.Parse()
	if *read != "" {
		if err := readAll(*read); err != nil {
			fmt.Fprintln(os.Stderr, "bench/fleet:", err)
			os.Exit(1)
		}
		return
	}
	if err := b.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench/fleet:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp(b.dir, "fleet"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if b.command == "" {
		b.command = filepath.Join(b.dir, "bivouac")
		build := exec.CommandContext(ctx, "go", "build", "-o", b.command, "./cmd/bivouac")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("building the command: %w", err)
		}
	}
	runs := filepath.Join(b.dir, "runs")
	began := time.Now()
	if err := each(b.runs, func(i int) error { return b.train(ctx, b.name(i), i) }); err != nil {
		return err
	}
	fmt.Printf("%d runs of %d steps of %d KiB, made in %.0f s; %d cores\n\n", b.runs, b.steps, b.kib,
		time.Since(began).Seconds(), runtime.GOMAXPROCS(0))
	if err := b.measure(ctx, runs); err != nil {
		return err
	}
	return b.damage(ctx, runs)
}

// measured is a command that is measured.
type measured struct {
	name, command string
	args          []string
}

// measure runs the commands in turn, and prints a table.
func (b *bench) measure(ctx context.Context, runs string) error {
	itself, err := os.Executable()
	if err != nil {
		return err
	}
	cases := []measured{
		{"read every byte once", itself, []string{"-read", runs}},
		{"bivouac verify", b.command, []string{"verify", runs}},
		{"bivouac ls", b.command, []string{"ls", runs}},
		{"bivouac prune --keep-last 3 --dry-run", b.command, []string{"prune", runs, "--keep-last", "3", "--dry-run"}},
	}
	if b.before != "" {
		cases = slices.Insert(cases, 1, measured{"bivouac verify, the older build", b.before, []string{"verify", runs}})
	}
	seconds, busy, read := make([][]float64, len(cases)), make([][]float64, len(cases)), make([]int64, len(cases))
	for range b.rounds {
		for i, c := range cases {
			if err := b.forget(runs); err != nil {
				return err
			}
			began := time.Now()
			o, err := start(ctx, c.command, c.args...)
			if err != nil || o.code != 0 {
				return fmt.Errorf("%s: exit status %d: %w\n%s", c.name, o.code, err, o.text)
			}
			seconds[i] = append(seconds[i], time.Since(began).Seconds())
			busy[i] = append(busy[i], o.busy.Seconds())
			read[i] = o.read
		}
	}
	fmt.Printf("%-40s %9s %7s %10s %7s %10s\n", "", "seconds", "ratio", "processor", "ratio", "MiB read")
	for i, c := range cases {
		m, p := median(seconds[i]), median(busy[i])
		fmt.Printf("%-40s %9.2f %7.2f %10.2f %7.2f %10.1f\n", c.name, m, m/median(seconds[0]), p, p/median(busy[0]),
			float64(read[i])/(1<<20))
	}
	return nil
}

// forget empties the cache of the system of the runs, if the reads are to be cold.
func (b *bench) forget(runs string) error {
	if !b.cold {
		return nil
	}
	return filepath.WalkDir(runs, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			err = disk.Evict(name)
		}
		return err
	})
}

// damage changes a byte of a step of three runs, and checks the exit statuses of the commands.
func (b *bench) damage(ctx context.Context, runs string) error {
	for _, i := range []int{0, b.runs / 2, b.runs - 1} {
		if err := flip(filepath.Join(b.name(i), strconv.Itoa(b.steps/2))); err != nil {
			return err
		}
	}
	fmt.Println()
	for _, c := range []struct {
		want int
		args []string
	}{
		{4, []string{"verify", runs}},
		{0, []string{"verify", b.name(1)}},
		{4, []string{"verify", b.name(0)}},
		{0, []string{"ls", runs}},
		{0, []string{"prune", runs, "--keep-last", "3", "--dry-run"}},
	} {
		o, err := start(ctx, b.command, c.args...)
		if err != nil || o.code != c.want {
			return fmt.Errorf("%q with three damaged runs: exit status %d, want %d: %w\n%s", c.args, o.code, c.want, err,
				o.text)
		}
		if c.want == 4 && c.args[1] == runs && !strings.Contains(o.text, "3 damaged") {
			return fmt.Errorf("verify does not find three damages:\n%s", o.text)
		}
		fmt.Printf("exit status %d, as wanted: bivouac %s\n", o.code,
			strings.ReplaceAll(strings.Join(c.args, " "), b.dir, "…"))
	}
	return nil
}

func (b *bench) name(i int) string { return filepath.Join(b.dir, "runs", fmt.Sprintf("run-%03d", i)) }

// train saves the steps of a run.
func (b *bench) train(ctx context.Context, dir string, seed int) error {
	c, err := training.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	weights := make([]uint64, b.kib<<10/8)
	x := uint64(seed)*0x9e3779b97f4a7c15 + 1
	for step := range b.steps {
		for i := range weights {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			weights[i] = x
		}
		loss := map[string]float64{"loss": 1 / float64(step+1)}
		if _, err := c.Save(ctx, int64(step), map[string]any{"w": weights}, &training.SaveOptions{Force: true,
			Metrics: loss}); err != nil {
			return errors.Join(err, c.Close())
		}
	}
	return c.Close()
}

// outcome is how a process ended.
type outcome struct {
	code int
	text string        // its output
	busy time.Duration // the time of processors that it took
	read int64         // the bytes that it read by system calls
}

// start starts a process and waits for its end. /proc of Linux told the bytes last before the end.
func start(ctx context.Context, name string, args ...string) (outcome, error) {
	var text bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Start(); err != nil {
		return outcome{}, err
	}
	ended, told := make(chan struct{}), make(chan int64)
	go func() {
		last := int64(0)
		for {
			if io, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", cmd.Process.Pid)); err == nil {
				line, _, _ := strings.Cut(string(io), "\n")
				if n, err := strconv.ParseInt(strings.TrimPrefix(line, "rchar: "), 10, 64); err == nil {
					last = n
				}
			}
			select {
			case <-ended:
				told <- last
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	err := cmd.Wait()
	close(ended)
	o := outcome{read: <-told, text: text.String(), code: cmd.ProcessState.ExitCode(),
		busy: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return o, err
}

// readAll reads every file below a directory.
func readAll(dir string) error {
	var names []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	pool := sync.Pool{New: func() any { b := make([]byte, 1<<20); return &b }}
	return each(len(names), func(i int) error {
		f, err := os.Open(names[i])
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // only read
		buf := pool.Get().(*[]byte)
		defer pool.Put(buf)
		for {
			_, err := f.Read(*buf)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
}

// each calls do for 0 to n-1, with a goroutine for each core.
func each(n int, do func(i int) error) error {
	var (
		group  sync.WaitGroup
		mu     sync.Mutex
		next   int
		failed error
	)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for {
				mu.Lock()
				i, stop := next, failed != nil
				next++
				mu.Unlock()
				if stop || i >= n {
					return
				}
				if err := do(i); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	return failed
}

// flip changes a byte of the largest file of a step.
func flip(step string) error {
	var largest string
	var size int64
	err := filepath.WalkDir(step, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > size {
			largest, size = name, info.Size()
		}
		return err
	})
	if err != nil {
		return err
	}
	b, err := os.ReadFile(largest)
	if err != nil {
		return err
	}
	b[len(b)/2] ^= 1
	return os.WriteFile(largest, b, 0o666)
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}
