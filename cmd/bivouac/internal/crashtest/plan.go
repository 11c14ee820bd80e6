package crashtest

import (
	"math/rand/v2"
	"time"
)

// kill is one planned death.
type kill struct {
	// early kills come some time after the start of the job, whatever it has done. The other kills
	// come when the job has done a part of its steps for the first time.
	early bool
	at    float64 // the part of the steps, from 0 to 1
	phase float64 // where in the step or in the time of the start, from 0 to 1
}

// planKills spreads n kills over the steps of a run. One of four comes early after a restart.
func planKills(seed uint64, n int) []kill {
	random := rand.New(rand.NewPCG(seed, 0x6b696c6c73)) //nolint:gosec // instants, not secrets
	early := n / 4
	if n == 3 {
		early = 1
	}
	late := n - early
	kills := make([]kill, 0, n)
	after := map[int]int{} // early kills behind a late one
	for range early {
		after[random.IntN(late)]++
	}
	for i := range late {
		kills = append(kills, kill{at: (float64(i) + random.Float64()) / float64(late), phase: random.Float64()})
		for range after[i] {
			kills = append(kills, kill{early: true, at: kills[len(kills)-1].at, phase: random.Float64()})
		}
	}
	return kills
}

// pace is what kills are timed by, learnt from the unbroken run.
type pace struct {
	records int           // of its first rank
	start   time.Duration // until the first record
	last    time.Duration // until the last record
	total   time.Duration
}

// step returns the mean time of a step.
func (p pace) step() time.Duration {
	return (p.last - p.start) / time.Duration(max(p.records, 1))
}

// mostTick and leastTick bound the time between two looks at the records.
const (
	mostTick  = 5 * time.Millisecond
	leastTick = time.Millisecond
)

// tick returns how often records are read, so that kills hit the step that they are meant for.
func (p pace) tick() time.Duration { return min(max(p.step()/2, leastTick), mostTick) }

// mostEarly bounds the time of early kills.
const mostEarly = 5 * time.Second

// delay returns how long after a restart an early kill comes.
func (p pace) delay(k kill) time.Duration {
	return time.Duration(k.phase * float64(min(p.start+4*p.step(), mostEarly)))
}

// lastAim returns the record up to which kills are aimed, so that the job does not end first.
func (p pace) lastAim() int { return max(p.records-max(2, p.records/20), 1) }

// least returns how many records of the unbroken run the job must have got on to before a kill, if
// best is what earlier starts got on to. Where steps are left, a start must do one that is new.
func (p pace) least(k kill, best int) int {
	return max(int(k.at*float64(p.lastAim())), min(best+1, p.lastAim()), 1)
}
