package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/errs"
)

// Command makes the process that calls Serve for the training in its last
// argument: events go to its standard output, credits come from its standard input.
type Command func(ctx context.Context, training string) *exec.Cmd

// life is what became of one child.
type life struct {
	resumed  int64 // step it carried on after, 0 for none
	last     int64 // last step it announced
	begun    int64 // step of the last save it began, 0 for none
	acked    int64 // newest step it announced as committed, or resumed from
	killed   bool  // by the parent, or preempted: another child goes on
	finished bool
}

// inCommit reports whether a commit was under way when the child died.
func (l *life) inCommit() bool { return l.begun > l.acked }

// inFlight is how many steps were done since the save that died with the child began.
func (l *life) inFlight() int64 {
	if !l.inCommit() {
		return 0
	}
	return l.last - l.begun
}

// pace is what kills are timed by, learnt from the uninterrupted run.
type pace struct {
	step, commit time.Duration
}

// child runs a training as another process, and kills it.
type child struct {
	command  Command
	training Training
	pace     pace
	observe  func(Event) error // is told every event
}

// live runs one child to its planned end, or to the end of the training if plan is nil.
func (c *child) live(ctx context.Context, plan *kill) (life, error) {
	text, err := json.Marshal(c.training)
	if err != nil {
		return life{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := c.command(ctx, string(text))
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	events, err := cmd.StdoutPipe()
	if err != nil {
		return life{}, err
	}
	credits, err := cmd.StdinPipe()
	if err != nil {
		return life{}, err
	}
	if err := cmd.Start(); err != nil {
		return life{}, &errs.Error{Kind: errs.IO, Op: "demo", Subject: "start of the child", Err: err}
	}
	l, err := c.follow(cmd, plan, events, credits)
	if err != nil {
		stop() // kills it, if need be
	}
	waitErr := cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(waitErr, &exit) && exit.ExitCode() == bivouac.ExitPreempted {
		l.killed, err = true, nil // SIGTERM from elsewhere; its last step is committed
	}
	switch {
	case err != nil:
		return l, err
	case !l.killed && waitErr != nil:
		return l, &errs.Error{Op: "demo", Subject: "child", Got: strings.TrimSpace(complaints.String()), Err: waitErr}
	case !l.killed && !l.finished:
		return l, &errs.Error{Op: "demo", Subject: "child", Got: "an end without a result"}
	}
	return l, nil
}

// follow reads the events of a child until they end, and kills it on the way.
func (c *child) follow(cmd *exec.Cmd, plan *kill, r io.Reader, credits io.Writer) (life, error) {
	events := make(chan Event)
	quit := make(chan struct{})
	defer close(quit)
	var readErr error
	go func() {
		defer close(events)
		readErr = readEvents(r, func(e Event) {
			select {
			case events <- e:
			case <-quit:
			}
		})
	}()
	var l life
	var fuse <-chan time.Time
	owed := lead // credits
	for {
		if fuse == nil { // a child with a lit fuse must not reach its goal before
			_, _ = credits.Write(make([]byte, owed)) // a child that is gone needs none
			owed = 0
		}
		select {
		case e, more := <-events:
			if !more {
				return l, readErr
			}
			if err := c.observe(e); err != nil {
				return l, err
			}
			if err := l.note(e); err != nil {
				return l, err
			}
			if e.Kind == StepDone {
				owed++
			}
			if plan != nil && !l.killed {
				fuse = plan.arm(e, fuse, c.pace)
			}
		case <-fuse:
			fuse = nil
			if err := cmd.Process.Kill(); err != nil {
				return l, &errs.Error{Op: "demo", Subject: "kill", Err: err}
			}
			l.killed = true // what it had announced is still in the pipe
		}
	}
}

// arm returns the fuse after e: lit by the event that the plan waits for, put
// out when the commit that was to be hit came to its end first. The next one is
// then to be hit earlier.
func (k *kill) arm(e Event, fuse <-chan time.Time, p pace) <-chan time.Time {
	switch {
	case fuse == nil && k.InCommit && e.Kind == SaveBegin && e.Step >= k.At:
		return time.After(time.Duration(k.Phase * float64(p.commit)))
	case fuse == nil && !k.InCommit && e.Kind == StepDone && e.Step >= k.At:
		return time.After(time.Duration(k.Phase * float64(p.step)))
	case fuse != nil && k.InCommit && e.Kind == Committed:
		k.Phase /= 2
		return nil
	}
	return fuse
}

// note enters an event of the child.
func (l *life) note(e Event) error {
	switch e.Kind {
	case Resumed:
		l.resumed, l.last, l.acked = e.Step, e.Step, e.Step
	case StepDone:
		l.last = e.Step
	case SaveBegin:
		l.begun = e.Step
	case Committed:
		l.acked = e.Step
	case Done:
		l.finished = true
	case Failed:
		return &errs.Error{Kind: e.Error, Op: "demo", Subject: "child", Err: fmt.Errorf("%s", e.Text)}
	}
	return nil
}
