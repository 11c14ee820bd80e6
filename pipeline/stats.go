package pipeline

import (
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/pipeline/exec"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// OperatorStatistics counts the work of an operator. The first four fields are sizes in bytes, one
// for each output. They are counted with Options.EnableMemoryStats.
type OperatorStatistics struct {
	RealMemorySize        []int64 // the largest batch
	MaxRealMemorySize     []int64 // the largest sample
	ReservedMemorySize    []int64 // set aside for batches
	MaxReservedMemorySize []int64 // the most that is set aside for a sample

	// Samples and Time are counted with Options.EnableTiming. Time is the sum over all workers. If
	// samples go through the operators one by one, one sample of each block is timed.
	Samples int64
	Time    time.Duration
}

// Statistics counts the work of a pipeline since it was made.
type Statistics struct {
	Batches int64 // delivered
	Samples int64
	Faults  int64 // samples that failed and were excused
	// Waited is how long the consumer waited for batches. Starved is how often the next batch was not
	// ready; a larger Prefetch may help. Both are counted with Options.EnableTiming.
	Waited  time.Duration
	Starved int64
	// Queue is the number of batches in the making or ready. Depth is its maximum.
	Queue, Depth int64
	// ReadAhead is the number of bytes of fetched samples that are held now. ReadAheadPeak is its
	// largest value so far.
	ReadAhead, ReadAheadPeak int64
}

// tally counts what a pipeline has delivered.
type tally struct {
	faults  faults.Ledger
	counted []*graph.Node
	came    []int64 // samples that came to the counted nodes
	// minds are the nodes that remember something, and remembered is what they remember after the
	// last delivered batch.
	minds      []*graph.Node
	remembered [][]byte
	fresh      [][]byte // and at the start
	meter      meter
	tolerated  map[string]bool // nodes that failed, which the program was told
}

// meter counts what a pipeline does. Other goroutines read it.
type meter struct {
	exec                            atomic.Pointer[exec.Executor]
	batches, samples, faults, queue atomic.Int64
	waited, starved                 atomic.Int64
}

// Operators returns the statistics of each operator, by the name of its node. It is safe for
// concurrent use with all methods except Close.
func (p *Pipeline) Operators() map[string]OperatorStatistics {
	all := map[string]OperatorStatistics{}
	e := p.meter.exec.Load()
	if e == nil {
		return all
	}
	for _, n := range e.Stats() {
		s := OperatorStatistics{Samples: n.Samples, Time: n.Time}
		for _, m := range n.Outputs {
			s.RealMemorySize = append(s.RealMemorySize, m.Batch)
			s.MaxRealMemorySize = append(s.MaxRealMemorySize, m.Sample)
			s.ReservedMemorySize = append(s.ReservedMemorySize, m.Reserved)
			s.MaxReservedMemorySize = append(s.MaxReservedMemorySize, m.ReservedSample)
		}
		all[n.Name] = s
	}
	return all
}

// Statistics returns the statistics of the pipeline. It is safe for concurrent use with all methods
// except Close.
func (p *Pipeline) Statistics() Statistics {
	m := &p.meter
	s := Statistics{
		Batches: m.batches.Load(), Samples: m.samples.Load(), Faults: m.faults.Load(),
		Waited: time.Duration(m.waited.Load()), Starved: m.starved.Load(),
		Queue: m.queue.Load(), Depth: int64(p.options.ahead()),
	}
	if e := m.exec.Load(); e != nil {
		s.ReadAhead, s.ReadAheadPeak = e.ReadAhead()
	}
	return s
}

// samples returns the number of samples of a batch.
func (b *Batch) samples() int {
	if len(b.Outputs) == 0 {
		return 0
	}
	return b.Outputs[0].NumSamples()
}

// count counts a delivered batch.
func (p *Pipeline) count(b *Batch) {
	samples := b.samples()
	p.meter.batches.Add(1)
	p.meter.samples.Add(int64(samples))
	p.meter.queue.Store(int64(p.ring.InFlight()))
	if p.options.OnEvent != nil {
		p.options.OnEvent(Event{Kind: BatchDelivered, Batch: b, Samples: samples, Queue: p.ring.InFlight()})
	}
}
