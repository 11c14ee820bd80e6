package training_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// An Open that fails gives back the memory that it made ready, whichever call fails.
func TestFailedOpenKeepsNoMemory(t *testing.T) {
	const reserve, times = 16 << 20, 32
	pages := func() int64 {
		b, err := os.ReadFile("/proc/self/statm")
		if err != nil {
			t.Skip(err)
		}
		n, err := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	mem := vfstest.NewMem()
	if err := mem.Mkdir("/run", 0o777); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for n := 1; ; n++ {
		before, hit := pages(), 0
		for range times {
			f := vfstest.NewFault(mem, vfstest.Plan{N: n, Err: syscall.EACCES})
			c, err := training.Open(t.Context(), "run", &training.Options{Store: local.New(f, "/", nil), Reserve: reserve})
			if err == nil {
				err = c.Close()
			} else {
				failed++
			}
			if err != nil && !errors.Is(err, syscall.EACCES) {
				t.Fatal(err)
			}
			_, hit = f.Hit()
		}
		if grown := (pages() - before) * int64(os.Getpagesize()); grown > times*reserve/2 {
			t.Errorf("call %d fails: %d opens left %d bytes", n, times, grown)
		}
		if hit == 0 {
			break
		}
	}
	if failed == 0 {
		t.Error("no call failed")
	}
}
