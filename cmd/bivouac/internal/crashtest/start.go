package crashtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/recording"
)

// ending is how one start of a job ended.
type ending struct {
	killed  bool          // by this test
	failed  string        // what is wrong with an end that was not a kill: exit status, hang
	seconds time.Duration // from start to end
	left    int           // processes that it left behind
	slow    bool          // it did not end in time after SIGTERM
	watcher *watcher
}

// directory is where one run of the job lives.
type directory struct {
	root   string
	starts int
}

func (d *directory) job() string    { return filepath.Join(d.root, "job") }
func (d *directory) output() string { return filepath.Join(d.root, "output.txt") }

// start is one start of the job.
type start struct {
	options Options
	dir     *directory
	limit   time.Duration
	shown   func(*watcher)                       // is called when something was recorded
	lethal  func(*watcher) (bool, time.Duration) // whether to kill it now, and after which delay; may be nil
	tick    time.Duration                        // how often records are read
	rounds  func(*watcher) string                // says whether it goes round in circles
}

// run starts the job and returns when it and all its processes have ended. An error means that the
// test cannot go on.
func (s *start) run(ctx context.Context) (ending, error) {
	s.dir.starts++
	records := filepath.Join(s.dir.root, "records", fmt.Sprint(s.dir.starts))
	for _, dir := range []string{records, s.dir.job()} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return ending{}, system(dir, err)
		}
	}
	output, err := os.OpenFile(s.dir.output(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return ending{}, system(s.dir.output(), err)
	}
	defer output.Close() //nolint:errcheck // the job writes it
	args := make([]string, len(s.options.Command))
	for i, a := range s.options.Command {
		args[i] = strings.ReplaceAll(a, "{dir}", s.dir.job())
	}
	mark := runVariable + "=" + records
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.Env = append(os.Environ(), dirVariable+"="+s.dir.job(), recording.Variable+"="+records, mark)
	separate(cmd)
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return ending{}, notStarted(args[0], err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	e := ending{watcher: newWatcher(records)}
	err = s.follow(ctx, &e, cmd.Process.Pid, mark, done)
	e.seconds = time.Since(begin)
	if err != nil {
		signalGroup(cmd.Process.Pid, syscall.SIGKILL)
		sweep(cmd.Process.Pid, mark)
		return e, err
	}
	if e.killed && s.options.Signal == SignalKill {
		sweep(cmd.Process.Pid, mark)
	} else {
		e.left = leave(cmd.Process.Pid, mark, s.options.Grace, ctx.Done())
	}
	return e, errors.Join(e.watcher.poll(), ctx.Err())
}

// follow reads records until the job has ended, and kills it on the way. It returns after the job
// was waited for.
func (s *start) follow(ctx context.Context, e *ending, leader int, mark string, done <-chan error) error {
	end := func() error { // for a job that must not go on
		signalGroup(leader, syscall.SIGKILL)
		for _, pid := range strays(mark) {
			signalProcess(pid, syscall.SIGKILL)
		}
		return <-done
	}
	ticks := time.NewTicker(s.tick)
	defer ticks.Stop()
	begin := time.Now()
	limit := time.After(s.limit)
	seen := 0
	armed := s.lethal == nil
	var fuse, patience <-chan time.Time
	for {
		select {
		case err := <-done:
			e.killed = e.killed && (err != nil || s.options.Signal == SignalTerm)
			if !e.killed && err != nil {
				e.failed = "ended with " + err.Error() + s.dir.tail()
			}
			return nil
		case <-ctx.Done():
			_ = end()
			return ctx.Err()
		case <-limit:
			_ = end()
			e.killed, e.failed = false, fmt.Sprintf("did not end in %v%s", s.limit.Round(time.Millisecond), s.dir.tail())
			return nil
		case <-patience:
			e.slow = true
			_ = end()
			return nil
		case <-fuse:
			fuse, e.killed = nil, true
			if s.options.Signal == SignalTerm {
				signalGroup(leader, syscall.SIGTERM)
				patience = time.After(s.options.Grace)
				continue
			}
			e.killed = end() != nil
			return nil
		case <-ticks.C:
			if err := e.watcher.poll(); err != nil {
				_ = end()
				return err
			}
			if n := e.watcher.count(); n > seen {
				seen = n
				s.shown(e.watcher)
				if text := s.rounds(e.watcher); text != "" {
					_ = end()
					e.killed, e.failed = false, text
					return nil
				}
			}
			if !armed && time.Since(begin) >= s.options.Warmup {
				if now, delay := s.lethal(e.watcher); now {
					armed, fuse = true, time.After(delay)
				}
			}
		}
	}
}

// notStarted is the error of a command that cannot be started.
func notStarted(name string, err error) error {
	kind := errs.IO
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		kind = errs.NotFound
	} else if errors.Is(err, fs.ErrPermission) {
		kind = errs.Permission
	}
	return &errs.Error{Kind: kind, Op: "crashtest", Subject: name, Want: "a program", Err: err}
}

// longest is how much of a line of output errors show.
const longest = 200

// tail returns the last lines of the output of a run, for an error.
func (d *directory) tail() string {
	b, err := os.ReadFile(d.output())
	if err != nil || len(bytes.TrimSpace(b)) == 0 {
		return ", without output"
	}
	var lines []string
	for line := range strings.SplitSeq(string(b), "\n") {
		line = strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return ' ' // a terminal would obey it
			}
			return r
		}, line)
		if len(line) > longest {
			line = strings.ToValidUTF8(line[:longest], "") + "…"
		}
		if line = strings.TrimSpace(line); strings.Trim(line, "^~ ") != "" { // Python underlines code
			lines = append(lines, line)
		}
	}
	return "; its last output: " + strings.Join(lines[max(0, len(lines)-3):], "; ")
}
