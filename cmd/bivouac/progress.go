package main

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// newProgress returns bars on a terminal and plain lines elsewhere, on standard
// error where standard output is for JSON. The caller calls close when all is done.
func newProgress(g *global) progress {
	if g.quiet {
		return &lineProgress{w: io.Discard}
	}
	if g.bars() {
		return &barProgress{container: mpb.New(mpb.WithOutput(g.stdout), mpb.WithWidth(48))}
	}
	if g.json {
		return &lineProgress{w: g.stderr}
	}
	return &lineProgress{w: g.stdout}
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

// barProgress draws a bar a task.
type barProgress struct {
	container *mpb.Progress
	bar       *mpb.Bar
	note      *atomic.Value // string: what stands behind the bar
}

func (p *barProgress) Begin(task string, total int64) {
	p.begin(task, total, decor.CountersNoUnit(" %d/%d "))
}

func (p *barProgress) BeginBytes(task string, total int64) {
	p.begin(task, total, decor.CountersKibiByte(" % .1f/% .1f "))
}

func (p *barProgress) begin(task string, total int64, counters decor.Decorator) {
	note := new(atomic.Value)
	note.Store("")
	p.note = note
	p.bar = p.container.New(total, mpb.BarStyle().Lbound("").Filler("━").Tip("").Padding("─").Rbound(""),
		mpb.PrependDecorators(decor.Name(task, decor.WC{W: 14, C: decor.DindentRight})),
		mpb.AppendDecorators(
			counters,
			decor.Any(func(decor.Statistics) string { return note.Load().(string) }),
		))
}

func (p *barProgress) Advance(done int64, note string) {
	p.note.Store(note)
	p.bar.SetCurrent(done)
}

func (p *barProgress) End() {
	if !p.bar.Completed() {
		p.bar.Abort(false)
	}
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
