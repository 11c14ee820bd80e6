package pages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A shell block of a page is of one of two kinds.
//
// A session has lines that begin with "$ ": the commands. The lines below a command are its output.
// The test runs the sessions of a page in their order, in one directory that has the command
// bivouac, the testdata of the module, and the files of the page. A file of the page is a block
// below a comment with its name:
//
//	<!-- file: rules.yaml -->
//
// A list has commands and no output. The test checks that the commands, flags and make targets of a
// list exist.
var (
	fence    = regexp.MustCompile("(?m)^(?:<!-- file: (\\S+) -->\n)?```(\\w*)\n((?s:.*?))^```$")
	indented = regexp.MustCompile(`(?m)^    (?:bivouac|make|go) .*$`)
	command  = regexp.MustCompile(`(?m)^(?:\./)?(?:bivouac|make|go|openssl) .*$`)
	prompt   = regexp.MustCompile(`(?m)^\$ `)
)

// notRun are the sessions that the test does not run, by page and first command, with the reason.
var notRun = map[string]string{}

// varies are the parts of outputs that differ from run to run or from machine to machine. Two
// outputs are equal if they are equal after these parts were replaced.
var varies = []struct {
	expr *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\d+(\.\d+)? KiB on the disk`), "N KiB on the disk"}, // the block size
}

func masked(s string) string {
	for _, v := range varies {
		s = v.expr.ReplaceAllString(s, v.by)
	}
	return s
}

// Sessions print what the page shows, and the commands of lists exist. -update writes the outputs
// into the pages.
func TestShellBlocks(t *testing.T) {
	bin := builtCommand(t)
	t.Run("Sessions", func(t *testing.T) { testSessions(t, bin) })
	t.Run("Lists", func(t *testing.T) { testLists(t, bin) })
}

func testSessions(t *testing.T, bin string) {
	pages := documents(t)
	for file, text := range pages {
		if strings.Contains(filepath.ToSlash(file), "/docs/operators/") || !prompt.MatchString(text) {
			delete(pages, file)
		}
	}
	if len(pages) == 0 {
		t.Fatal("want pages with sessions, got none")
	}
	unused := map[string]bool{}
	for key := range notRun {
		unused[key] = true
	}
	for file, text := range pages {
		s, err := newShell(t.TempDir(), bin)
		if err != nil {
			t.Fatal(err)
		}
		want, err := s.filled(text, func(first string) bool {
			key := strings.TrimPrefix(filepath.ToSlash(file), module+"/") + ": " + first
			delete(unused, key)
			return notRun[key] == ""
		})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if want == text {
			continue
		}
		if !*update {
			t.Errorf("%s: a session prints something else (run go test ./proof/pages -run TestShellBlocks -update):\n%s",
				file, firstDifference(text, want))
		} else if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for key := range unused {
		t.Errorf("notRun has %q, which no page has", key)
	}
}

// builtCommand returns the path of the command, built from the sources.
func builtCommand(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "bivouac")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/bivouac")
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// A shell runs the sessions of one page.
type shell struct{ dir string }

func newShell(dir, bin string) (*shell, error) {
	data, err := filepath.Abs(filepath.Join(module, "testdata"))
	if err != nil {
		return nil, err
	}
	return &shell{dir: dir}, errors.Join(
		os.Symlink(bin, filepath.Join(dir, "bivouac")),
		os.Symlink(data, filepath.Join(dir, "testdata")))
}

// filled returns text with the outputs of its sessions. A session that runs refuses stays.
func (s *shell) filled(text string, runs func(first string) bool) (string, error) {
	var failed error
	return fence.ReplaceAllStringFunc(text, func(old string) string {
		m := fence.FindStringSubmatch(old)
		name, body := m[1], m[3]
		if failed != nil {
			return old
		}
		if name != "" {
			failed = os.WriteFile(filepath.Join(s.dir, name), []byte(body), 0o666)
			return old
		}
		if m[2] == "go" || !prompt.MatchString(body) {
			return old
		}
		commands, outputs := session(body)
		if len(commands) == 0 {
			failed = fmt.Errorf("want a session that begins with a command, got %.60q", body)
			return old
		}
		if m[2] != "sh" {
			failed = fmt.Errorf("want a session in a block of sh, got a block of %q: %s", m[2], commands[0])
			return old
		}
		if !runs(commands[0]) {
			return old
		}
		var out strings.Builder
		for i, c := range commands {
			got, err := s.run(c)
			if err != nil {
				failed = err
				return old
			}
			if masked(got) == masked(outputs[i]) {
				got = outputs[i]
			}
			out.WriteString("$ " + c + "\n" + got)
		}
		return "```sh\n" + out.String() + "```"
	}), failed
}

// session returns the commands of a session and the output of each. It returns nothing if there is
// output before the first command.
func session(body string) (commands, outputs []string) {
	for line := range strings.Lines(body) {
		if c, ok := strings.CutPrefix(line, "$ "); ok {
			commands, outputs = append(commands, strings.TrimSuffix(c, "\n")), append(outputs, "")
		} else if len(commands) == 0 {
			return nil, nil
		} else {
			outputs[len(outputs)-1] += line
		}
	}
	return commands, outputs
}

// run returns what a command prints. Blanks at the ends of lines are left out.
func (s *shell) run(command string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C", "COLUMNS=", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return blanks.ReplaceAllString(string(out), ""), nil
}

var blanks = regexp.MustCompile(`(?m)[ \t]+$`)

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d\n  page: %s\n  got:  %s", i+1, x[i], y[i])
		}
	}
	return "one is longer"
}

// testLists fails if a command, a flag or a make target of a list does not exist.
func testLists(t *testing.T, bin string) {
	makefile, err := os.ReadFile(filepath.Join(module, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	h := help{bin: bin, known: map[string]string{}}
	lists := 0
	for file, text := range documents(t) {
		if strings.Contains(filepath.ToSlash(file), "/docs/operators/") {
			continue
		}
		lines := indented.FindAllString(fence.ReplaceAllString(text, ""), -1)
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			if m[2] == "go" || m[2] == "yaml" || !command.MatchString(m[3]) || prompt.MatchString(m[3]) {
				continue
			}
			if m[2] != "sh" {
				t.Errorf("%s: want commands in a block of sh, got a block of %q: %s", file, m[2], command.FindString(m[3]))
			}
			lines = append(lines, command.FindAllString(m[3], -1)...)
		}
		lists += len(lines)
		for _, line := range lines {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
			words := strings.Fields(strings.TrimPrefix(line, "./"))
			switch words[0] {
			case "make":
				if !regexp.MustCompile(`(?m)^` + words[1] + `\b.*:`).Match(makefile) {
					t.Errorf("%s: %s: the Makefile has no such target", file, line)
				}
			case "bivouac":
				if err := h.check(words[1:]); err != nil {
					t.Errorf("%s: %s: %v", file, line, err)
				}
			}
		}
	}
	if lists < 10 {
		t.Errorf("want at least 10 commands in lists, got %d", lists)
	}
}

// A help knows the help of commands.
type help struct {
	bin   string
	known map[string]string
}

// check returns an error unless the command and its flags are in the help of the command.
func (h *help) check(words []string) error {
	name := words[:1]
	if len(words) > 1 && (words[0] == "data" || words[0] == "demo" && words[1] == "elastic") {
		name = words[:2]
	}
	key := strings.Join(name, " ")
	text, ok := h.known[key]
	if !ok {
		out, err := exec.Command(h.bin, append([]string{"help"}, name...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		text = string(out)
		h.known[key] = text
	}
	if !strings.Contains(text, "bivouac "+key) {
		return fmt.Errorf("want a command %q, got none", key)
	}
	for _, w := range words {
		flag, _, _ := strings.Cut(w, "=")
		if strings.HasPrefix(flag, "-") && !regexp.MustCompile(regexp.QuoteMeta(flag)+`\b`).MatchString(text) {
			return fmt.Errorf("want a flag of %q, got %s", key, flag)
		}
	}
	return nil
}

// The check finds outputs that differ, commands that fail, sessions that are not, and flags that do
// not exist.
func TestShellSelfTest(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "fake")
	script := "#!/bin/sh\necho 'bivouac ls: --json'\n"
	if err := os.WriteFile(bin, []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	s, err := newShell(t.TempDir(), bin)
	if err != nil {
		t.Fatal(err)
	}
	all := func(string) bool { return true }
	const file = "<!-- file: a.txt -->\n```\nhello\n```\n"
	for text, want := range map[string]string{
		file + "```sh\n$ cat a.txt\nold\n$ true\n```\n": file + "```sh\n$ cat a.txt\nhello\n$ true\n```\n",
		"```sh\n$ echo 2 KiB on the disk\n3 KiB on the disk\n```\n": "```sh\n$ echo 2 KiB on the disk\n" +
			"3 KiB on the disk\n```\n",
	} {
		if got, err := s.filled(text, all); err != nil || got != want {
			t.Errorf("%q: want %q, got %q, %v", text, want, got, err)
		}
	}
	const shown = "```sh\n$ echo a\nb\n```"
	if got, err := s.filled(shown, func(first string) bool { return first != "echo a" }); err != nil || got != shown {
		t.Errorf("want a session of the list to stay, got %q, %v", got, err)
	}
	for text, want := range map[string]string{
		"```sh\n$ exit 3\n```":    "exit status 3",
		"```\n$ true\n```":        "want a session in a block of sh",
		"```sh\nx\n$ true\n```\n": "want a session that begins with a command",
	} {
		if _, err := s.filled(text, all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want an error with %q, got %v", text, want, err)
		}
	}
	h := help{bin: bin, known: map[string]string{}}
	for words, ok := range map[string]bool{"ls --json": true, "ls --jso": false, "ls -o": false, "cat": false} {
		if err := h.check(strings.Fields(words)); (err == nil) != ok {
			t.Errorf("%q: want ok %t, got %v", words, ok, err)
		}
	}
}
