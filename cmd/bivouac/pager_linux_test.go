package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// onTerminal runs the command on a terminal of 24 rows and returns what it wrote there.
func onTerminal(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip("no terminals here: ", err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), "BIVOUAC_TEST_COMMAND=bivouac", "TERM=xterm", "NO_COLOR=1"), env...)
	cmd.Stdout = slave
	var stderr bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &stderr, time.Minute
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	got, err := io.ReadAll(master)
	if err != nil && !errors.Is(err, syscall.EIO) { // the other end is closed
		t.Fatal(err)
	}
	err = cmd.Wait()
	if stderr.Len() > 0 {
		t.Logf("stderr: %s", &stderr)
	}
	return strings.ReplaceAll(string(got), "\r\n", "\n"), err
}

// Long output on a terminal goes through the pager, short output and JSON do not, and quitting the
// pager is no failure.
func TestPagerOnATerminal(t *testing.T) {
	paged := []string{"BIVOUAC_PAGER=sed s/^/P:/"}
	long, err := onTerminal(t, paged, "ops")
	if lines := strings.Count(long, "\n"); err != nil || lines < 30 || strings.Count(long, "P:") != lines {
		t.Errorf("%v: %d lines, %d of them from the pager", err, strings.Count(long, "\n"), strings.Count(long, "P:"))
	}
	for _, args := range [][]string{{"version"}, {"ops", "--json"}, {"ops", "--no-pager"}} {
		got, err := onTerminal(t, paged, args...)
		if err != nil || got == "" || strings.Contains(got, "P:") {
			t.Errorf("%q: %v, %.100q", args, err, got)
		}
	}
	if got, err := onTerminal(t, paged, "help", "verify"); err != nil || !strings.Contains(got, "P:Usage") {
		t.Errorf("%v, %.100q", err, got)
	}
	if got, err := onTerminal(t, []string{"BIVOUAC_PAGER=head -n 2"}, "ops"); err != nil || strings.Count(got, "\n") != 2 {
		t.Errorf("%v, %q", err, got)
	}
	_, err = onTerminal(t, []string{"BIVOUAC_PAGER=nosuch-pager"}, "ops") // nothing was shown
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != exitFailure {
		t.Errorf("a pager that is not there: %v", err)
	}
}
