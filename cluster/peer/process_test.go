package peer_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/cluster/peer"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// child is a process of a job: it loads, and prints how many bytes it has read and what it got. It
// kills or stops itself before a read of the given number.
func child() int {
	number := func(name string) int { n, _ := strconv.Atoi(os.Getenv(name)); return n }
	ctx, dir := context.Background(), os.Getenv("BIVOUAC_PEER_CHILD")
	err := func() (err error) {
		m, err := cluster.Open(ctx, dir+"/board", cluster.Options{Rank: number("RANK"), World: number("WORLD_SIZE"),
			Lease:    testLease,
			Deadline: 3 * testLease})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.Close()) }()
		p, err := peer.Open(ctx, m, peer.Options{Silence: testSilence, Deadline: 3 * testLease})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.Close()) }()
		s, err := local.Open(dir, nil)
		if err != nil {
			return err
		}
		var bytes, reads atomic.Int64
		o := checkpoint.LoadOptions{Store: counting{s, &bytes, func(string, int64, int64) error {
			if n := reads.Add(1); n == int64(number("KILL_AT")) {
				self, err := os.FindProcess(os.Getpid())
				if err == nil {
					err = self.Kill()
				}
				time.Sleep(time.Minute)
				return err
			} else if n == int64(number("HANG_AT")) {
				time.Sleep(time.Hour)
			}
			return nil
		}}}
		o.Array.Loading.UseLoadAndBroadcast, o.Array.Loading.LoadAndBroadcast.Peers = options.On, p
		n, err := checkpoint.Load(ctx, "c", &o)
		if err != nil {
			return err
		}
		fmt.Printf("%d %d %x\n", bytes.Load(), reads.Load(), digest(n))
		return nil
	}()
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	return 0
}

func digest(n *tree.Node) []byte {
	sum := sha256.New()
	for _, e := range tree.Flatten(n) {
		fmt.Fprint(sum, e.Path)
		if x, ok := e.Node.Value.(tensor.Tensor); ok {
			sum.Write(x.Data)
		} else {
			fmt.Fprint(sum, e.Node.Value)
		}
	}
	return sum.Sum(nil)
}

// children runs the processes of a job and returns what each printed. limit bounds the time of
// each.
func children(t *testing.T, dir string, world int, limit time.Duration, more func(rank int) string) []string {
	t.Helper()
	out := make([]string, world)
	var wait sync.WaitGroup
	for rank := range world {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			c := exec.CommandContext(ctx, os.Args[0])
			c.Env = append(os.Environ(), "BIVOUAC_PEER_CHILD="+dir, fmt.Sprint("RANK=", rank),
				fmt.Sprint("WORLD_SIZE=", world))
			if more != nil {
				c.Env = append(c.Env, more(rank))
			}
			b, err := c.CombinedOutput()
			out[rank] = string(b)
			if ctx.Err() != nil {
				out[rank] += "hung"
			} else if err != nil && !strings.Contains(out[rank], "error:") {
				out[rank] += err.Error()
			}
		})
	}
	wait.Wait()
	return out
}

// Real processes with a board in a directory: one reads, and all have the same.
func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	state := model(1)
	if err := checkpoint.Save(t.Context(), dir+"/c", state, nil); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%x", digest(state))
	all, first := int64(0), int64(0)
	reads := 0
	for rank, text := range children(t, dir, 3, time.Minute, nil) {
		var n int64
		var k int
		var sum string
		if _, err := fmt.Sscan(text, &n, &k, &sum); err != nil || sum != want {
			t.Fatalf("rank %d: %s", rank, text)
		}
		if all += n; rank == 0 {
			first, reads = n, k
		}
	}
	if all > first+first/20 {
		t.Errorf("%d bytes were read, %d by process 0", all, first)
	}
	t.Logf("%d bytes, %d of them by process 0 in %d reads", all, first, reads)
	if testing.Short() {
		return
	}
	// Process 0 is killed before each of its reads, and the others learn who it was.
	step := 17
	if os.Getenv("BIVOUAC_LONG") != "" {
		step = 1
	}
	for at := 1; at <= reads; at += step {
		began := time.Now()
		for rank, text := range children(t, dir, 3, 30*time.Second, func(rank int) string {
			if rank == 0 {
				return fmt.Sprint("KILL_AT=", at)
			}
			return "KILL_AT=0"
		}) {
			switch {
			case rank == 0 && !strings.Contains(text, "killed"):
				t.Errorf("read %d: rank 0 lives: %s", at, text)
			case rank > 0 && (!strings.Contains(text, "error:") || !strings.Contains(text, "process 0") &&
				!strings.Contains(text, "rank 0")):
				t.Errorf("killed at read %d, rank %d: %s", at, rank, text)
			}
		}
		t.Logf("killed at read %d: %v", at, time.Since(began).Round(time.Second/10))
		if err := os.RemoveAll(dir + "/board"); err != nil {
			t.Fatal(err)
		}
	}
}

// Process 0 stays alive and reads nothing more: the error of the others names it, in bounded time.
func TestProcessHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for deadlines")
	}
	dir := t.TempDir()
	if err := checkpoint.Save(t.Context(), dir+"/c", model(1), nil); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for rank, text := range children(t, dir, 3, 20*time.Second, func(rank int) string {
		if rank == 0 {
			return "HANG_AT=30"
		}
		return "HANG_AT=0"
	}) {
		if rank > 0 && (!strings.Contains(text, "process 0") || !strings.Contains(text, "signs of life") ||
			strings.HasSuffix(text, "hung")) {
			t.Errorf("rank %d: %s", rank, text)
		}
	}
	t.Logf("it took %v", time.Since(began).Round(time.Second/10))
}
