package demo

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/examples/digits"
	"github.com/bivouac-ml/bivouac/internal/chart"
	"github.com/bivouac-ml/bivouac/rng"
)

// demonstration is one Run under way.
type demonstration struct {
	options Options
	screen  Screen
	report  Report
	pace    pace
	calm    ledger
	killed  ledger
	marks   []digits.Mark
	line    lossLine // of the killed training
}

// training returns what to train in the directory name.
func (d *demonstration) training(name string) Training {
	o := d.options
	return Training{
		Run: filepath.Join(o.Dir, name), Data: filepath.Join(o.Dir, dataDir),
		Seed: o.Seed, Steps: o.Steps, SaveEvery: o.SaveEvery, Threads: o.Threads, Prefetch: o.Prefetch,
	}
}

// runCalm trains in this process, uninterrupted.
func (d *demonstration) runCalm(ctx context.Context) error {
	d.screen.Begin("uninterrupted", d.options.Steps)
	defer d.screen.End()
	var (
		mu                     sync.Mutex
		steps, commits, pauses []time.Duration
		pause                  time.Duration
		last                   = time.Now()
		line                   = lossLine{Spark: chart.Spark{Most: lineColumns}}
	)
	err := Train(ctx, d.training(calmDir), func(e Event) error {
		mu.Lock()
		defer mu.Unlock()
		switch e.Kind {
		case StepDone:
			steps = append(steps, time.Since(last))
			last = time.Now()
			d.screen.Advance(e.Step, line.note(e))
			return d.calm.add(e)
		case SaveBegin:
			pause = time.Duration(e.Micros) * time.Microsecond
			pauses = append(pauses, pause)
		case Committed:
			commits = append(commits, time.Duration(e.Micros)*time.Microsecond-pause)
		case Done:
			d.report.Uninterrupted.finish(e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.pace = pace{step: median(steps), commit: median(commits)}
	d.report.Saves, d.report.PauseMicros, d.report.CommitMicros = len(pauses), micros(median(pauses)), micros(d.pace.commit)
	d.report.Uninterrupted.fill(&d.calm, filepath.Join(d.options.Dir, calmDir))
	return nil
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[len(d)/2]
}

// lineColumns is how wide the losses are drawn while a training runs.
const lineColumns = 20

// note is the loss of a step, and the line of all that came before it. Steps that are done again
// are not drawn twice.
func (l *lossLine) note(e Event) string {
	if e.Step > l.step {
		l.step = e.Step
		l.Add(math.Log(float64(e.Loss)))
	}
	return "loss " + strconv.FormatFloat(float64(e.Loss), 'f', 4, 32) + " " + l.String()
}

// lossLine draws the losses of a training on a logarithmic scale.
type lossLine struct {
	chart.Spark
	step int64
}

// seedDomain keeps the instants of the kills apart from the seeds of everything else.
const seedDomain = 0x6b696c6c73 // "kills"

// runKilled trains in children, and kills them.
func (d *demonstration) runKilled(ctx context.Context) error {
	d.line.Most = lineColumns
	d.screen.Begin("interrupted", d.options.Steps)
	defer d.screen.End()
	random := rng.NewPhilox(d.options.KillSeed, seedDomain, 0)
	plan := planKills(&random, max(d.options.Kills, 0), d.options.Steps, d.options.SaveEvery)
	c := &child{command: d.options.Command, training: d.training(killedDir), pace: d.pace, observe: d.observe}
	for {
		l, err := c.live(ctx, d.next(plan))
		if err != nil {
			return err
		}
		d.record(l)
		if l.finished {
			break
		}
	}
	d.report.Interrupted.fill(&d.killed, filepath.Join(d.options.Dir, killedDir))
	d.report.judge(len(plan))
	return nil
}

// next returns the kill that the next child is to die of, or nil. It is aimed
// at a commit where otherwise too few would hit one: the planned ones may come
// too late for theirs, on a busy machine.
func (d *demonstration) next(plan []kill) *kill {
	done := len(d.report.Kills)
	missing := commitKills(len(plan)) - d.report.inCommit()
	if done >= len(plan) {
		if missing <= 0 || done >= 2*len(plan) {
			return nil
		}
		return &kill{InCommit: true}
	}
	k := plan[done]
	for _, left := range plan[done:] {
		if left.InCommit {
			missing--
		}
	}
	if missing > 0 && !k.InCommit {
		k.InCommit, k.Phase = true, 0
	}
	return &k
}

// observe is told each event of the children.
func (d *demonstration) observe(e Event) error {
	switch e.Kind {
	case Resumed:
		d.screen.Printf("child %d resumed after step %d\n", len(d.report.Kills)+1, e.Step)
		d.marks = append(d.marks, digits.Mark{Step: e.Step, Kind: digits.Resumed})
	case Quarantined:
		d.report.fail("step %d was damaged by a kill: %s", e.Step, e.Text)
	case StepDone:
		d.screen.Advance(e.Step, d.line.note(e))
		return d.killed.add(e)
	case Done:
		d.report.Interrupted.finish(e)
	}
	return nil
}

// record enters a life that has ended.
func (d *demonstration) record(l life) {
	d.report.Executed = d.killed.executed
	d.report.follow(l)
	if !l.killed {
		return
	}
	k := Kill{Step: l.last, Acknowledged: l.acked, InCommit: l.inCommit(), Bound: d.options.SaveEvery + l.inFlight()}
	instant := "between commits"
	if k.InCommit {
		k.Commit = l.begun
		instant = "while step " + strconv.FormatInt(l.begun, 10) + " was being committed"
	}
	d.report.Kills = append(d.report.Kills, k)
	d.marks = append(d.marks, digits.Mark{Step: l.last, Kind: digits.Killed})
	d.screen.Printf("child %d killed after step %d, %s\n", len(d.report.Kills), l.last, instant)
}

// write leaves the plot, the page and the report in the directory.
func (d *demonstration) write(ctx context.Context) error {
	title := strconv.Itoa(len(d.report.Kills)) + " kills, one training"
	plot := digits.LossPlot(title,
		digits.Curve{Name: "uninterrupted", First: 1, Values: d.calm.losses()},
		digits.Curve{Name: "interrupted", First: 1, Values: d.killed.losses()},
		d.marks)
	if err := os.WriteFile(d.report.Plot, plot, 0o666); err != nil {
		return system(d.report.Plot, err)
	}
	page, err := d.page(ctx, plot)
	if err != nil {
		return err
	}
	if err := os.WriteFile(d.report.Page, page, 0o666); err != nil {
		return system(d.report.Page, err)
	}
	text, err := json.MarshalIndent(&d.report, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(d.report.Result, append(text, '\n'), 0o666); err != nil {
		return system(d.report.Result, err)
	}
	return nil
}
