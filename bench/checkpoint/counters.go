package main

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/bench/internal/turns"
)

// measured does the work and reads the process's counters around it. They are
// Linux's; elsewhere only time and allocations are told.
func measured(work func() error) (answer, error) {
	debug.FreeOSMemory()
	os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) //nolint:errcheck // if this fails, the peak is the peak since the start
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	resident, read, written := procField("status", "VmRSS"), procField("io", "rchar"), procField("io", "wchar")
	start, cpu := time.Now(), turns.CPU()
	err := work()
	a := answer{Seconds: time.Since(start).Seconds(), CPU: turns.CPU() - cpu}
	a.Read, a.Written = procField("io", "rchar")-read, procField("io", "wchar")-written
	a.Peak = max(0, procField("status", "VmHWM")-resident)
	runtime.ReadMemStats(&after)
	a.Alloc = int64(after.TotalAlloc - before.TotalAlloc)
	return a, err
}

// procField reads a number of bytes from /proc/self, or returns 0 if it is missing.
func procField(file, name string) int64 {
	f, err := os.Open("/proc/self/" + file)
	if err != nil {
		return 0
	}
	defer f.Close() //nolint:errcheck // nothing was written
	for s := bufio.NewScanner(f); s.Scan(); {
		text, ok := strings.CutPrefix(s.Text(), name+":")
		if !ok {
			continue
		}
		number, unit, _ := strings.Cut(strings.TrimSpace(text), " ")
		n, _ := strconv.ParseInt(number, 10, 64)
		if unit == "kB" {
			n <<= 10
		}
		return n
	}
	return 0
}
