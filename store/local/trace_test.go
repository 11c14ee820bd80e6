package local_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// TestSystemCallsOfCommits compares what the kernel is asked for during whole commits, by another
// process, with testdata/syscalls. TestCallLists sees only what the store asks internal/vfs for. A
// command is a list of steps, with errors to inject into the answers of the kernel:
//
//	commits steps=(save-NAME-V, put-NAME, remove-NAME, …)
//
// Version 3 of save overwrites. A line that begins with ">" is an error that the caller got.
func TestSystemCallsOfCommits(t *testing.T) {
	if dir, task, ok := crash.Traced(); ok {
		tracedCommits(t, dir, task)
		return
	}
	nonce := regexp.MustCompile(`tmp-[0-9a-f]{16}`)
	datadriven.RunTest(t, "testdata/syscalls", func(t *testing.T, d *datadriven.TestData) string {
		o := crash.Tracing{Test: "TestSystemCallsOfCommits", Dir: t.TempDir()}
		for _, a := range d.CmdArgs {
			switch a.Key {
			case "steps":
				o.Task = strings.Join(a.Vals, " ")
			case "inject":
				o.Inject = a.Vals
			}
		}
		calls, out, err := crash.Trace(t.Context(), o)
		if errors.Is(err, crash.ErrNoTrace) && os.Getenv(crash.TraceRequired) == "" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]string{}
		var text strings.Builder
		for _, c := range calls {
			fmt.Fprintln(&text, nonce.ReplaceAllStringFunc(c, func(n string) string {
				if seen[n] == "" {
					seen[n] = fmt.Sprintf("tmp-<nonce%d>", len(seen)+1)
				}
				return seen[n]
			}))
		}
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "> ") {
				text.WriteString(line)
			}
		}
		return text.String()
	})
}

// tracedCommits takes steps in a store below dir.
func tracedCommits(t *testing.T, dir, task string) {
	runtime.LockOSThread() // injections count the calls of a thread
	s := local.New(vfs.OS(), dir+"/run", &local.Options{DirectFrom: local.Buffered})
	for step := range strings.FieldsSeq(task) {
		crash.Mark(" " + step)
		part := strings.Split(step, "-")
		var err error
		switch part[0] {
		case "save":
			err = save(t.Context(), s, part[1], int(part[2][0]-'0'))
		case "put":
			err = s.Put(t.Context(), part[1], []byte("note"), store.PutOptions{})
		case "remove":
			err = s.RemoveTree(t.Context(), part[1])
		default:
			t.Fatalf("unknown step %s", step)
		}
		if err != nil {
			fmt.Println(">", step+":", errs.KindOf(err), "uncertain:", errors.Is(err, store.ErrUncertain))
		}
	}
}
