package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
)

// output is standard output. It keeps the first error of a write and passes it to fail, so that a
// command whose output is lost does not continue and end with success.
type output struct {
	w    io.Writer
	fail func(error)

	pager *pager // in front of w, if there is one; set before the first write

	mu   sync.Mutex
	err  error
	quit bool // the reader of the pager has seen enough
}

// locked is standard error, to which the work on several runs writes at once.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	w := o.w
	if o.pager != nil {
		w = o.pager
	}
	n, err := w.Write(p)
	if errors.Is(err, errQuit) {
		o.err, o.quit = err, true
		o.fail(err)
		return n, err
	}
	if err != nil {
		o.err = &errs.Error{Kind: errs.IO, Op: "write", Subject: "standard output", Err: err}
		o.fail(o.err)
		return n, o.err
	}
	return n, nil
}

// failed returns the error of the first write that failed. That a reader quits the pager is no
// error.
func (o *output) failed() (err error, quit bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.quit {
		return nil, true
	}
	return o.err, false
}

// close ends the pager, if there is one.
func (o *output) close() error {
	if o.pager == nil {
		return nil
	}
	return o.pager.close()
}

// printf writes to standard output. Arguments are names and values from outside: characters that a
// terminal would obey, and line ends, are spelled out, so that a name cannot pass for a line of
// output. Numbers are formatted unchanged.
func (g *global) printf(format string, args ...any) {
	safe := make([]any, len(args))
	for i, a := range args {
		safe[i] = safely(a)
	}
	fmt.Fprintf(g.stdout, format, safe...) //nolint:errcheck // output keeps the error
}

// print writes text of several lines. Only its line ends and tabs are kept.
func (g *global) print(text string) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		cells := strings.Split(line, "\t")
		for k, cell := range cells {
			cells[k] = printable(cell)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	io.WriteString(g.stdout, strings.Join(lines, "\n")) //nolint:errcheck // output keeps the error
}

// safely returns an argument of printf with printable text.
func safely(arg any) any {
	switch v := arg.(type) {
	case nil:
		return nil
	case string:
		return printable(v)
	case []byte:
		return printable(string(v))
	case json.RawMessage:
		return printable(string(v))
	case error:
		return oneLine(v)
	case fmt.Stringer:
		return printable(v.String())
	}
	if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
		return printable(v.String())
	}
	return arg
}

// printable returns text that a terminal shows unchanged. Other characters, such as escapes, line
// ends and marks that change the direction of writing, are written as in a Go string, and so are
// backslashes beside them.
func printable(s string) string {
	if !strings.ContainsFunc(s, obeyed) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\\':
			b.WriteString(`\\`)
		case obeyed(r):
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// obeyed reports whether a terminal acts on a character instead of showing it.
func obeyed(r rune) bool { return r != ' ' && !strconv.IsPrint(r) }

// oneLine returns the text of an error on one line, as a terminal shows it.
func oneLine(err error) string {
	return printable(strings.ReplaceAll(strings.TrimRight(err.Error(), "\n"), "\n", "; "))
}

// printJSON prints v as one indented document.
func (g *global) printJSON(v any) error {
	b, err := encodeJSON(v, "  ")
	if err == nil {
		_, err = g.stdout.Write(b)
	}
	return err
}

// show prints v as JSON if the command has the flag --json, and calls text otherwise.
func (g *global) show(v any, text func()) error {
	if g.json {
		return g.printJSON(v)
	}
	text()
	return nil
}

// printJSONLine prints v as one line.
func (g *global) printJSONLine(v any) error {
	b, err := encodeJSON(v, "")
	if err == nil {
		_, err = g.stdout.Write(b)
	}
	return err
}

// encodeJSON returns v as JSON with a line end. It escapes all characters that terminals obey, even
// if JSON allows them.
func encodeJSON(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	if !bytes.ContainsFunc(b.Bytes(), obeyedInJSON) {
		return b.Bytes(), nil
	}
	var out []byte
	for _, r := range b.String() {
		switch {
		case !obeyedInJSON(r):
			out = utf8.AppendRune(out, r)
		case r > 0xFFFF:
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out, nil
}

// obeyedInJSON works like obeyed for encoded JSON: line ends are part of the format, and harmless
// characters that cannot be shown may stay.
func obeyedInJSON(r rune) bool { return r != '\n' && r >= 0x7f && obeyed(r) }

// failure is the output of a failed command with --json, on standard error.
type failure struct {
	Error      failureText `json:"error"`
	ExitStatus int         `json:"exit_status"`
}

// failureText is an error in its parts.
type failureText struct {
	Kind    string `json:"kind"`
	Message string `json:"message"` // all of it, on one line
	Op      string `json:"op,omitempty"`
	Subject string `json:"subject,omitempty"`
	Want    string `json:"want,omitempty"`
	Got     string `json:"got,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
}

// warning is a warning of a command with --json, on standard error.
type warning struct {
	Warning failureText `json:"warning"`
}

// newFailureText takes an error apart: it takes the outermost of each part that is present, and the
// innermost subject.
func newFailureText(err error) failureText {
	f := failureText{Kind: errs.KindOf(err).String(), Message: oneLine(err)}
	var e *errs.Error
	for cause := err; errors.As(cause, &e); cause = e.Err {
		for _, part := range []struct {
			of   *string
			text string
		}{{&f.Op, e.Op}, {&f.Want, e.Want}, {&f.Got, e.Got}, {&f.Remedy, e.Remedy}} {
			if *part.of == "" {
				*part.of = part.text
			}
		}
		if e.Subject != "" {
			f.Subject = e.Subject
		}
	}
	return f
}

// warn prints an error to standard error that did not stop the command.
func (g *global) warn(err error) { g.warnAs(g.machine(), err) }

// warnAs is warn for a goroutine that does not know whether the flags were read: asJSON says it.
func (g *global) warnAs(asJSON bool, err error) {
	if asJSON {
		g.tellJSON(warning{newFailureText(err)})
		return
	}
	fmt.Fprintf(g.stderr, "bivouac: warning: %s\n", oneLine(err)) //nolint:errcheck // there is nowhere to tell it
}

// blame prints the error of one of several runs. The command goes on with the others.
func (g *global) blame(path string, err error) {
	if g.machine() {
		return // the document says it
	}
	if !strings.Contains(err.Error(), path) {
		err = errs.Wrap("", path, err)
	}
	fmt.Fprintf(g.stderr, "bivouac: %s\n", oneLine(err)) //nolint:errcheck // there is nowhere to tell it
}

// tellJSON writes a line of JSON to standard error.
func (g *global) tellJSON(v any) {
	if b, err := encodeJSON(v, ""); err == nil {
		g.stderr.Write(b) //nolint:errcheck // there is nowhere to tell it
	}
}

// size renders bytes for people.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, names := float64(n)/unit, "KMGTPE"
	i := 0
	for f >= unit && i < len(names)-1 {
		f /= unit
		i++
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + names[i:i+1] + "iB"
}

// units are the units of sizes.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// parseSize parses a number of bytes as people write it; "" is 0.
func parseSize(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	digits, unit := s, int64(1)
	for _, u := range units {
		if d, ok := strings.CutSuffix(s, u.name); ok {
			digits, unit = d, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0, &errs.Error{Kind: errs.Invalid, Subject: "--shard-size", Want: "a size such as 5GB, 512MiB or 1000000", Got: strconv.Quote(s)}
	}
	return n * unit, nil
}
