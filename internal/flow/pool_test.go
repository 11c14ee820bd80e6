package flow

import (
	"runtime"
	"testing"
	"time"
)

func TestPoolOutlivesATaskThatEndsItsGoroutine(t *testing.T) {
	done := make(chan int)
	p := NewPool(1, func(_, task int) {
		if task == 0 {
			runtime.Goexit()
		}
		done <- task
	})
	defer p.Close()
	p.Submit(0, 1)
	if got := <-done; got != 1 {
		t.Errorf("task %d", got)
	}
}

func TestCloseWithinSaysWhetherTasksStillRun(t *testing.T) {
	running, release := make(chan bool), make(chan bool)
	p := NewPool(1, func(_, _ int) {
		running <- true
		<-release
	})
	p.Submit(0)
	<-running
	if p.CloseWithin(0) {
		t.Error("closed while a task runs")
	}
	close(release)
	if !p.CloseWithin(time.Minute) {
		t.Error("not closed although the task has ended")
	}
}
