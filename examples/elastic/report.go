package elastic

import (
	"fmt"
	"io"
)

// Leg is a part of the run.
type Leg struct {
	Ranks       int    `json:"ranks"`
	Batch       int    `json:"batch"`   // over all ranks
	Workers     int    `json:"workers"` // of each rank
	From        int64  `json:"from"`    // samples delivered before it
	To          int64  `json:"to"`
	Digest      string `json:"digest"`       // of what the consumer was given up to its end
	StateDigest string `json:"state_digest"` // that in the state
	StateBytes  int    `json:"state_bytes"`
}

// Side is what one of the two runs came to.
type Side struct {
	Samples int64  `json:"samples"`
	Digest  string `json:"digest"` // of the ids in their order
	Draws   string `json:"draws"`  // of the random numbers of augmentations
	Once    int64  `json:"once"`   // epochs in which each sample came exactly once
	Twice   int64  `json:"twice"`  // samples that came again in an epoch
}

// Report is what was found.
type Report struct {
	Samples       int64    `json:"samples"`
	Epochs        int64    `json:"epochs"`
	Seed          uint64   `json:"seed"`
	Legs          []Leg    `json:"legs"`
	Uninterrupted Side     `json:"uninterrupted"`
	Elastic       Side     `json:"elastic"`
	Failures      []string `json:"failures"`
}

func (l *ledger) side() Side { return Side{l.count, l.digest.Sum(), l.draws.Sum(), l.once, l.twice} }

func (d *demonstration) report(want, got *ledger) *Report {
	r := &Report{Samples: d.Samples, Epochs: d.Epochs, Seed: d.Seed, Legs: d.legs, Uninterrupted: want.side(), Elastic: got.side()}
	for _, row := range r.rows() {
		if row.a != row.b {
			r.Failures = append(r.Failures, row.name+" differ")
		}
	}
	for i, l := range r.Legs {
		if l.Digest != l.StateDigest {
			r.Failures = append(r.Failures, fmt.Sprintf("the digest in the state of leg %d does not match the delivered samples", i+1))
		}
	}
	if r.Elastic.Once != r.Epochs || r.Elastic.Twice > 0 {
		r.Failures = append(r.Failures, "samples did not come exactly once in each epoch")
	}
	return r
}

type row struct{ name, a, b string }

func (r *Report) rows() []row {
	of := func(name string, value func(s Side) any) row {
		return row{name, fmt.Sprint(value(r.Uninterrupted)), fmt.Sprint(value(r.Elastic))}
	}
	return []row{
		of("samples delivered", func(s Side) any { return s.Samples }),
		of("digest of their order", func(s Side) any { return s.Digest }),
		of("digest of augmentations", func(s Side) any { return s.Draws }),
		of("epochs, each sample once", func(s Side) any { return s.Once }),
		of("samples that came twice", func(s Side) any { return s.Twice }),
	}
}

// Print writes the tables.
func (r *Report) Print(w io.Writer) {
	p := func(format string, args ...any) { fmt.Fprintf(w, format, args...) }
	p("%d epochs of %d samples, in an order of its own each\n", r.Epochs, r.Samples)
	p("\nleg  ranks  batch  workers    from sample      to sample  epoch  of it   digest so far                     in the state\n")
	for i, l := range r.Legs {
		verdict := "equal"
		if l.Digest != l.StateDigest {
			verdict = "DIFFERENT"
		}
		epoch, part := l.To/r.Samples, float64(l.To%r.Samples)/float64(r.Samples)
		if l.To%r.Samples == 0 {
			epoch, part = epoch-1, 1
		}
		p("%3d  %5d  %5d  %7d  %13d  %13d  %5d  %4.0f %%  %s  %s\n", i+1, l.Ranks, l.Batch, l.Workers, l.From, l.To, epoch, 100*part, l.Digest, verdict)
	}
	p("\n%-26s %-34s %-34s\n", "", "1 rank, uninterrupted", "8 → 6 → 13 → 1 ranks")
	for _, row := range r.rows() {
		verdict := "equal"
		if row.a != row.b {
			verdict = "DIFFERENT"
		}
		p("%-26s %-34s %-34s %s\n", row.name, row.a, row.b, verdict)
	}
	if n := len(r.Legs); n > 0 {
		p("%-26s %-34s %d bytes\n", "state", "", r.Legs[n-1].StateBytes)
	}
	for _, f := range r.Failures {
		p("FAILED: %s\n", f)
	}
	if len(r.Failures) == 0 {
		p("\nNothing lost, nothing repeated, nothing in another order.\n")
	}
}
