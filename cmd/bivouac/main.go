// Command bivouac shows what a training run directory holds, proves that it is
// sound, and demonstrates a training that survives being killed.
//
// Its exit status says what happened:
//
//	0    success
//	1    failure: input or output, permission, no space left, anything not below
//	2    usage: unknown command or flag, malformed value
//	3    not found: the directory, step or data set does not exist
//	4    corrupt or mismatched: stored bytes are damaged, or belong to another run
//	75   preempted: a training got SIGTERM and committed its last step; start it again
//	130  interrupted
//
// A file of this package holds one command.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/errs"
)

// version is set by the linker; see buildVersion for builds without it.
var version string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Exit statuses; see the package comment.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitCorrupt     = 4
	exitPreempted   = bivouac.ExitPreempted
	exitInterrupted = 130
)

const exitCodesHelp = `Exit status: 0 success, 1 failure, 2 usage, 3 not found,
4 corrupt or belonging to another run, 75 preempted, 130 interrupted.`

// run executes the command line and returns the exit status. Errors go to
// stderr on one line, with --json as JSON. A command whose output cannot be
// written ends and fails.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	working, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	out := &output{w: stdout, fail: fail}
	stderr = &locked{w: stderr}
	g := &global{stdout: out, stderr: stderr}
	root := newRootCommand(g)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	asJSON := asksJSON(args)
	watched, ended := observe(working, func(err error) { g.warnAs(asJSON, err) })
	var cmd *cobra.Command
	err := checkCommand(root, args)
	if err == nil {
		cmd, err = root.ExecuteContextC(watched)
	}
	unshown := out.close()
	switch lost, quit := out.failed(); {
	case lost != nil:
		err = lost
	case quit:
		err = unshown // nil if the reader has seen enough
	default:
		err = cmp.Or(err, unshown)
	}
	code := exitCode(ctx, err)
	switch {
	case err == nil:
	case g.machine() || asJSON:
		g.tellJSON(failure{newFailureText(err), code})
	default:
		fmt.Fprintf(stderr, "bivouac: %s\n", oneLine(err)) //nolint:errcheck // there is nowhere to tell it
	}
	ended(cmd, code, err)
	return code
}

// asksJSON reports whether a command line that may be malformed has --json.
func asksJSON(args []string) bool {
	for _, a := range args {
		switch a {
		case "--json", "--json=true", "--jsonl", "--jsonl=true":
			return true
		case "--":
			return false
		}
	}
	return false
}

func exitCode(ctx context.Context, err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, bivouac.ErrPreempted):
		return exitPreempted
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &usage):
		return exitUsage
	}
	switch errs.KindOf(err) {
	case errs.Invalid:
		return exitUsage
	case errs.NotFound:
		return exitNotFound
	case errs.Corrupt, errs.Mismatch:
		return exitCorrupt
	case errs.Canceled:
		return exitInterrupted
	}
	return exitFailure
}
