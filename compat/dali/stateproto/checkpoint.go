package stateproto

import (
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/dali/internal/wire"
)

// Layout is how a message was laid out in the bytes from which it was parsed; see wire.Layout. It
// is zero, which is DALI's own layout, unless another program wrote the message.
type Layout = wire.Layout

// Checkpoint is a checkpoint of a pipeline.
type Checkpoint struct {
	Ops      []Op      `dali:"1,cpts"`             // states of all nodes, in the executor's order
	External *External `dali:"2,external_ctx_cpt"` // the state that Python keeps

	Wire Layout
}

// Op is the state of one node of the executor, OpCheckpoint.
type Op struct {
	Name  string `dali:"1,operator_name,always"`
	State []byte `dali:"2,operator_state,always"` // see Snapshot

	Wire Layout
}

// External is the state that DALI's Python keeps, ExternalContextCheckpoint.
type External struct {
	Pipeline []byte `dali:"1,pipeline_data,always"` // JSON; see Progress
	Iterator []byte `dali:"2,iterator_data,always"` // JSON, or nothing; see Iterator

	Wire Layout
}

// limits bounds Parse; a node has three fields.
func limits() wire.Limits { return wire.Limits{Bytes: 64 << 20, Depth: 8, Fields: 1 << 20} }

var (
	checkpoints = wire.NewCodec[Checkpoint]("stateproto.Parse", limits())
	readers     = wire.NewCodec[Reader]("stateproto.ParseReader", limits())
)

// Parse reads a checkpoint. The error is of kind errs.Corrupt for bytes that are not a checkpoint,
// errs.Unsupported for two external contexts, and errs.Exhausted for more than 64 MiB or 1,048,576
// fields. The states of operators stay bytes; Op.Snapshot reads them.
func Parse(b []byte) (*Checkpoint, error) { return checkpoints.Parse(b) }

// Append appends the checkpoint to dst. Parts that Parse read, and that were not changed, are
// written with the same bytes.
func Append(dst []byte, c *Checkpoint) []byte { return checkpoints.Append(dst, c) }

// Op returns the entry with the given name, or nil. The result is one of c.Ops.
func (c *Checkpoint) Op(name string) *Op {
	for i := range c.Ops {
		if c.Ops[i].Name == name {
			return &c.Ops[i]
		}
	}
	return nil
}

const contiguous = "__MakeContiguous_CpuToCpu_"

// Contiguous returns the name of the node that makes output number i of an instance contiguous on
// the processor. n is the number of its outputs.
func Contiguous(instance string, i, n int) string {
	if n == 1 {
		return contiguous + instance
	}
	return contiguous + instance + "[" + strconv.Itoa(i) + "]"
}

// Producer returns the instance and the number of its output after which the node comes, if the
// node has a name of Contiguous. The number is 0 if the instance has one output.
func (o *Op) Producer() (instance string, output int, ok bool) {
	instance, ok = strings.CutPrefix(o.Name, contiguous)
	if !ok {
		return "", 0, false
	}
	name, digits, found := strings.Cut(strings.TrimSuffix(instance, "]"), "[")
	if n, err := strconv.Atoi(digits); found && err == nil && n >= 0 && Contiguous(name, n, n+2) == o.Name {
		return name, n, true
	}
	return instance, 0, true
}
