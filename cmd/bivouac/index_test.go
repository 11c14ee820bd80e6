package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/format/tfrecord"
)

// A run of `bivouac index` that is killed at any time leaves no index and no wrong one: the runs
// after it write the index of a run that was not killed.
func TestIndexIsKilled(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o777); err != nil {
		t.Fatal(err)
	}
	for i := range 600 {
		b := tfrecord.Append(tfrecord.Append(nil, fmt.Append(nil, i)), bytes.Repeat([]byte{1}, i%50))
		if err := os.WriteFile(filepath.Join(data, fmt.Sprintf("%05d.tfrecord", i)), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	command := func(args ...string) (*exec.Cmd, *bytes.Buffer) {
		c := exec.Command(os.Args[0], append([]string{"index", "--workers", "1"}, args...)...)
		c.Env = append(os.Environ(), "BIVOUAC_TEST_COMMAND=bivouac")
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		return c, &out
	}
	fresh := filepath.Join(dir, "fresh", "data")
	if err := os.MkdirAll(filepath.Dir(fresh), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(data, fresh); err != nil {
		t.Fatal(err)
	}
	if c, out := command(fresh); c.Run() != nil {
		t.Fatalf("%s", out)
	}
	want, err := os.ReadFile(filepath.Join(fresh, "bivouac.index"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(fresh, "bivouac.index")); err != nil {
		t.Fatal(err)
	}
	target, journal := filepath.Join(fresh, "bivouac.index"), filepath.Join(fresh, "bivouac.index.journal")
	killed, before := 0, int64(-1)
	for range 6 {
		c, out := command(fresh)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for grown := false; !grown; time.Sleep(time.Millisecond) { // until the run has kept more
			info, err := os.Stat(journal)
			grown = err == nil && info.Size() > before
			if grown {
				before = info.Size()
			}
			if _, err := os.Stat(target); err == nil {
				grown = true
			}
		}
		c.Process.Kill() //nolint:errcheck // it may have ended
		if c.Wait() == nil {
			break
		}
		killed++
		if got, err := os.ReadFile(target); err == nil && !bytes.Equal(got, want) {
			t.Fatalf("another index after a kill: %s", out)
		}
	}
	c, out := command(fresh)
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := os.ReadFile(target)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("another index after %d kills: %v\n%s", killed, err, out)
	}
	if killed < 2 || before > 0 && !strings.Contains(out.String(), "interrupted") &&
		!strings.Contains(out.String(), "records      1200") {
		t.Errorf("%d kills: %s", killed, out)
	}
	if left, _ := filepath.Glob(target + ".*"); len(left) > 0 {
		t.Logf("left by kills while the index was written: %v", left)
	}
	if _, err := os.Stat(journal); err == nil {
		t.Error("the journal is still there")
	}
}
