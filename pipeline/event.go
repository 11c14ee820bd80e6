package pipeline

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/internal/enum"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// EventKind says what happened.
type EventKind uint8

// The kinds of events.
const (
	BatchDelivered EventKind = iota + 1 // Next or Take returned Batch
	SampleExcused                       // a sample of a delivered batch failed, and a policy excused it: Fault
	EpochEnded                          // an external source is at its end; Reset begins it again
	BatchFailed                         // a batch could not be made: Err
	Moved                               // SetState or Skip moved the stream to Position
	// SampleOverdue: an operator works longer on a sample than Options.Limits.MaxTime allows (Err).
	// The pipeline waits for it.
	SampleOverdue
	// OperatorDeprecated: the pipeline that was made has an Operator whose name is given up. It works;
	// Instead says what to use. There is one event for each such operator.
	OperatorDeprecated
	// OperatorTolerated: an Operator that no output needs failed for the first time (Err), and
	// Options.TolerateUnused lets the batches be delivered.
	OperatorTolerated
)

var eventNames = []string{"", "batch delivered", "sample excused", "epoch ended", "batch failed", "moved",
	"sample overdue", "operator deprecated", "operator tolerated"}

// String returns the kind in words.
func (k EventKind) String() string { return enum.Name(k, eventNames, "event %d") }

// Event is the argument of Options.OnEvent. The goroutine that calls the pipeline calls OnEvent
// before its call returns. Events are for logs and displays of progress. Statistics and
// WriteMetrics give the totals at any time.
type Event struct {
	Kind     EventKind
	Batch    *Batch        // BatchDelivered; the caller's, as Next says
	Samples  int           // BatchDelivered: the number of its samples
	Queue    int           // BatchDelivered: the number of batches in the making or ready
	Position int64         // Moved
	Fault    *faults.Fault // SampleExcused
	Err      error         // BatchFailed, SampleOverdue, OperatorTolerated
	Operator string        // OperatorDeprecated; OperatorTolerated: the name of its node
	Instead  string        // OperatorDeprecated
}

// tell passes an event to Options.OnEvent.
func (p *Pipeline) tell(e Event) {
	if p.options.OnEvent != nil {
		p.turn.Callback(func() { p.options.OnEvent(e) })
	}
}

// tellDeprecated tells which operators of the graph have names that are given up.
func (p *Pipeline) tellDeprecated(nodes []*graph.Node) {
	told := map[string]bool{}
	for _, n := range nodes {
		name := n.Schema.FullName()
		if n.Schema.Deprecated == "" || told[name] {
			continue
		}
		told[name] = true
		p.tell(Event{Kind: OperatorDeprecated, Operator: name, Instead: n.Schema.Deprecated})
	}
}

// LogEvents returns a function for Options.OnEvent. The function logs unusual events, and how fast
// batches come: once per `every` batches, or never if every <= 0.
func LogEvents(log *slog.Logger, every int) func(Event) {
	batches, samples, since := 0, 0, time.Now()
	return func(e Event) {
		switch e.Kind {
		case BatchDelivered:
			batches, samples = batches+1, samples+e.Samples
			if every > 0 && batches%every == 0 {
				took := time.Since(since).Seconds()
				log.Info("pipeline: batches delivered", "batches", batches, "epoch", e.Batch.Epoch, "index", e.Batch.Index,
					"samples_per_second", int(float64(samples)/max(took, 1e-9)), "queue", e.Queue)
				samples, since = 0, time.Now()
			}
		case SampleExcused:
			log.Warn("pipeline: a sample failed", "position", e.Fault.Position, "reader", e.Fault.Reader, "id", e.Fault.ID,
				"action", e.Fault.Action, "reason", e.Fault.Reason)
		case BatchFailed:
			log.Error("pipeline: a batch failed", "error", e.Err)
		case SampleOverdue:
			log.Warn("pipeline: a sample takes long", "error", e.Err)
		case OperatorDeprecated:
			log.Warn("pipeline: the operator "+e.Operator+" is deprecated", "instead", e.Instead)
		case OperatorTolerated:
			log.Warn("pipeline: an operator failed that no output needs", "error", e.Err)
		case Moved:
			log.Info("pipeline: moved", "position", e.Position)
		default:
			log.Info("pipeline: " + e.Kind.String())
		}
	}
}

// WriteMetrics writes the statistics in the text format of Prometheus, each with the label
// pipeline=name. It is safe for concurrent use with all methods except Close.
func (p *Pipeline) WriteMetrics(w io.Writer, name string) error {
	s := p.Statistics()
	var b strings.Builder
	family := func(metric, kind, help string) {
		fmt.Fprintf(&b, "# HELP bivouac_pipeline_%s %s\n# TYPE bivouac_pipeline_%s %s\n", metric, help, metric, kind)
	}
	label := "pipeline=" + strconv.Quote(name)
	for _, m := range []struct {
		metric, kind, help string
		value              float64
	}{
		{"batches_total", "counter", "Batches delivered.", float64(s.Batches)},
		{"samples_total", "counter", "Samples delivered.", float64(s.Samples)},
		{"faults_total", "counter", "Samples that failed and were excused.", float64(s.Faults)},
		{"wait_seconds_total", "counter", "Time that the consumer waited for batches.", s.Waited.Seconds()},
		{"starved_total", "counter", "Batches that were not ready when they were asked for.", float64(s.Starved)},
		{"queue", "gauge", "Batches in the making or ready.", float64(s.Queue)},
		{"queue_depth", "gauge", "Batches that may be in the making or ready.", float64(s.Depth)},
		{"read_ahead_bytes", "gauge", "Bytes of fetched samples that are held.", float64(s.ReadAhead)},
		{"read_ahead_peak_bytes", "gauge", "The most that ever were.", float64(s.ReadAheadPeak)},
	} {
		family(m.metric, m.kind, m.help)
		fmt.Fprintf(&b, "bivouac_pipeline_%s{%s} %v\n", m.metric, label, m.value)
	}
	operators := p.Operators()
	names := slices.Sorted(maps.Keys(operators))
	family("operator_seconds_total", "counter", "Time of an operator, over all workers.")
	for _, n := range names {
		fmt.Fprintf(&b, "bivouac_pipeline_operator_seconds_total{%s,operator=%q} %v\n", label, n, operators[n].Time.Seconds())
	}
	family("operator_samples_total", "counter", "Samples that an operator was timed for.")
	for _, n := range names {
		fmt.Fprintf(&b, "bivouac_pipeline_operator_samples_total{%s,operator=%q} %d\n", label, n, operators[n].Samples)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
