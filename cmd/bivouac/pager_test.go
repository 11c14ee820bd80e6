package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// program stands for a pager. It takes some bytes, and then its reader quits.
type program struct {
	bytes.Buffer
	most   int
	closed bool
}

// Write implements io.Writer.
func (p *program) Write(b []byte) (int, error) {
	if p.Len()+len(b) > p.most {
		return 0, syscall.EPIPE
	}
	return p.Buffer.Write(b)
}

// Close implements io.Closer.
func (p *program) Close() error { p.closed = true; return nil }

// TestPagerGetsWhatDoesNotFit draws output in pieces. What fits on the screen is written as it is;
// all of a longer one goes to the program, whole and in order, or to the terminal if there is no
// program.
func TestPagerGetsWhatDoesNotFit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const lines, columns = 6, 10
		var screen bytes.Buffer
		to := &program{most: 1 << 20}
		broken := rapid.Bool().Draw(rt, "no program")
		p := &pager{w: &screen, lines: lines, columns: columns, start: func() (io.WriteCloser, func() error, error) {
			if broken {
				return nil, nil, errors.New("no such program")
			}
			return to, func() error { return nil }, nil
		}}
		var all string
		for _, piece := range rapid.SliceOf(rapid.StringMatching(`[ab\n]{0,12}`)).Draw(rt, "pieces") {
			all += piece
			if n, err := p.Write([]byte(piece)); n != len(piece) || err != nil {
				rt.Fatalf("%d, %v", n, err)
			}
		}
		if err := p.close(); err != nil {
			rt.Fatal(err)
		}
		rows := 0
		for line := range strings.Lines(all) {
			rows += 1 + max(0, len(strings.TrimSuffix(line, "\n"))-1)/columns
		}
		onScreen, paged := all, ""
		if rows >= lines && !broken {
			onScreen, paged = "", all
		}
		if screen.String() != onScreen || to.String() != paged || to.closed != (paged != "") {
			rt.Fatalf("%d rows: on the screen %q, in the program %q, of %q", rows, &screen, to, all)
		}
	})
}

// After the reader has quit, writes say so, and the command ends with success.
func TestPagerIsQuit(t *testing.T) {
	to := &program{most: 100}
	ended := false
	p := &pager{w: io.Discard, lines: 3, columns: 80, start: func() (io.WriteCloser, func() error, error) {
		return to, func() error { ended = true; return nil }, nil
	}}
	var cause error
	out := &output{w: io.Discard, pager: p, fail: func(err error) { cause = err }}
	for range 1000 {
		if _, err := out.Write([]byte("a line\n")); err != nil {
			break
		}
	}
	lost, quit := out.failed()
	if err := out.close(); err != nil || lost != nil || !quit || !ended || !errors.Is(cause, errQuit) {
		t.Errorf("%v, %v, quit %t, ended %t, cause %v", err, lost, quit, ended, cause)
	}
}

func TestPagerCommand(t *testing.T) {
	here := func(string) (string, error) { return "/usr/bin/less", nil }
	gone := func(string) (string, error) { return "", errors.New("not in PATH") }
	if got := pagerCommand(func(string) (string, bool) { return "", false }, gone); got != "" {
		t.Errorf("without less: %q", got)
	}
	for want, env := range map[string]map[string]string{
		"less -FRX": {},
		"most":      {"PAGER": "most"},
		"bat":       {"PAGER": "most", "BIVOUAC_PAGER": "bat"},
		"":          {"PAGER": "most", "BIVOUAC_PAGER": ""},
	} {
		if got := pagerCommand(func(k string) (string, bool) { v, ok := env[k]; return v, ok }, here); got != want {
			t.Errorf("%v: %q, want %q", env, got, want)
		}
	}
	if got := pagerCommand(func(string) (string, bool) { return "cat", true }, here); got != "" {
		t.Errorf("cat: %q", got)
	}
}
