package training_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/store"
)

// childDir tells the test binary to be the writer that is killed, childDedup
// that it links what did not change.
const (
	childDir   = "BIVOUAC_KILLED_WRITER"
	childDedup = "BIVOUAC_KILLED_WRITER_DEDUP"
)

// frozen is a tree that is the same in each step.
func frozen() map[string]any { return model(-7) }

// TestKilledWriter is the child: it saves one step after the other for ever and
// acknowledges each on its standard output when it is committed.
func TestKilledWriter(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("this is the child of TestKill and TestLongKill")
	}
	ctx := context.Background()
	dedup := training.Dedup{On: os.Getenv(childDedup) != "", VerifyEvery: 3}
	c, err := training.Open(ctx, dir, &training.Options{Clean: true, Preserve: training.LatestN{N: keep}, Dedup: dedup})
	if err != nil {
		t.Fatal(err)
	}
	next := int64(0)
	if last, ok := c.Latest(); ok {
		next = last.Step + 1
	}
	for ; ; next++ {
		items := map[string]any{"state": model(next), "frozen": frozen(), "data": position(next)}
		r, err := c.SaveCheckpointablesAsync(ctx, next, items, &training.SaveOptions{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Result(ctx); err != nil {
			t.Fatal(err)
		}
		fmt.Println("committed", next)
	}
}

// A real process is killed at random instants on the real disk, and started
// again: nothing that it acknowledged is lost, nothing torn is visible, and
// nothing is left over.
func TestKill(t *testing.T) { kill(t, 20, false) }

// TestKillDedup is TestKill of a writer that links what did not change.
func TestKillDedup(t *testing.T) { kill(t, 10, true) }

// TestLongKill is TestKill with kills by the thousand.
func TestLongKill(t *testing.T) {
	if os.Getenv("BIVOUAC_LONG") == "" {
		t.Skip("set BIVOUAC_LONG=1, as make test-long does")
	}
	for _, dedup := range []bool{false, true} {
		t.Run(fmt.Sprint("dedup=", dedup), func(t *testing.T) { kill(t, 2000, dedup) })
	}
}

func kill(t *testing.T, kills int, dedup bool) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	dir := filepath.Join(t.TempDir(), "run")
	acknowledged, torn := int64(-1), 0
	for n := range kills {
		last, err := killOne(t, dir, dedup, time.Duration(r.Int64N(int64(100*time.Millisecond))))
		if err != nil {
			t.Fatalf("kill %d: %v", n, err)
		}
		acknowledged = max(acknowledged, last)
		if leftovers(t, dir) {
			torn++ // it died in the middle of a save
		}
		checkKilled(t, n, dir, acknowledged)
	}
	t.Logf("%d kills, %d of them in the middle of a save, %d steps committed", kills, torn, acknowledged+1)
}

// killOne starts a writer, kills it a while after its first word, and returns
// the last step it acknowledged, -1 for none.
func killOne(t *testing.T, dir string, dedup bool, after time.Duration) (int64, error) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$", "-test.v")
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	if dedup {
		cmd.Env = append(cmd.Env, childDedup+"=1")
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return -1, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return -1, err
	}
	last := int64(-1)
	lines := bufio.NewScanner(out)
	var said strings.Builder
	started := false
	for lines.Scan() {
		if !started {
			started = true
			timer := time.AfterFunc(after, func() { cmd.Process.Kill() }) //nolint:errcheck // it may be over
			defer timer.Stop()
		}
		if s, ok := strings.CutPrefix(lines.Text(), "committed "); ok {
			if last, err = strconv.ParseInt(s, 10, 64); err != nil {
				return -1, err
			}
			continue
		}
		said.WriteString(lines.Text() + "\n")
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		return -1, fmt.Errorf("the writer ended by itself: %v\n%s", err, said.String())
	}
	return last, nil
}

func leftovers(t *testing.T, dir string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if store.IsStaging(e.Name()) {
			return true
		}
	}
	return false
}

// checkKilled opens the run as the next process would.
func checkKilled(t *testing.T, n int, dir string, acknowledged int64) {
	t.Helper()
	ctx := context.Background()
	c, err := training.Open(ctx, dir, &training.Options{Clean: true, OnEvent: func(e training.Event) {
		if e.Kind == training.Skipped || e.Kind == training.Quarantined {
			t.Errorf("kill %d: step %d is visible and not whole: %v", n, e.Step, e.Err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	last, ok := c.Latest()
	if acknowledged >= 0 && (!ok || last.Step < acknowledged) {
		t.Fatalf("kill %d: step %d was acknowledged, the latest is %d", n, acknowledged, last.Step)
	}
	for _, in := range c.Checkpoints() {
		if err := equals(ctx, c, in.Step); err != nil {
			t.Fatalf("kill %d: %v", n, err)
		}
		if items, err := c.LoadCheckpointables(ctx, in.Step, nil); err != nil ||
			!same(map[string]any{"frozen": frozen()}, map[string]any{"frozen": items["frozen"]}) {
			t.Fatalf("kill %d: step %d holds another tree that never changes: %v", n, in.Step, err)
		}
	}
	if leftovers(t, dir) {
		t.Fatalf("kill %d: leftovers after opening", n)
	}
}
