package training

import (
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
)

// PreemptionNotice tells that the process will be stopped soon. It is asked at
// each decision whether to save, and may be asked from several goroutines.
type PreemptionNotice interface {
	Preempted() bool
}

// SignalNotice is given by a signal. Make one with NotifySignals.
type SignalNotice struct {
	signals chan os.Signal
	given   atomic.Bool
}

// NotifySignals returns a notice that is given when the process gets one of the
// signals, from now on; without any they are SIGTERM and, where the system has
// it, SIGUSR1. The signals do not end the process until Stop is called.
func NotifySignals(signals ...os.Signal) *SignalNotice {
	if len(signals) == 0 {
		signals = preemptionSignals()
	}
	n := &SignalNotice{signals: make(chan os.Signal, 1)}
	signal.Notify(n.signals, signals...)
	return n
}

// Preempted implements PreemptionNotice. A notice that was given stays.
func (n *SignalNotice) Preempted() bool {
	select {
	case <-n.signals:
		n.given.Store(true)
	default:
	}
	return n.given.Load()
}

// Stop has the signals do again what they did before.
func (n *SignalNotice) Stop() { signal.Stop(n.signals) }

// FileNotice is given when a file of that name exists, as some schedulers and
// clouds' agents make one.
type FileNotice string

// Preempted implements PreemptionNotice.
func (n FileNotice) Preempted() bool {
	_, err := os.Stat(string(n))
	return err == nil
}

// AnyNotice is given when one of its notices is.
type AnyNotice []PreemptionNotice

// Preempted implements PreemptionNotice.
func (n AnyNotice) Preempted() bool {
	return slices.ContainsFunc(n, PreemptionNotice.Preempted)
}
