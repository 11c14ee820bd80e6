package training_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// childTier names the tier of a child that is killed while it copies steps there.
const childTier = "BIVOUAC_KILLED_COPIER"

// withTier are the options of the child and of the processes after it.
func withTier(far string) *training.Options {
	return &training.Options{Clean: true, Preserve: training.LatestN{N: keep},
		Tiers: []training.Tier{{Directory: far, Preserve: training.LatestN{N: keep}}}}
}

// TestKilledCopier is the child: it saves for ever, and tells what its tier has.
func TestKilledCopier(t *testing.T) {
	dir, far := os.Getenv(childDir), os.Getenv(childTier)
	if far == "" {
		t.Skip("this is the child of TestKillWithATier")
	}
	o := withTier(far)
	o.OnEvent = func(e training.Event) {
		if e.Kind == training.Uploaded {
			fmt.Println("uploaded", e.Step)
		}
	}
	c, err := training.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	next := int64(0)
	if last, ok := c.Latest(); ok {
		next = last.Step + 1
	}
	for ; ; next++ {
		items := map[string]any{"state": model(next), "data": position(next)}
		o := &training.SaveOptions{Force: true}
		if _, err := c.SaveCheckpointables(context.Background(), next, items, o); err != nil {
			t.Fatal(err)
		}
		fmt.Println("committed", next)
		time.Sleep(5 * time.Millisecond) // a step of training
	}
}

// A process is killed at random instants while it saves and copies, and its disk may be lost. The
// next process goes on behind what was acknowledged: on the disk, or in the tier. It brings the
// tier what it lacks.
func TestKillWithATier(t *testing.T) {
	kills := 12
	if os.Getenv("BIVOUAC_LONG") != "" {
		kills = 500
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	far := filepath.Join(t.TempDir(), "far")
	dir := filepath.Join(t.TempDir(), "run")
	brought, lost := 0, 0
	for n := range kills {
		committed, uploaded := killCopier(t, dir, far, time.Duration(r.Int64N(int64(150*time.Millisecond))))
		promised := committed
		if r.IntN(2) == 0 {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			promised = uploaded
			lost++
		}
		o := withTier(far)
		o.OnEvent = func(e training.Event) {
			switch e.Kind {
			case training.Skipped, training.Quarantined:
				t.Errorf("kill %d: step %d of %q is visible and not whole: %v", n, e.Step, e.Tier, e.Err)
			case training.Uploaded:
				brought++
			}
		}
		c, err := training.Open(t.Context(), dir, o)
		if err != nil {
			t.Fatalf("kill %d: %v", n, err)
		}
		last, ok := c.Latest()
		if promised >= 0 && (!ok || last.Step < promised) {
			t.Fatalf("kill %d: step %d was acknowledged, the latest is %d", n, promised, last.Step)
		}
		for _, step := range c.Steps() {
			err := equals(t.Context(), c, step)
			if errors.Is(err, errs.NotFound) && !slices.Contains(c.Steps(), step) {
				continue // the tier has newer steps by now, and keeps no more
			}
			if err != nil {
				t.Fatalf("kill %d: %v", n, err)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatalf("kill %d: %v", n, err)
		}
		if status := c.Tiers()[1]; ok && !slices.Contains(status.Steps, last.Step) {
			t.Fatalf("kill %d: at the end the tier has %v, and not step %d", n, status.Steps, last.Step)
		}
	}
	t.Logf("%d kills, %d disks lost, %d copies brought by the next process", kills, lost, brought)
}

// killCopier starts a child, kills it a while after its first word, and returns the newest steps
// that it acknowledged, or -1.
func killCopier(t *testing.T, dir, far string, after time.Duration) (committed, uploaded int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledCopier$", "-test.v")
	cmd.Env = append(os.Environ(), childDir+"="+dir, childTier+"="+far)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	committed, uploaded = -1, -1
	var said strings.Builder
	var timer *time.Timer
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if timer == nil {
			timer = time.AfterFunc(after, func() { cmd.Process.Kill() }) //nolint:errcheck // it may be over
			defer timer.Stop()
		}
		var step int64
		if _, err := fmt.Sscanf(lines.Text(), "committed %d", &step); err == nil {
			committed = max(committed, step)
		} else if _, err := fmt.Sscanf(lines.Text(), "uploaded %d", &step); err == nil {
			uploaded = max(uploaded, step)
		}
		said.WriteString(lines.Text() + "\n")
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the child ended by itself: %v\n%s", err, said.String())
	}
	return committed, uploaded
}
