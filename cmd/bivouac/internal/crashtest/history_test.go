package crashtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/internal/recording"
)

// job is a model of a training: its loader reads positions of an order, its weights remember every
// sample.
type job struct {
	samples, epochs, batch, save int
	numbered                     bool // it records the numbers of its steps
	told                         bool // it records where it resumed
	counted                      bool // it records its epochs
	// resume returns the position of the loader for a checkpoint at a position.
	resume func(position int) int
}

func (j job) order(position int) int64 {
	epoch, i := position/j.samples, position%j.samples
	return int64((i*7 + epoch*5) % j.samples) // samples is prime to 7
}

// run records the lives of a job that is killed after the given numbers of records.
func (j job) run(kills []int) []life {
	total := j.samples * j.epochs / j.batch
	type state struct{ step, position, weights int }
	saved := state{}
	var lives []life
	for k := 0; ; k++ {
		at := saved
		var l life
		if k > 0 {
			at.position = j.resume(at.position)
			if j.told {
				l = append(l, recording.Entry{IsResumed: true, Resumed: int64(at.step)})
			}
		}
		left := -1
		if k < len(kills) {
			left = kills[k]
		}
		for ; at.step < total && left != 0; left-- {
			e := recording.Entry{Step: int64(at.step + 1), HasStep: j.numbered}
			if j.counted {
				e.Epoch = int64(at.position / j.samples)
			}
			for range j.batch {
				id := j.order(at.position)
				e.IDs = append(e.IDs, id)
				at.position++
				at.weights = at.weights*31 + int(id) + 1
			}
			at.step++
			e.Weights = fmt.Sprint(at.weights)
			l = append(l, e)
			if at.step%j.save == 0 {
				saved = at
			}
		}
		lives = append(lives, l)
		if left != 0 {
			return lives
		}
	}
}

func drawJob(t *rapid.T) job {
	j := job{
		epochs: rapid.IntRange(1, 3).Draw(t, "epochs"),
		batch:  rapid.SampledFrom([]int{1, 2, 5}).Draw(t, "batch"),
		save:   rapid.IntRange(1, 9).Draw(t, "save"),
		resume: func(p int) int { return p },
	}
	j.samples = 61 - 61%j.batch
	if j.samples%7 == 0 {
		j.samples -= j.batch
	}
	switch rapid.IntRange(0, 3).Draw(t, "numbers") {
	case 0:
		j.numbered = true
	case 1:
		j.told = true
	case 2:
		j.numbered, j.told = true, true
	}
	return j
}

// examine returns the comparison of a killed run with an unbroken one.
func examine(j job, kills []int) (Samples, Series, history) {
	calm := j.run(nil)
	lives := j.run(kills)
	n := numberingOf(append(slices.Clone(lives), calm...)...)
	h := trace(n, lives, calm[0])
	pick := func(s step) string { return s.weights }
	return compareSamples(calm[0], h.entries), compareSeries(steps(calm[0]), steps(h.entries), false, pick), h
}

// A job that resumes exactly has no finding, wherever it is killed, whether or not it numbers its
// steps. Steps that are done again after a checkpoint do not count.
func TestExactResumeHasNoFinding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		kills := rapid.SliceOfN(rapid.IntRange(0, 40), 0, 6).Draw(t, "kills")
		s, w, h := examine(j, kills)
		if !s.equal() || !w.Equal || s.Killed != s.Unbroken {
			t.Fatalf("%+v %+v", s, w)
		}
		for i, r := range h.resumes {
			if i > 0 && (r.redone < 0 || r.redone >= j.save+40) {
				t.Fatalf("resume %d: %+v", i, r)
			}
		}
	})
}

// A loader that is some samples ahead of its checkpoint after a kill loses these samples. A loader
// that is behind repeats them. The number of steps stays, so the end of the order differs too.
func TestKnownLosses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawJob(t)
		j.epochs = 1
		if !j.numbered {
			j.told = true
		}
		shift := rapid.IntRange(-8, 8).Draw(t, "shift")
		saved := 0 // position of the checkpoint that the job resumes from
		j.resume = func(p int) int {
			saved = p
			if p+shift < 0 {
				return p
			}
			return p + shift
		}
		kill := rapid.IntRange(0, j.samples/j.batch-1).Draw(t, "kill")
		s, _, _ := examine(j, []int{kill})
		lost, repeated, same := 0, 0, true
		known := make([]int, j.samples)
		for p := range j.samples {
			known[j.order(p)]++
			at := p
			if p >= saved {
				at = j.resume(saved) + p - saved
			}
			known[j.order(at)]--
			same = same && j.order(p) == j.order(at)
		}
		for _, n := range known {
			lost += max(n, 0)
			repeated += max(-n, 0)
		}
		if s.Lost != lost || s.Repeated != repeated {
			t.Fatalf("shift %d at %d: %+v, want %d lost, %d repeated", shift, saved, s, lost, repeated)
		}
		if s.equal() != same {
			t.Fatalf("shift %d at %d: %+v", shift, saved, s)
		}
	})
}

// A loop that begins its epoch again after each kill repeats what it had trained on before the
// checkpoint, and nothing else.
func TestEpochBegunAgain(t *testing.T) {
	j := job{samples: 61, epochs: 2, batch: 1, save: 10, numbered: true, counted: true}
	j.resume = func(p int) int { return p / 61 * 61 }
	s, w, h := examine(j, []int{37})
	// It resumed after step 30 with sample 0, so samples 0 to 29 were read twice, and the job ended
	// 30 samples before the end of its second epoch.
	if s.Repeated != 30 || s.Lost != 30 || w.Equal {
		t.Fatalf("%+v %+v", s, w)
	}
	if h.resumes[1].kept != 30 || h.resumes[1].redone != 7 || *h.resumes[1].step != 30 {
		t.Fatalf("%+v", h.resumes)
	}
}

// Lost, repeated and moved are all zero exactly if both sequences are equal, and moved is the least
// number of moves.
func TestSamplesLaw(t *testing.T) {
	one := func(ids []int64) life { return life{{IDs: ids}} }
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 14)
		a, b := ids.Draw(t, "a"), ids.Draw(t, "b")
		s := compareSamples(one(a), one(b))
		if s.equal() != slices.Equal(a, b) {
			t.Fatalf("%+v", s)
		}
		if s.Unbroken-s.Lost != s.Killed-s.Repeated || s.Moved < 0 {
			t.Fatalf("%+v", s)
		}
		table := make([][]int, len(a)+1)
		for i := range table {
			table[i] = make([]int, len(b)+1)
		}
		for i := range a {
			for k := range b {
				table[i+1][k+1] = max(table[i][k+1], table[i+1][k])
				if a[i] == b[k] {
					table[i+1][k+1] = table[i][k] + 1
				}
			}
		}
		if want := s.Unbroken - s.Lost - table[len(a)][len(b)]; s.Moved != want {
			t.Fatalf("%+v, want %d moved", s, want)
		}
	})
}

// With epochs, a sample that is lost in one and repeated in another counts as both.
func TestEpochsDoNotCancel(t *testing.T) {
	calm := life{{IDs: []int64{1, 2}}, {Epoch: 1, IDs: []int64{2, 1}}}
	killed := life{{IDs: []int64{1}}, {Epoch: 1, IDs: []int64{2, 2, 1}}}
	if s := compareSamples(calm, killed); s.Lost != 1 || s.Repeated != 1 {
		t.Errorf("%+v", s)
	}
	for i := range calm {
		calm[i].Epoch, killed[i].Epoch = 0, 0
	}
	if s := compareSamples(calm, killed); s.Lost != 0 || s.Repeated != 0 || s.equal() {
		t.Errorf("%+v", s)
	}
}

// Numbers that begin again in each epoch order the steps only if epochs are recorded.
func TestNumbering(t *testing.T) {
	l := life{{Step: 1, HasStep: true}, {Step: 2, HasStep: true}, {Step: 1, HasStep: true, Epoch: 1}}
	if n := numberingOf(l); n != byEpoch {
		t.Errorf("numbering %d", n)
	}
	for i := range l {
		l[i].Epoch = 0
	}
	if n := numberingOf(l); n != byRecords {
		t.Errorf("numbering %d", n)
	}
	if n := numberingOf(l[:2], l[:1], nil); n != byStep {
		t.Errorf("numbering %d", n)
	}
	first := life{{Step: 1, HasStep: true}, {Step: 2, HasStep: true}, {Weights: "end"}}
	h := trace(byStep, []life{first, {{Step: 2, HasStep: true}}}, nil)
	if len(h.entries) != 2 || h.resumes[1].kept != 1 || h.resumes[1].redone != 2 {
		t.Errorf("%+v", h)
	}
}

// A life that resumes from a checkpoint of an older history goes on with that one.
func TestOlderBranch(t *testing.T) {
	steps := func(from, to int64) (l life) {
		for s := from; s <= to; s++ {
			l = append(l, recording.Entry{Step: s, HasStep: true, IDs: []int64{s}})
		}
		return l
	}
	calm := steps(1, 9)
	h := trace(byStep, []life{steps(1, 6), steps(3, 4), steps(6, 9)}, calm)
	if s := compareSamples(calm, h.entries); !s.equal() || h.resumes[2].missing != nil {
		t.Errorf("%+v %+v", s, h.resumes)
	}
	// Step 6 was saved and never recorded.
	h = trace(byStep, []life{steps(1, 5), steps(7, 9)}, calm)
	if s := compareSamples(calm, h.entries); s.Lost != 1 || h.resumes[1].missing == nil || *h.resumes[1].missing != 6 {
		t.Errorf("%+v %+v", s, h.resumes)
	}
}

// The records of several ranks and processes are the records of one job.
func TestRanks(t *testing.T) {
	dir := t.TempDir()
	run := func(name string, write ...func(rank int) []recording.Line) *watcher {
		at := filepath.Join(dir, name)
		if err := os.Mkdir(at, 0o777); err != nil {
			t.Fatal(err)
		}
		for rank := range 2 {
			for part, lines := range write {
				text, err := recording.Append(nil, recording.Header{Format: recording.Format, Version: 1, Rank: rank})
				for _, l := range lines(rank) {
					if err == nil {
						text, err = recording.Append(text, l)
					}
				}
				file := filepath.Join(at, fmt.Sprint(rank, "-", part, ".jsonl"))
				if err == nil {
					err = os.WriteFile(file, text, 0o666)
				}
				if err == nil {
					err = os.Chtimes(file, time.Time{}, time.Unix(int64(1000+part), 0))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		w := newWatcher(at)
		if err := w.poll(); err != nil {
			t.Fatal(err)
		}
		return w
	}
	lines := func(from, to int64) func(rank int) []recording.Line {
		return func(rank int) (out []recording.Line) {
			for s := from; s <= to; s++ {
				ids := recording.EncodeIDs([]int64{2*s + int64(rank)})
				out = append(out, recording.Line{Step: &s, Count: 1, IDs: ids, Weights: fmt.Sprint(s, rank)})
			}
			return out
		}
	}
	calm := []*watcher{run("calm", lines(1, 8))}
	// The first start has two processes, one after the other.
	killed := []*watcher{run("first", lines(1, 3), lines(3, 6)), run("second"), run("third", lines(5, 8))}
	f := newFindings(byStep, calm, killed)
	if !f.equal() || f.Samples.Unbroken != 16 || f.Steps != 8 || f.Weights.Killed != "8 0,8 1" {
		t.Errorf("%+v", f)
	}
	r := Report{Kills: make([]Kill, 2)}
	r.compare(byStep, calm, killed)
	if k := r.Kills[0]; k.Recorded {
		t.Errorf("%+v", k)
	}
	if k := r.Kills[1]; !k.Recorded || *k.Resumed != 4 || k.Redone != 2 {
		t.Errorf("%+v", k)
	}
}
