package vfs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/proof/crash"
)

// TestSystemCalls compares what the kernel is asked for with testdata/syscalls: each operation
// makes the calls that its promise needs, repeats those that a signal interrupted, and reports
// those that fail. Commands, each with errors to inject into the answers of the kernel:
//
//	file    create, allocate, write, truncate, sync and close a file
//	names   make a directory, move and link files, sync a directory
//	remove  remove a file and a directory
//	direct  switch O_DIRECT on and off
//
// A line that begins with ">" is an error that the caller got.
func TestSystemCalls(t *testing.T) {
	if dir, task, ok := crash.Traced(); ok {
		tracedTask(t, vfs.OS(), dir, task)
		return
	}
	datadriven.RunTest(t, "testdata/syscalls", func(t *testing.T, d *datadriven.TestData) string {
		o := crash.Tracing{Test: "TestSystemCalls", Task: d.Cmd, Dir: t.TempDir()}
		for _, a := range d.CmdArgs {
			o.Inject = a.Vals
		}
		if d.Cmd == "direct" {
			if o.Paths = []string{"a"}; len(o.Inject) == 0 && !takesDirect(t) {
				return d.Expected
			}
		}
		calls, out, err := crash.Trace(t.Context(), o)
		if errors.Is(err, crash.ErrNoTrace) && os.Getenv(crash.TraceRequired) == "" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, c := range calls {
			fmt.Fprintln(&text, c)
		}
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "> ") {
				text.WriteString(line)
			}
		}
		return text.String()
	})
}

// takesDirect reports whether the file system of temporary files knows O_DIRECT.
func takesDirect(t *testing.T) bool {
	f, err := vfs.OS().Create(filepath.Join(t.TempDir(), "a"), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return f.SetDirect(true) == nil
}

// tracedTask makes operations and prints which failed, and how.
func tracedTask(t *testing.T, fsys vfs.FS, dir, task string) {
	runtime.LockOSThread() // injections count the calls of a thread
	at := func(name string) string { return filepath.Join(dir, name) }
	tell := func(what string, err error) {
		var no syscall.Errno
		switch {
		case err == nil:
		case errors.Is(err, errors.ErrUnsupported):
			fmt.Println(">", what+": unsupported")
		case errors.As(err, &no):
			fmt.Println(">", what+":", no.Error())
		default:
			fmt.Println(">", what+":", err)
		}
	}
	f, err := fsys.Create(at("a"), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	switch task {
	case "file":
		tell("allocate", f.Allocate(8192))
		_, err = f.WriteAt(make([]byte, 512), 100)
		tell("write", err)
		tell("truncate", f.Truncate(612))
		tell("sync", f.Sync())
	case "names":
		tell("mkdir", fsys.Mkdir(at("d"), 0o777))
		tell("link", fsys.Link(at("a"), at("b")))
		tell("rename", fsys.Rename(at("a"), at("d/a")))
		tell("rename without replacing", fsys.RenameNoReplace(at("b"), at("c")))
		tell("exchange", fsys.Exchange(at("d/a"), at("c")))
		tell("sync of a directory", fsys.SyncDir(at("d")))
	case "remove":
		tell("remove", fsys.Remove(at("a")))
		tell("mkdir", fsys.Mkdir(at("d"), 0o777))
		tell("remove", fsys.Remove(at("d")))
	case "direct":
		tell("direct", f.SetDirect(true))
		tell("indirect", f.SetDirect(false))
	}
	tell("close", f.Close())
}
