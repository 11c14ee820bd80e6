package arith

import (
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// blockLen is the number of elements that go through all steps at once, so that intermediate
// results stay in the cache.
const blockLen = 1024

// machine is the memory with which a worker runs a program: a slot for every
// intermediate result and the state of every source.
type machine struct {
	program *program
	slots   [][]byte
	sources []sourceState
}

func newMachine(p *program) *machine {
	m := &machine{program: p, sources: make([]sourceState, len(p.sources))}
	for range p.slots {
		m.slots = append(m.slots, memory(blockLen*8))
	}
	for i := range p.sources {
		if src := &p.sources[i]; src.input < 0 {
			m.sources[i].repeat(src, src.value, 1)
		}
	}
	return m
}

// forget drops the inputs of the last run, so that their memory can be collected.
func (m *machine) forget() {
	for i := range m.sources {
		if m.program.sources[i].input >= 0 {
			m.sources[i].data = nil
		}
	}
}

// memory returns n bytes that are aligned for every element type.
func memory(n int) []byte {
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

// grown returns b with length n. If b is too small, grown allocates new memory.
func grown(b []byte, n int) []byte {
	if cap(b) < n {
		return memory(n)
	}
	return b[:n]
}

// run computes the expression of inputs, which broadcast to the shape of out.
func (m *machine) run(out tensor.Tensor, in []tensor.Tensor) error {
	for i := range m.program.sources {
		if src := &m.program.sources[i]; src.input >= 0 {
			m.sources[i].prepare(src, in[src.input], out.Shape)
		}
	}
	size := out.DType.Size()
	for lo, n := 0, out.Shape.Len(); lo < n; lo += blockLen {
		hi := min(n, lo+blockLen)
		if err := m.block(out.Data[lo*size:hi*size], lo, hi-lo); err != nil {
			return err
		}
	}
	return nil
}

// block computes elements lo to lo+n.
func (m *machine) block(out []byte, lo, n int) error {
	for i := range m.program.steps {
		s := &m.program.steps[i]
		var operands [3][]byte
		for k := range s.count {
			operands[k] = m.operand(&s.operands[k], lo, n)
		}
		dst := out
		if s.slot >= 0 {
			dst = m.slots[s.slot][:n*s.size]
		}
		if !s.apply(dst, operands[0], operands[1], operands[2]) {
			return &errs.Error{Kind: errs.Invalid, Subject: "operand of " + s.name, Want: "an integer other than 0 to divide by", Got: "0"}
		}
	}
	return nil
}

// operand returns n elements from lo on.
func (m *machine) operand(o *operand, lo, n int) []byte {
	if o.source < 0 {
		return m.slots[o.slot][:n*o.size]
	}
	return m.sources[o.source].block(&m.program.sources[o.source], lo, n)
}
