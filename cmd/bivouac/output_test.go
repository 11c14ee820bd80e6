package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// command runs a command line and returns what it wrote and its exit status.
func command(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(context.Background(), args, &out, &err)
	return out.String(), err.String(), code
}

// hostile are names that a terminal would obey, or that pass for lines of output.
var hostile = []string{"red\x1b[31m", "line\nsound    all  7 files", "back\rspace\b", "turn\u202egpj.exe", "csi\u009b31m", "bell\a", "bad\xffutf"}

// TestHostileNames checks hostile names and texts in a checkpoint: no command prints a character
// that a terminal obeys, or an additional line.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	save := func(name string, label func(string) string) string {
		path := filepath.Join(dir, name)
		root := tree.NewDict()
		for _, h := range hostile {
			if !strings.Contains(h, "\xff") { // JSON has none
				root.Set(label(h), tree.NewLeaf(tensor.FromSlice([]float32{1, 2})))
			}
		}
		if err := checkpoint.Save(context.Background(), path, root, nil); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bad := save("bad", func(s string) string { return s })
	good := save("good", func(s string) string { return "n" + hex.EncodeToString([]byte(s)) })
	odd := filepath.Join(dir, "odd\x1b[2J\nname")
	if err := os.Rename(bad, odd); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"info"}, {"info", "--tree"}, {"info", "--files"}, {"info", "--json"}, {"info", "--contents"}, {"ls"}, {"verify"}, {"verify", "--json"}, {"repair"}} {
		got, errText, code := command(t, append(args, odd)...)
		if code != 0 {
			t.Errorf("%s: exit status %d: %s", args, code, errText)
		}
		want, _, _ := command(t, append(args, good)...)
		clean(t, args, got+errText)
		if a, b := strings.Count(got, "\n"), strings.Count(want, "\n"); a != b && !strings.Contains(strings.Join(args, " "), "files") {
			t.Errorf("%s: %d lines, with plain names %d:\n%s", args, a, b, got)
		}
	}
	for _, h := range hostile {
		for _, args := range [][]string{{"cat", odd, h}, {"cat", good, h}, {"extract", odd, h, "-o", filepath.Join(dir, "x.npz"), "--overwrite"}, {"diff", odd, good}, {"info", h}, {h}, {"info", "--" + h, good}} {
			out, errText, _ := command(t, args...)
			clean(t, args, out+errText)
		}
	}
}

// clean fails when text has characters that a terminal obeys.
func clean(t *testing.T, args []string, text string) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && obeyed(r) }); i >= 0 {
		t.Errorf("%q prints %q", args, text[max(0, i-20):min(len(text), i+20)])
	}
}

// TestPrintable checks that printed text has nothing that a terminal obeys, and that plain text
// does not change.
func TestPrintable(t *testing.T) {
	for _, s := range append([]string{"plain", "\x1b", "n\\\x1b"}, hostile...) {
		p := printable(s)
		if strings.ContainsFunc(p, obeyed) {
			t.Errorf("printable(%q) = %q", s, p)
		}
	}
	for _, s := range []string{"plain", `a\b`, "ä ß 漢 😀", ""} {
		if printable(s) != s {
			t.Errorf("printable(%q) = %q", s, printable(s))
		}
	}
}

// TestJSONOfHostileText: what JSON lets stand and a terminal obeys is escaped, and is
// read as it was.
func TestJSONOfHostileText(t *testing.T) {
	for _, h := range hostile[:len(hostile)-1] {
		h += "\U000E0001"
		b, err := encodeJSON(map[string]string{"k": h}, "  ")
		var back map[string]string
		if err == nil {
			err = json.Unmarshal(b, &back)
		}
		if err != nil || back["k"] != h {
			t.Errorf("%q came back as %q, %v", h, back["k"], err)
		}
		clean(t, nil, string(b))
	}
}

// full takes a fixed number of bytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

// TestLostOutput: a command fails when its output is cut, wherever that happens, and
// ends its work.
func TestLostOutput(t *testing.T) {
	whole, _, _ := command(t, "ops")
	for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		var stderr bytes.Buffer
		if code := run(context.Background(), []string{"ops"}, &full{n}, &stderr); code != exitFailure || !strings.Contains(stderr.String(), "standard output") {
			t.Errorf("after %d bytes: exit status %d: %s", n, code, &stderr)
		}
	}
	var stderr bytes.Buffer
	if code := run(context.Background(), []string{"ops"}, &full{len(whole)}, &stderr); code != exitOK {
		t.Errorf("with room for all: exit status %d: %s", code, &stderr)
	}
}

// TestFailureText: a program that reads the JSON of an error finds its parts.
func TestFailureText(t *testing.T) {
	err := errs.Wrap("load", "run/7", &errs.Error{Kind: errs.Corrupt, Subject: `array "w"`, Want: "a", Got: "b\nc", Remedy: "r"})
	want := failureText{Kind: "corrupt", Message: `load: run/7: array "w": corrupt: want a, got b; c (r)`, Op: "load", Subject: `array "w"`, Want: "a", Got: "b\nc", Remedy: "r"}
	if got := newFailureText(err); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestNoMemberOutside: no archive gets a member that leads out of where it is unpacked.
func TestNoMemberOutside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c")
	root := tree.NewDict()
	for _, name := range []string{"../up", "/abs", "a/../../up", `..\up`, "ok/below"} {
		root.Set(name, tree.NewLeaf(tensor.FromSlice([]float32{1})))
	}
	if err := checkpoint.Save(context.Background(), path, root, nil); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "x.npz")
	for _, name := range []string{"../up", "/abs", "a/../../up", `..\up`} {
		if _, text, code := command(t, "extract", path, name, "-o", out); code != exitFailure || !strings.Contains(text, "stays inside") {
			t.Errorf("%s: exit status %d: %s", name, code, text)
		}
	}
	if _, text, code := command(t, "convert", path, out); code != exitFailure {
		t.Errorf("convert: exit status %d: %s", code, text)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("the archive was written")
	}
	if _, text, code := command(t, "extract", path, "ok/below", "-o", out); code != exitOK {
		t.Errorf("a name inside: exit status %d: %s", code, text)
	}
}
