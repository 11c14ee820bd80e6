package crashtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// strays returns the processes that have a mark in their environment. They are the job's, also
// if they left its group. A system without /proc lists no processes.
func strays(mark string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ")) // empty for zombies
		if err == nil && bytes.Contains(environ, []byte(mark)) {
			out = append(out, pid)
		}
	}
	return out
}

// listed reports whether the system lists processes with their environment.
func listed() bool {
	_, err := os.ReadFile("/proc/self/environ")
	return err == nil
}

// sweep kills all processes of a job, and returns when they are gone.
func sweep(leader int, mark string) {
	signalGroup(leader, syscall.SIGKILL)
	for range 200 {
		left := strays(mark)
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			signalProcess(pid, syscall.SIGKILL)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// leave waits until the processes that a job left behind have ended, kills those that stay longer
// than grace, and returns how many these were.
func leave(leader int, mark string, grace time.Duration, stop <-chan struct{}) int {
	end := time.Now().Add(grace)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		left := strays(mark)
		if len(left) == 0 && (listed() || !signalGroup(leader, 0)) { // a group may have zombies that nobody waits for
			return 0
		}
		select {
		case <-stop:
			end = time.Time{}
		case <-time.After(pause):
		}
		if time.Now().After(end) {
			sweep(leader, mark)
			return max(len(left), 1)
		}
	}
}
