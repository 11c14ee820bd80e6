package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A tester runs the short tests of packages, and returns those that it finished, passed
// or failed. It fails if a test does.
type tester func(ctx context.Context, pkgs []string) (finished []string, err error)

// module is the path of the library.
const module = "github.com/bivouac-ml/bivouac"

// errFailed says that tests failed, which their output tells.
var errFailed = errors.New("tests failed")

// test runs the rings one by one: the first to its end, the others until the time is
// over.
func test(ctx context.Context, rings [][]string, until time.Time, run tester) error {
	limited, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	var missed []string
	failed := false
	for i, ring := range rings {
		if len(ring) == 0 {
			continue
		}
		within := limited
		if i == 0 {
			within = ctx
		}
		if within.Err() != nil {
			missed = append(missed, ring...)
			continue
		}
		if i > 0 {
			fmt.Printf("%d packages that import them, at distance %d\n", len(ring), i)
		}
		finished, err := run(within, ring)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errFailed):
			failed = true
		case err != nil:
			return err
		}
		missed = append(missed, without(ring, finished)...)
	}
	if len(missed) > 0 {
		fmt.Printf("not run to the end, for lack of time, %d packages that import them: %s\n", len(missed),
			strings.ReplaceAll(" "+strings.Join(missed, " "), " "+module, " .")[1:])
	}
	if failed {
		return errFailed
	}
	return nil
}

// without returns what is in all and not in some.
func without(all, some []string) (out []string) {
	in := map[string]bool{}
	for _, s := range some {
		in[s] = true
	}
	for _, s := range all {
		if !in[s] {
			out = append(out, s)
		}
	}
	return out
}

// goTest returns a tester that calls `go test` in a directory. When the context ends it
// stops the tests with all their processes. It asks for JSON because without it `go test`
// keeps the result of a package until all before it have ended.
func goTest(dir string) tester {
	return func(ctx context.Context, pkgs []string) ([]string, error) {
		cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-short", "-json", "-timeout", "10m"}, pkgs...)...)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		cmd.WaitDelay = time.Second
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		r := &results{w: os.Stdout}
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadBytes('\n')
			if ctx.Err() == nil { // what comes after is about tests that were stopped
				r.take(line)
			}
			if err != nil {
				break
			}
		}
		err = cmd.Wait()
		var exit *exec.ExitError
		switch {
		case r.failed || ctx.Err() == nil && errors.As(err, &exit):
			return r.finished, errFailed
		case ctx.Err() != nil:
			return r.finished, nil
		}
		return r.finished, err
	}
}
