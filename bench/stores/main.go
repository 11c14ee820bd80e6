// Stores measures checkpoints in an object store, beside the transfer manager of the AWS SDK moving
// the same bytes with as many requests at once.
//
//	cd bench/stores && go run .                 versitygw on loopback, 1 GiB, 5 rounds
//	cd bench/stores && go run . -mib 256        less of it
//
// The server is tools/versitygw over a temporary directory. Every measurement is a process of its
// own, several rounds, each in another order: who comes after a large one finds the memory of the
// system as that left it. What counts is the ratio of medians in one
// run: the machine serves and asks at once, so absolute figures say little. This is a module of its
// own, because the SDK's client is not a dependency of Bivouac.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parallel is the number of requests at once, of both sides.
const parallel = 16

const bucket = "bench"

type bench struct {
	mib, rounds int
	dir         string
	endpoint    string
}

// result is what a process measured.
type result struct {
	Seconds float64 `json:"seconds"`
	Blocked float64 `json:"blocked"` // seconds that the caller of a save in the background waited
	Peak    float64 `json:"peak"`    // MiB of the resident set beyond what was there before
}

func main() {
	var b bench
	flag.IntVar(&b.mib, "mib", 1024, "size of the state in MiB")
	flag.IntVar(&b.rounds, "rounds", 5, "rounds")
	flag.StringVar(&b.dir, "dir", "", "directory of the server and of local checkpoints; a temporary one is made in it")
	side := flag.String("side", "", "be the process of one measurement (for this program)")
	flag.StringVar(&b.endpoint, "endpoint", "", "of the server (for this program)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := error(nil)
	if *side != "" {
		err = b.measure(ctx, *side)
	} else {
		err = b.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/stores:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

// run starts the server, measures in rounds and prints the table.
func (b *bench) run(ctx context.Context) error {
	dir, err := os.MkdirTemp(b.dir, "stores")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left is temporary
	b.dir = dir
	stop, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer stop()
	all := map[string][]result{}
	turn := slices.Clone(sides) // in the first round, what reads comes after what writes
	for round := range b.rounds {
		if round > 0 {
			rand.Shuffle(len(turn), func(i, j int) { turn[i], turn[j] = turn[j], turn[i] })
		}
		for _, s := range turn {
			r, err := b.child(ctx, s.name)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			fmt.Fprintf(os.Stderr, "round %d of %d: %-24s %7.3f s\n", round+1, b.rounds, s.name, r.Seconds)
			all[s.name] = append(all[s.name], r)
		}
	}
	b.print(all)
	return nil
}

// serve starts versitygw.
func (b *bench) serve(ctx context.Context) (stop func(), err error) {
	program := filepath.Join(b.dir, "versitygw")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, ".")
	build.Dir = filepath.Join("..", "..", "tools", "versitygw")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build in tools/versitygw: %w: %s", err, out)
	}
	for _, d := range []string{"server/" + bucket, "notes"} {
		if err := os.MkdirAll(filepath.Join(b.dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		return nil, err
	}
	b.endpoint = "http://" + address
	for k, v := range map[string]string{
		"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "no-secret", "AWS_REGION": "us-east-1",
		"ROOT_ACCESS_KEY_ID": "bench", "ROOT_SECRET_ACCESS_KEY": "no-secret",
	} {
		if err := os.Setenv(k, v); err != nil {
			return nil, err
		}
	}
	c := exec.CommandContext(ctx, program, "-dir", filepath.Join(b.dir, "server"),
		"-side", filepath.Join(b.dir, "notes"), "-addr", address)
	alive, err := c.StdinPipe() // the server ends when this closes
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, err
	}
	stop = func() {
		_ = alive.Close()
		_ = c.Wait()
	}
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			return stop, conn.Close()
		}
	}
	stop()
	return nil, fmt.Errorf("versitygw does not listen on %s", address)
}

// child measures in a process of its own.
func (b *bench) child(ctx context.Context, side string) (r result, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	c := exec.CommandContext(ctx, self, "-side", side, "-mib", strconv.Itoa(b.mib), "-dir", b.dir, "-endpoint", b.endpoint)
	c.Stderr = os.Stderr
	began := time.Now()
	out, err := c.Output()
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if strings.HasPrefix(side, "process ") { // from nothing to the state in memory
		r.Seconds = time.Since(began).Seconds()
	}
	return r, err
}

// print prints medians, and the ratios that have a target.
func (b *bench) print(all map[string][]result) {
	median := func(name string, of func(result) float64) float64 {
		list := []float64{}
		for _, r := range all[name] {
			list = append(list, of(r))
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	seconds := func(r result) float64 { return r.Seconds }
	blocked := func(r result) float64 { return r.Blocked }
	fmt.Printf("%d MiB, %d requests at once, medians of %d rounds\n\n", b.mib, parallel, b.rounds)
	fmt.Print("| what | s | MiB/s | peak MiB |\n|---|---|---|---|\n")
	for _, s := range sides {
		t := median(s.name, seconds)
		peak := median(s.name, func(r result) float64 { return r.Peak })
		fmt.Printf("| %s | %.3f | %.0f | %.0f |\n", s.name, t, float64(b.mib)/t, peak)
	}
	fmt.Printf("\n| ratio | value | target |\n|---|---|---|\n")
	ratio := func(title, target string, a, b float64) { fmt.Printf("| %s | %.2f | %s |\n", title, a/b, target) }
	restored := median("restore", seconds)
	ratio("save, speed beside the SDK's upload", "≥ 0.85", median("sdk upload", seconds), median("save", seconds))
	ratio("restore, speed beside the SDK's download", "≥ 0.85", median("sdk download", seconds), restored)
	ratio("restore, speed beside reads that verify nothing", "≥ 0.95", median("read unverified", seconds), restored)
	far, near := median("save in background", blocked), median("save in background, local", blocked)
	fmt.Printf("| seconds blocked in a background save; on the local disk | %.3f; %.3f | the same |\n", far, near)
	ratio("a new process until it has the state, beside the SDK's", "≤ 1.3",
		median("process restore", seconds), median("process sdk download", seconds))
}
