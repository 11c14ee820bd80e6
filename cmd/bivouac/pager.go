package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bivouac-ml/bivouac/errs"
)

// pagerVariables are the variables of the environment that name the pager, in the order in which
// they count. An empty one, or cat, means that there is no pager.
var pagerVariables = []string{"BIVOUAC_PAGER", "PAGER"}

// pages marks commands whose output goes through a pager if it is longer than the terminal.
const pages = "pages"

// addPager says that the output of commands may be long.
func addPager(cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		if cmd.Annotations == nil {
			cmd.Annotations = map[string]string{}
		}
		cmd.Annotations[pages] = "true"
	}
}

// pagerCommand returns the command of the pager for the shell; "" means none. A machine without
// less, such as a small image, has no pager unless the environment names it.
func pagerCommand(getenv func(string) (string, bool), look func(string) (string, error)) string {
	for _, name := range pagerVariables {
		if v, set := getenv(name); set {
			if v == "cat" {
				return ""
			}
			return v
		}
	}
	if _, err := look("less"); err != nil {
		return ""
	}
	return "less -FRX"
}

// pager keeps what is written until it is longer than the screen. Then it starts a program and
// writes everything there. Output that fits on the screen is written as it is.
type pager struct {
	w       io.Writer // the terminal
	lines   int       // of the screen
	columns int
	start   func() (io.WriteCloser, func() error, error) // starts the program

	mu   sync.Mutex
	kept bytes.Buffer
	to   io.WriteCloser // of the program, once it runs
	wait func() error
	quit bool // the reader of the program has seen enough
	none bool // no program could be started
}

// errQuit is the error of a write after the reader has quit the pager.
var errQuit = errors.New("the pager has ended")

// mostKept bounds what is kept: a line may be long.
const mostKept = 1 << 20

// Write implements io.Writer.
func (p *pager) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.quit:
		return 0, errQuit
	case p.none:
		return p.w.Write(b)
	case p.to == nil:
		p.kept.Write(b)
		if p.rows() < p.lines && p.kept.Len() < mostKept {
			return len(b), nil
		}
		to, wait, err := p.start()
		if err != nil {
			p.none = true
			if _, err := p.w.Write(p.kept.Bytes()); err != nil {
				return 0, err
			}
			p.kept.Reset()
			return len(b), nil
		}
		p.to, p.wait = to, wait
		all := bytes.Clone(p.kept.Bytes())
		p.kept.Reset()
		if _, err := p.to.Write(all); err != nil {
			return 0, p.ended(err)
		}
		return len(b), nil
	}
	n, err := p.to.Write(b)
	return n, p.ended(err)
}

// ended says that the reader has quit, if a write failed because of that.
func (p *pager) ended(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		p.quit = true
		return errQuit
	}
	return err
}

// rows returns how many rows of the screen the kept output takes.
func (p *pager) rows() (n int) {
	for line := range bytes.Lines(p.kept.Bytes()) {
		n += 1 + max(0, len(bytes.TrimSuffix(line, []byte("\n")))-1)/max(1, p.columns)
	}
	return n
}

// close writes what was kept, or waits until the reader has quit the program.
func (p *pager) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to == nil {
		_, err := p.w.Write(p.kept.Bytes())
		p.kept.Reset()
		return err
	}
	p.to.Close() //nolint:errcheck // the program may have ended
	return p.wait()
}

// usePager puts a pager before standard output if a person reads it, and nobody has asked for none.
// The pager gets what the terminal would, colours included.
func (g *global) usePager(cmd *cobra.Command) {
	out, ok := g.stdout.(*output)
	if !ok || g.noPager || g.machine() || os.Getenv("TERM") == "dumb" || !isTerminal(g.stdout) {
		return
	}
	for _, name := range []string{"watch", "raw"} { // output that goes on, and bytes
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return
		}
	}
	command := pagerCommand(os.LookupEnv, exec.LookPath)
	f, _ := underlying(g.stdout).(*os.File)
	columns, lines, err := term.GetSize(int(f.Fd()))
	if command == "" || err != nil || lines < 2 {
		return
	}
	out.pager = &pager{w: out.w, lines: lines, columns: columns, start: func() (io.WriteCloser, func() error, error) {
		return startPager(cmd.Context(), command, f)
	}}
}

// startPager starts the program. An interruption is for the program, which shares the terminal: the
// command goes on and ends when the program does.
func startPager(ctx context.Context, command string, terminal *os.File) (io.WriteCloser, func() error, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "sh", "-c", command)
	cmd.Stdout, cmd.Stderr = terminal, os.Stderr
	to, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, nil, err
	}
	return to, func() error {
		var status *exec.ExitError
		err := cmd.Wait()
		if err == nil || errors.As(err, &status) && status.ExitCode() != 126 && status.ExitCode() != 127 {
			return nil // its status says how it was quit
		}
		return &errs.Error{Kind: errs.IO, Op: "pager", Subject: command, Want: "a program that shows text", Err: err,
			Remedy: "set " + pagerVariables[0] + ", or give --no-pager"}
	}, nil
}
