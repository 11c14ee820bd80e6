package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// newScreen returns the display of a demonstration: bars on a terminal and plain lines elsewhere,
// on standard error if standard output is for JSON. The caller calls close at the end.
func newScreen(g *global) progress {
	switch {
	case g.quiet:
		return &lineProgress{w: io.Discard}
	case g.json:
		return &lineProgress{w: g.stderr}
	case g.bars(g.stdout):
		return newBars(underlying(g.stdout))
	}
	return &lineProgress{w: g.stdout}
}

// underlying returns the terminal below standard output or standard error, whose width bars ask
// for.
func underlying(w io.Writer) io.Writer {
	switch o := w.(type) {
	case *output:
		return o.w
	case *locked:
		return o.w
	}
	return w
}

func newBars(w io.Writer) progress {
	return &barProgress{container: mpb.New(mpb.WithOutput(w), mpb.WithWidth(48))}
}

// work shows the progress of long work: bars on standard error if it is a terminal, lines there
// with --plain, and nothing elsewhere. Its methods are called one at a time.
type work struct {
	screen progress
	begun  bool
	total  int64
	runs   int // number of runs that count counts
}

// newWork returns a work that has not begun. The caller calls close when all tasks are done, and
// before it prints anything.
func newWork(g *global) *work {
	w := &work{screen: &lineProgress{w: io.Discard}}
	switch {
	case g.quiet:
	case g.plain:
		w.screen = &lineProgress{w: g.stderr}
	case g.bars(g.stderr):
		w.screen = newBars(underlying(g.stderr))
	}
	return w
}

// on begins a task, and returns a function that shows how many of its bytes are done.
func (w *work) on(task string) func(done, total int64) {
	w.end()
	task = printable(task)
	return func(done, total int64) {
		if !w.begun || w.total != total {
			w.end()
			w.screen.BeginBytes(task, total)
			w.begun, w.total = true, total
		}
		w.screen.Advance(done, "")
	}
}

// count shows how many of several runs are done, and how much was read of them.
func (w *work) count(runs int, bytes int64) {
	if w.runs == 0 {
		return
	}
	if !w.begun {
		w.screen.Begin("runs", int64(w.runs))
		w.begun = true
	}
	w.screen.Advance(int64(runs), size(bytes))
}

func (w *work) end() {
	if w.begun {
		w.screen.End()
	}
	w.begun = false
}

func (w *work) close() {
	w.end()
	w.screen.close()
}

// progress shows tasks one after the other, and lines between them. It is for
// one goroutine, and serves the demonstration as its demo.Screen.
type progress interface {
	Begin(task string, total int64)
	BeginBytes(task string, total int64) // the counts are of bytes
	Advance(done int64, note string)
	End()
	Printf(format string, args ...any)
	close()
}

// barProgress draws one bar per task.
type barProgress struct {
	container *mpb.Progress
	bar       *mpb.Bar
	note      *atomic.Value // string: the text after the bar
}

func (p *barProgress) Begin(task string, total int64) {
	p.begin(task, total, decor.CountersNoUnit(" %d/%d "), strconv.FormatInt)
}

func (p *barProgress) BeginBytes(task string, total int64) {
	p.begin(task, total, decor.CountersKibiByte(" % .1f/% .1f "), func(n int64, _ int) string { return size(n) })
}

// begin draws the bar of a task. amount writes a number of what is counted.
func (p *barProgress) begin(task string, total int64, counters decor.Decorator, amount func(int64, int) string) {
	note := new(atomic.Value)
	note.Store("")
	p.note = note
	began, speed, ended := time.Now(), "", false
	p.bar = p.container.New(total, mpb.BarStyle().Lbound("").Filler("━").Tip("").Padding("─").Rbound(""),
		mpb.PrependDecorators(decor.Name(task, decor.WC{W: 14, C: decor.DindentRight})),
		mpb.AppendDecorators(
			counters,
			decor.Any(func(s decor.Statistics) string {
				if !ended { // a bar that has ended is drawn again beside the next one
					speed, ended = pace(s.Current, s.Total, time.Since(began), amount), s.Completed || s.Aborted
				}
				return speed
			}),
			decor.Any(func(decor.Statistics) string { return note.Load().(string) }),
		))
}

// pace says how much of a task is done, how fast it goes, and how long it still takes if it goes on
// like that. amount writes a number of what is counted, in base 10.
func pace(done, total int64, took time.Duration, amount func(int64, int) string) string {
	if done <= 0 || total <= 0 {
		return ""
	}
	done = min(done, total)
	text := fmt.Sprintf(" %d %%", int64(float64(done)/float64(total)*100))
	if took < time.Second { // too early to tell
		return text + " "
	}
	rate := float64(done) / took.Seconds()
	if rate >= 1 {
		text += "  " + amount(int64(rate), 10) + "/s"
	}
	if left := float64(total-done) / rate; left > 0 {
		text += "  " + remaining(left) + " left"
	}
	return text + " "
}

// remaining writes a number of seconds in one or two units.
func remaining(seconds float64) string {
	const minute, hour, day = 60, 3600, 86400
	s := int64(math.Ceil(min(seconds, 1e9*day)))
	switch {
	case s < minute:
		return fmt.Sprint(s, " s")
	case s < hour:
		return fmt.Sprint(s/minute, " min ", s%minute, " s")
	case s < day:
		return fmt.Sprint(s/hour, " h ", s%hour/minute, " min")
	}
	return fmt.Sprint(s/day, " d ", s%day/hour, " h")
}

func (p *barProgress) Advance(done int64, note string) {
	p.note.Store(note)
	p.bar.SetCurrent(done)
}

func (p *barProgress) End() {
	p.bar.Abort(false) // without effect on a bar that is complete; Completed races with its last drawing
	p.bar.Wait()
}

func (p *barProgress) Printf(format string, args ...any) {
	fmt.Fprintf(p.container, format, args...)
}

func (p *barProgress) close() { p.container.Wait() }

// lineProgress prints a line every tenth of a task.
type lineProgress struct {
	w     io.Writer
	task  string
	total int64
	shown int64 // tenths
	bytes bool
}

func (p *lineProgress) Begin(task string, total int64) {
	p.task, p.total, p.shown, p.bytes = task, total, 0, false
}

func (p *lineProgress) BeginBytes(task string, total int64) {
	p.Begin(task, total)
	p.bytes = true
}

func (p *lineProgress) Advance(done int64, note string) {
	tenth := done * 10 / max(p.total, 1)
	if tenth <= p.shown {
		return
	}
	p.shown = tenth
	line := fmt.Sprintf("%-14s %d/%d  %s", p.task, done, p.total, note)
	if p.bytes {
		line = fmt.Sprintf("%-14s %s/%s  %s", p.task, size(done), size(p.total), note)
	}
	fmt.Fprintln(p.w, strings.TrimRight(line, " "))
}

func (p *lineProgress) End() {}

func (p *lineProgress) Printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

func (p *lineProgress) close() {}
