package crash

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ErrNoTrace says that system calls cannot be recorded here: there is no strace, or it must not
// look at other processes.
var ErrNoTrace = errors.New("system calls cannot be recorded here")

// TraceRequired is the name of an environment variable. If it is set, a test that needs Trace
// must fail where it would be skipped.
const TraceRequired = "BIVOUAC_REQUIRE_STRACE"

// The names of the environment variables that tell the child its directory and its task.
const (
	traceDir  = "BIVOUAC_TRACE_DIR"
	traceTask = "BIVOUAC_TRACE_TASK"
)

// Traced returns the directory to work in, the task, and true, in a process that Trace started.
func Traced() (dir, task string, ok bool) {
	dir = os.Getenv(traceDir)
	return dir, os.Getenv(traceTask), dir != ""
}

// Tracing says what Trace does.
type Tracing struct {
	Test string // of the calling test binary, without parts; it finds out by Traced that it is the child
	Task string // for Traced
	Dir  string // exists and is empty
	// Paths, where there are any, are the only files whose calls are recorded and changed.
	Paths []string
	// Inject are expressions of strace, as "fdatasync:error=EIO:when=2". It counts the calls of
	// each thread by itself: a child that is to fail a certain call keeps to one thread.
	Inject []string
}

// Mark makes a line of its own in the list of calls, from a process that Trace started.
func Mark(text string) {
	dir, _, _ := Traced()
	os.Remove(filepath.Join(dir, mark+text)) //nolint:errcheck // there is no such file: only the call counts
}

const mark = "=="

// traced are the system calls that change files or make them durable.
const traced = "openat,mkdirat,mkdir,fallocate,pwrite64,write,ftruncate,fdatasync,fsync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,fcntl"

// Trace runs a test once more, as a child under strace, and returns the system calls that change
// files below o.Dir or make them durable, in the order in which they ended, and what the child
// printed. The error is ErrNoTrace where there is no strace, or it may not trace.
//
// A call has the name of the kernel and names relative to o.Dir:
//
//	create a/b
//	fallocate a/b 8192
//	pwrite64 a/b off=0 len=512
//	fdatasync a/b
//	renameat2 a c RENAME_NOREPLACE
//	fsync .
//	fdatasync a/b: EINTR
func Trace(ctx context.Context, o Tracing) (calls []string, out []byte, err error) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrNoTrace, err)
	}
	dir, err := filepath.EvalSymlinks(o.Dir)
	if err != nil {
		return nil, nil, err
	}
	if probe, err := exec.CommandContext(ctx, strace, "-f", "-qq", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("%w: %w: %s", ErrNoTrace, err, probe)
	}
	log := filepath.Join(filepath.Dir(dir), filepath.Base(dir)+".strace")
	args := []string{"-f", "-y", "-qq", "-s", "0", "-o", log, "-e", "signal=none", "-e", "trace=" + traced}
	for _, p := range o.Paths {
		args = append(args, "-P", filepath.Join(dir, p))
	}
	for _, i := range o.Inject {
		args = append(args, "-e", "inject="+i)
	}
	args = append(args, os.Args[0], "-test.run=^"+regexp.QuoteMeta(o.Test)+"$", "-test.count=1")
	cmd := exec.CommandContext(ctx, strace, args...)
	cmd.Env = append(os.Environ(), traceDir+"="+dir, traceTask+"="+o.Task, "GODEBUG=asyncpreemptoff=1")
	out, err = cmd.CombinedOutput()
	if err != nil {
		return nil, out, fmt.Errorf("the child failed: %w\n%s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return nil, out, err
	}
	calls, err = readTrace(text, dir)
	return calls, out, err
}

// readTrace returns the calls in a log of strace that change what is below dir.
func readTrace(log []byte, dir string) (calls []string, err error) {
	const unfinished = " <unfinished ...>"
	begun := map[string]string{} // by process
	direct := map[string]bool{}  // files with O_DIRECT
	lines := bufio.NewScanner(bytes.NewReader(log))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		pid, line, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			continue
		}
		line = strings.TrimLeft(line, " ")
		if head, ok := strings.CutSuffix(line, unfinished); ok {
			begun[pid] = head
			continue
		}
		if strings.HasPrefix(line, "<... ") {
			_, tail, _ := strings.Cut(line, " resumed>")
			line = begun[pid] + tail
		}
		c := readCall(line, dir)
		if file, ok := strings.CutPrefix(c, "fcntl "); ok {
			name, flag, _ := strings.Cut(file, " ")
			if !direct[name] && !strings.HasPrefix(flag, "+") { // of the standard library
				continue
			}
			direct[name] = strings.HasPrefix(flag, "+")
		}
		if c != "" {
			calls = append(calls, c)
		}
	}
	return calls, lines.Err()
}

var (
	callLine  = regexp.MustCompile(`^(\w+)\((.*)\) += (-?\d+|\?)(?:<[^>]*>)?(?: (E[A-Z0-9]+))?`)
	arguments = regexp.MustCompile(`"([^"]*)"(?:\.\.\.)?|(?:AT_FDCWD|\d+)<([^>]*)>|[^, ]+`)
)

// readCall returns a line of strace as Trace has it, or "" if the call changes nothing below dir.
func readCall(line, dir string) string {
	m := callLine.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	name, errno := m[1], m[4]
	var words, files []string
	at := ""
	for _, a := range arguments.FindAllStringSubmatch(m[2], -1) {
		switch {
		case a[2] != "": // a descriptor: of the file itself, or of the directory that the next name is in
			at = a[2]
			continue
		case a[1] != "":
			file := a[1]
			if !filepath.IsAbs(file) {
				file = filepath.Join(at, file)
			}
			files, at = append(files, file), ""
		default:
			words = append(words, a[0])
		}
	}
	if len(files) == 0 || strings.HasSuffix(name, "write") || name == "pwrite64" {
		files = []string{strings.TrimSuffix(at, " (deleted)")}
	}
	for i, f := range files {
		rel, err := filepath.Rel(dir, f)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") || !filepath.IsAbs(f) {
			return ""
		}
		files[i] = rel
	}
	text := shortCall(name, files, words)
	if text != "" && errno != "" && !strings.HasPrefix(text, mark) {
		text += ": " + errno
	}
	return text
}

// shortCall returns a call with the arguments that matter.
func shortCall(name string, files, words []string) string {
	last := ""
	if len(words) > 0 {
		last = words[len(words)-1]
	}
	switch name {
	case "openat":
		if len(words) == 0 || !strings.Contains(words[0], "O_CREAT") {
			return ""
		}
		return "create " + files[0]
	case "mkdir", "mkdirat":
		return "mkdir " + files[0]
	case "fallocate", "ftruncate":
		return name + " " + files[0] + " " + last
	case "pwrite64":
		return fmt.Sprintf("%s %s off=%s len=%s", name, files[0], last, words[len(words)-2])
	case "write":
		return name + " " + files[0] + " len=" + last
	case "unlinkat", "unlink", "rmdir":
		gone := "unlink"
		if name == "rmdir" || strings.Contains(last, "AT_REMOVEDIR") {
			gone = "rmdir"
		}
		if strings.HasPrefix(files[0], mark) {
			if gone == "rmdir" {
				return ""
			}
			return files[0]
		}
		return gone + " " + files[0]
	case "rename", "renameat":
		return "rename " + strings.Join(files, " ")
	case "renameat2":
		return name + " " + strings.Join(files, " ") + " " + last
	case "link", "linkat":
		return "link " + strings.Join(files, " ")
	case "fcntl":
		if len(words) == 0 || words[0] != "F_SETFL" {
			return ""
		}
		if slices.Contains(strings.Split(words[1], "|"), "O_DIRECT") {
			return "fcntl " + files[0] + " +O_DIRECT"
		}
		return "fcntl " + files[0] + " -O_DIRECT"
	}
	return name + " " + strings.Join(files, " ")
}

// CheckDurable returns an error if a list of calls, as Trace returns it, breaks the commit
// sequence:
//
//   - before a tree of a staging name gets its final name, its data is synced after the last write,
//     and each of its directories after the last change of its names;
//   - when a line "== acked" says that the caller was told, the directory of that name is synced;
//   - before the tree of a step that was renamed away is removed, so is its directory.
//
// staging reports whether the base of a path is a staging name. published is the number of trees
// and files that got their final name.
func CheckDurable(calls []string, staging func(base string) bool) (published int, err error) {
	files, dirs := map[string]bool{}, map[string]bool{} // true: not durable
	var final []string                                  // directories of names that were published
	below := func(dir, name string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
	move := func(of map[string]bool, from, to string) {
		for name, dirty := range of {
			if below(from, name) {
				delete(of, name)
				of[to+name[len(from):]] = dirty
			}
		}
	}
	for i, line := range calls {
		fail := func(format string, args ...any) (int, error) {
			return published, fmt.Errorf("call %d, %q: "+format, append([]any{i, line}, args...)...)
		}
		if strings.HasPrefix(line, mark) {
			for _, dir := range final {
				if strings.HasPrefix(line, mark+" acked") && dirs[dir] {
					return fail("%s was not synced", dir)
				}
			}
			continue
		}
		word := strings.Fields(line)
		if strings.HasPrefix(word[len(word)-1], "E") && strings.Contains(line, ": E") {
			continue // it failed
		}
		name := word[1]
		switch word[0] {
		case "create", "mkdir":
			dirs[filepath.Dir(name)] = true
			if word[0] == "mkdir" {
				dirs[name] = true
			} else {
				files[name] = true
			}
		case "pwrite64", "write", "ftruncate", "fallocate":
			files[name] = true
		case "fdatasync":
			delete(files, name)
		case "fsync":
			delete(files, name)
			delete(dirs, name)
		case "link":
			dirs[filepath.Dir(word[2])] = true
		case "unlink", "rmdir":
			if dir := filepath.Dir(name); dirs[dir] && staging(filepath.Base(name)) && word[0] == "rmdir" &&
				!begunHere(calls[:i], name) {
				return fail("%s was not synced after the name had been moved away", dir)
			}
			delete(files, name)
			delete(dirs, name)
		case "rename", "renameat2":
			to := word[2]
			if staging(filepath.Base(name)) && !staging(filepath.Base(to)) {
				for _, of := range []map[string]bool{files, dirs} {
					for n, dirty := range of {
						if dirty && below(name, n) {
							return fail("%s was not synced", n)
						}
					}
				}
				published++
				final = append(final, filepath.Dir(to))
			}
			if last := word[len(word)-1]; last == "RENAME_EXCHANGE" {
				move(files, to, "\x00")
				move(dirs, to, "\x00")
			}
			move(files, name, to)
			move(dirs, name, to)
			move(files, "\x00", name)
			move(dirs, "\x00", name)
			dirs[filepath.Dir(name)], dirs[filepath.Dir(to)] = true, true
		}
	}
	return published, nil
}

// begunHere reports whether a directory of the name was made by one of the calls, and was not
// renamed: what is removed then is an attempt that was given up.
func begunHere(calls []string, name string) bool {
	made := false
	for _, line := range calls {
		if word := strings.Fields(line); len(word) > 1 {
			switch {
			case word[0] == "mkdir" && word[1] == name:
				made = true
			case strings.HasPrefix(word[0], "rename") && (word[1] == name || len(word) > 2 && word[2] == name):
				made = false
			}
		}
	}
	return made
}
