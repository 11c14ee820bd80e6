// Package ffmpeg runs the programs ffmpeg and ffprobe. Their output comes through a pipe, which is
// read within a time. Errors have what the programs said.
package ffmpeg

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Program is ffmpeg or ffprobe.
type Program struct {
	Path  string
	op    string        // of errors
	stall time.Duration // how long it may be silent
	major int           // of its version
	minor int
}

// oldest is the oldest version of ffmpeg that has all options that are used here.
var oldest = [2]int{4, 4}

const install = "install the package ffmpeg, which has ffmpeg and ffprobe: " +
	"apt-get install ffmpeg, dnf install ffmpeg, apk add ffmpeg or brew install ffmpeg"

// programs are the programs that were asked for their version, by path, time and size.
var programs sync.Map

// AtLeast reports whether a program has a version or a later one.
func (p Program) AtLeast(major, minor int) bool {
	return p.major > major || p.major == major && p.minor >= minor
}

// Find finds a program in PATH and asks for its version, once. op is what errors say was done. The
// program ends with an error when it writes nothing for the time stall.
func Find(ctx context.Context, op, name string, stall time.Duration) (Program, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return Program{}, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: name, Want: "the program in PATH",
			Got: "no such program", Remedy: install}
	}
	key := path
	if info, err := os.Stat(path); err == nil {
		key = fmt.Sprint(path, " ", info.ModTime().UnixNano(), " ", info.Size())
	}
	if known, ok := programs.Load(key); ok {
		p := known.(Program)
		p.op, p.stall = op, stall
		return p, nil
	}
	p := Program{Path: path, op: op, stall: stall}
	first, known := "", false
	err = p.Lines(ctx, []string{"-version"}, nil, func(line []byte) error {
		if first == "" {
			first = string(line[:min(len(line), 100)])
			p.major, p.minor, known = parseVersion(first, name)
		}
		return nil
	})
	switch {
	case err != nil:
		return Program{}, err
	case !known:
		return Program{}, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: path,
			Want: "a program that says its version", Got: strconv.Quote(first), Remedy: install}
	case !p.AtLeast(oldest[0], oldest[1]):
		return Program{}, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: path,
			Want: fmt.Sprintf("version %d.%d or later", oldest[0], oldest[1]),
			Got:  fmt.Sprintf("%d.%d", p.major, p.minor), Remedy: install}
	}
	programs.Store(key, p)
	return p, nil
}

// parseVersion reads the first line that a program prints about itself. A build that was made
// between two versions is as new as can be.
func parseVersion(line, name string) (major, minor int, ok bool) {
	text, ok := strings.CutPrefix(line, name+" version ")
	if !ok {
		return 0, 0, false
	}
	text, _, _ = strings.Cut(text, " ")
	if strings.HasPrefix(text, "N-") || strings.HasPrefix(text, "git-") {
		return 1 << 20, 0, true
	}
	number := func() int {
		n := 0
		for n < len(text) && n < 6 && text[n] >= '0' && text[n] <= '9' {
			n++
		}
		v, err := strconv.Atoi(text[:n])
		if err != nil {
			v = -1
		}
		text = strings.TrimPrefix(text[n:], ".")
		return v
	}
	text = strings.TrimPrefix(text, "n")
	major = number()
	return major, max(0, number()), major >= 0
}

// Process is a program that runs. Its output comes through a pipe.
type Process struct {
	cmd     *exec.Cmd
	op      string
	pipe    *os.File
	said    tail
	errors  *os.File // what it says, if nobody copies that to said yet
	stall   time.Duration
	waited  bool
	outcome error // after wait
}

// Start starts the program without input. It inherits files, from descriptor 3 on.
func (p Program) Start(args []string, inherit []*os.File) (*Process, error) {
	return p.StartFrom(nil, args, inherit)
}

// StartFrom starts the program with an input, or without one if in is nil. With an input the caller
// calls Listen, so that no goroutine waits for a process that has nothing to do.
func (p Program) StartFrom(in *os.File, args []string, inherit []*os.File) (*Process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, &errs.Error{Kind: errs.IO, Op: p.op, Subject: p.Path, Err: err}
	}
	if c, err := w.SyscallConn(); err == nil {
		c.Control(widenPipe) //nolint:errcheck // advice
	}
	x := &Process{cmd: exec.Command(p.Path, args...), op: p.op, pipe: r, stall: p.stall}
	x.cmd.Stdout, x.cmd.Stderr, x.cmd.ExtraFiles = w, &x.said, inherit
	var said *os.File
	if in != nil {
		x.cmd.Stdin = in
		if x.errors, said, err = os.Pipe(); err != nil {
			r.Close() //nolint:errcheck // nothing was read
			w.Close() //nolint:errcheck // nothing was written
			return nil, &errs.Error{Kind: errs.IO, Op: p.op, Subject: p.Path, Err: err}
		}
		x.cmd.Stderr = said
	}
	x.cmd.WaitDelay = time.Second // for what a killed process has started
	separate(x.cmd)
	err = x.cmd.Start()
	w.Close() //nolint:errcheck // the process has its own
	if said != nil {
		said.Close() //nolint:errcheck // the process has its own
	}
	if err != nil {
		r.Close() //nolint:errcheck // nothing was read
		if said != nil {
			x.errors.Close() //nolint:errcheck // nothing was read
		}
		return nil, &errs.Error{Kind: errs.IO, Op: p.op, Subject: p.Path, Err: err}
	}
	return x, nil
}

// Read implements io.Reader. It fails when no output comes for the time of a stall.
func (x *Process) Read(b []byte) (int, error) {
	n, err := x.pipe.Read(b)
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		err = &errs.Error{Kind: errs.Exhausted, Op: x.op, Subject: x.cmd.Path,
			Want: fmt.Sprintf("output within %v", x.stall), Got: "none",
			Remedy: "the file may be damaged; raise Stall if the disk is slow"}
	}
	return n, err
}

// Allow gives the process its time anew. The reading ends when ctx does. release must be called.
func (x *Process) Allow(ctx context.Context) (release func() bool) {
	end := time.Now().Add(x.stall)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	x.pipe.SetReadDeadline(end) //nolint:errcheck // pipes have deadlines
	return context.AfterFunc(ctx, func() {
		x.pipe.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // pipes have deadlines
	})
}

// Listen copies what the process says, until stop is called. A process that nobody listens to may
// wait when it says a lot.
func (x *Process) Listen() (stop func()) {
	x.errors.SetReadDeadline(time.Time{}) //nolint:errcheck // pipes have deadlines
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(&x.said, x.errors) //nolint:errcheck // what was read counts
	}()
	return func() {
		x.errors.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // pipes have deadlines
		<-ended
	}
}

// Wait waits for the end of the process and returns an error unless it was a success.
func (x *Process) Wait() error {
	if !x.waited {
		x.waited = true
		x.outcome = x.cmd.Wait()
		x.pipe.Close() //nolint:errcheck // it was read
		if x.errors != nil {
			x.errors.SetReadDeadline(time.Now().Add(time.Second)) //nolint:errcheck // pipes have deadlines
			io.Copy(&x.said, x.errors)                            //nolint:errcheck // what was read counts
			x.errors.Close()                                      //nolint:errcheck // it was read
		}
	}
	return x.outcome
}

// End kills the process and waits for it.
func (x *Process) End() {
	if !x.waited {
		kill(x.cmd)
		x.Wait() //nolint:errcheck // the program was killed
	}
}

// Failed returns the error of a process whose output ended early, with what it said.
func (x *Process) Failed(want string) error {
	err := x.Wait()
	got := "the end of its output"
	if err != nil {
		got = err.Error()
	}
	e := &errs.Error{Kind: errs.Corrupt, Op: x.op, Subject: x.cmd.Path, Want: want, Got: got}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() < 0 {
		e.Kind = errs.IO // a signal
		e.Err = errKilled
	}
	if text := x.said.String(); text != "" {
		e.Got += ", which says " + strconv.Quote(text)
	}
	return e
}

var errKilled = errors.New("the program was killed")

// IsKilled reports whether an error of Failed is that a signal ended the program.
func IsKilled(err error) bool { return errors.Is(err, errKilled) }

// Path returns the path of the program.
func (x *Process) Path() string { return x.cmd.Path }

// PID returns the number of the process.
func (x *Process) PID() int { return x.cmd.Process.Pid }

// Said returns the end of what the process has said.
func (x *Process) Said() string { return x.said.String() }

// Drain reads the rest of the output for a quarter of the time of a stall, and waits for the end of
// the process, which Said and Failed explain.
func (x *Process) Drain() {
	x.pipe.SetReadDeadline(time.Now().Add(x.stall / 4)) //nolint:errcheck // pipes have deadlines
	io.Copy(io.Discard, x.pipe)                         //nolint:errcheck // the process ends
	x.Wait()                                            //nolint:errcheck // Failed has its outcome
}

// maxLine bounds a line of ffprobe.
const maxLine = 1 << 16

// PipeSize is how many bytes of frames wait in a pipe, and are written at once.
const PipeSize = 1 << 20

// Lines runs the program and calls each with every line of its output.
func (p Program) Lines(ctx context.Context, args []string, inherit []*os.File,
	each func(line []byte) error) error {
	x, err := p.Start(args, inherit)
	if err != nil {
		return err
	}
	defer x.End()
	in := bufio.NewReaderSize(x, maxLine)
	for {
		release := x.Allow(ctx)
		line, err := in.ReadSlice('\n')
		release()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil || len(line) > 0 && errors.Is(err, io.EOF):
			if err := each(bytes.TrimRight(line, "\r\n")); err != nil {
				return err
			}
		case errors.Is(err, io.EOF):
			if x.Wait() != nil {
				return x.Failed("a description of the file")
			}
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
			return &errs.Error{Kind: errs.Corrupt, Op: p.op, Subject: p.Path,
				Want: fmt.Sprintf("lines of at most %d bytes", maxLine), Got: "a longer line"}
		default:
			return err
		}
	}
}

// tail keeps the end of what a program says.
type tail struct {
	mu   sync.Mutex
	text []byte
	cut  bool
}

const maxTail = 1000

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b[max(0, len(b)-maxTail):]...)
	if n := len(t.text) - maxTail; n > 0 || len(b) > maxTail {
		t.text, t.cut = append(t.text[:0], t.text[max(0, n):]...), true
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(t.text), "?")), " ")
	text = withoutAddresses(text)
	if t.cut {
		text = "… " + text
	}
	return text
}

// withoutAddresses leaves out where in memory a decoder is, as in "[h264 @ 0x55d4]", so that equal
// errors have equal texts.
func withoutAddresses(text string) string {
	for {
		at := strings.Index(text, " @ 0x")
		if at < 0 {
			return text
		}
		end := strings.IndexByte(text[at:], ']')
		if end < 0 {
			end = len(text) - at
		}
		text = text[:at] + text[at+end:]
	}
}
