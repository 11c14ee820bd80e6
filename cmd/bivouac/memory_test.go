package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
)

// Of the test of memory: the state, the budget, and what the program takes by
// itself, in bytes.
const (
	memoryState   = 256 << 20
	memoryBudget  = 64 << 20
	memoryProgram = 56 << 20 // of which 27 MiB before it does anything: it links the clients of three clouds
	memoryHeap    = 64 << 20 // the same of the library, without a limit for the heap
)

// saveState saves a state of two arrays and returns an exit status.
func saveState(path string) int {
	w := make([]float32, memoryState/4/2)
	for i := range w {
		w[i] = float32(i)
	}
	if err := checkpoint.Save(context.Background(), path, map[string]any{"a": w, "b": w}, nil); err != nil {
		return exitFailure
	}
	return exitOK
}

// convertState converts with the library as it is, without the command's limit for
// the heap, and returns an exit status.
func convertState(from, to, how string) int {
	l, err := options.ParseLayout(how)
	if err == nil {
		err = checkpoint.Convert(context.Background(), from, to, &checkpoint.ConvertOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: l, MemoryBudget: memoryBudget}}})
	}
	if err != nil {
		return exitFailure
	}
	return exitOK
}

// measured writes the peak of the resident memory of this process, in KiB, to the file that the
// environment names, and returns the exit status. What Linux tells the parent of a process has the
// peak of the parent in it.
func measured(status int) int {
	file := os.Getenv("BIVOUAC_TEST_PEAK")
	if file == "" {
		return status
	}
	text, err := os.ReadFile("/proc/self/status")
	if err == nil {
		_, rest, _ := strings.Cut(string(text), "VmHWM:")
		peak, _, _ := strings.Cut(rest, "kB")
		err = os.WriteFile(file, []byte(strings.TrimSpace(peak)), 0o666)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailure
	}
	return status
}

// runSelf runs this program as the given helper. It returns the peak of its resident memory if the
// helper is measured.
func runSelf(t *testing.T, does string, args ...string) int64 {
	t.Helper()
	file := filepath.Join(t.TempDir(), "peak")
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "BIVOUAC_TEST_COMMAND="+does, "BIVOUAC_TEST_PEAK="+file)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, said)
	}
	if does == "state" {
		return 0
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	peak, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || peak == 0 {
		t.Fatalf("a peak of %q: %v", text, err)
	}
	return peak << 10
}

// leastPeak returns the peak of a run that keeps to `most` bytes, or the least of three: on a busy
// machine the collector comes late, and memory that is not bounded is too large each time.
func leastPeak(most int64, run func() int64) int64 {
	least := run()
	for range 2 {
		if least <= most {
			break
		}
		least = min(least, run())
	}
	return least
}

// TestConvertMemory converts a state of 256 MiB with a budget of 64 MiB.
func TestConvertMemory(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("takes 1 GiB of disk, and reads the peak as Linux has it")
	}
	dir := t.TempDir()
	from := filepath.Join(dir, "from")
	runSelf(t, "state", from)
	for i, args := range [][]string{
		{"--to", "safetensors"}, {"--to", "zarr3", "--compress", "zstd"}, {"--to", "ocdbt-zarr2"}, {"--to", "ocdbt-zarr3"},
	} {
		to := filepath.Join(dir, string(rune('a'+i)))
		peak := leastPeak(memoryBudget+memoryProgram, func() int64 {
			os.RemoveAll(to)
			return runSelf(t, "measured", append([]string{"convert", from, to, "--budget", "64"}, args...)...)
		})
		t.Logf("%v: peak %d MiB", args, peak>>20)
		if peak > memoryBudget+memoryProgram {
			t.Errorf("%v: peak of %d MiB, want at most %d", args, peak>>20, (memoryBudget+memoryProgram)>>20)
		}
		from = to
	}
}

// TestConvertLibraryMemory does so with checkpoint.Convert, in programs that set no
// limit for the heap: what the collector has not yet freed comes on top.
func TestConvertLibraryMemory(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("takes 1 GiB of disk, and reads the peak as Linux has it")
	}
	dir := t.TempDir()
	from := filepath.Join(dir, "from")
	runSelf(t, "state", from)
	for i, how := range []string{"safetensors", "zarr3", "ocdbt-zarr2", "ocdbt-zarr3"} {
		to := filepath.Join(dir, string(rune('a'+i)))
		peak := leastPeak(memoryBudget+memoryHeap, func() int64 {
			os.RemoveAll(to)
			return runSelf(t, "convert", from, to, how)
		})
		t.Logf("%v: peak %d MiB", how, peak>>20)
		if peak > memoryBudget+memoryHeap {
			t.Errorf("%v: peak of %d MiB, want at most %d", how, peak>>20, (memoryBudget+memoryHeap)>>20)
		}
		from = to
	}
}

// TestSurgeryMemory does so with rules that stack, split, cast, transpose and fuse
// what is larger than the budget.
func TestSurgeryMemory(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("takes 1 GiB of disk, and reads the peak as Linux has it")
	}
	dir := t.TempDir()
	from, rules := filepath.Join(dir, "from"), filepath.Join(dir, "rules.yaml")
	runSelf(t, "state", from)
	const text = `rules:
- rename: {pattern: a, to: w0}
- rename: {pattern: b, to: w1}
- stack: {pattern: 'w(\d)', to: w, axis: 1}
- transpose: {pattern: w}
- split: {pattern: w, to: [left, right], axis: 1}
- cast: {pattern: left, dtype: bfloat16}
- repeat: {pattern: left, axis: 1, times: 2}
- unstack: {pattern: right, to: 'rows.${index}'}
- fuse: {keys: [rows.1, rows.0], to: right}
`
	if err := os.WriteFile(rules, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for i, args := range [][]string{{"--to", "safetensors"}, {"--to", "zarr3", "--compress", "zstd"}, {"--to", "ocdbt-zarr3"}} {
		to := filepath.Join(dir, string(rune('a'+i)))
		peak := leastPeak(memoryBudget+memoryProgram, func() int64 {
			os.RemoveAll(to)
			return runSelf(t, "measured", append([]string{"surgery", rules, from, to, "--budget", "64"}, args...)...)
		})
		t.Logf("%v: peak %d MiB", args, peak>>20)
		if peak > memoryBudget+memoryProgram {
			t.Errorf("%v: peak of %d MiB, want at most %d", args, peak>>20, (memoryBudget+memoryProgram)>>20)
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
	}
}
