package flow

import (
	"runtime"
	"slices"
	"sync"
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

func TestTasksOfOneWorkerComeInTheirOrder(t *testing.T) {
	const workers, each = 3, 100
	got := make([][]int, workers)
	var done sync.WaitGroup
	p := NewPool(workers, func(worker, task int) {
		defer done.Done()
		if task >= 0 {
			got[worker] = append(got[worker], task)
		}
	})
	defer p.Close()
	done.Add(2 * workers * each)
	for i := range each {
		for w := range workers {
			p.SubmitTo(w, i)
			p.Submit(-1)
		}
	}
	done.Wait()
	for w := range got {
		if len(got[w]) != each || !slices.IsSorted(got[w]) {
			t.Errorf("worker %d did %v", w, got[w])
		}
	}
}
