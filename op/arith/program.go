package arith

import (
	"encoding/binary"
	"math"

	"github.com/bivouac-ml/bivouac/tensor"
)

// program is an expression that is compiled for given input types. Each of its steps computes a
// block of elements. It is immutable.
type program struct {
	steps   []step
	sources []source // inputs and constants: one source for each occurrence in the expression
	slots   int      // number of blocks of intermediate results that are alive at once
}

// step is one call of the expression.
type step struct {
	apply    loop
	operands [3]operand
	count    int
	slot     int // where the result goes, or -1 for the output
	size     int // of an element of the result
	name     string
}

// operand is where a step reads its elements: from a source or, if source is -1, from the slot of
// an earlier step.
type operand struct {
	source, slot int
	size         int // of an element
}

// source is an input or a constant.
type source struct {
	input   int    // of the operator, or -1
	value   []byte // of a constant
	size    int    // of an element of the input
	convert loop   // from the type of the input to the type of its step, or nil
	wide    int    // the size of an element for its step
}

// compile makes the program of a typed tree. integers and reals hold the constants.
func compile(e *expression, integers []int, reals []float64) *program {
	c := compiler{integers: integers, reals: reals}
	c.step(e, -1, 0)
	return &c.program
}

type compiler struct {
	program
	integers []int
	reals    []float64
}

// step appends the steps of a call. The result goes to slot. The steps may use the slots from free
// on.
func (c *compiler) step(e *expression, slot, free int) {
	types := make([]tensor.DType, len(e.operands))
	for i, operand := range e.operands {
		types[i] = operand.dtype
	}
	apply, wants := operation(e.call, types)
	s := step{apply: apply, slot: slot, size: e.dtype.Size(), count: len(types), name: e.call.name}
	for i, operand := range e.operands {
		s.operands[i] = c.operand(operand, wants[i], free+i)
	}
	c.slots = max(c.slots, free+len(types), slot+1)
	c.steps = append(c.steps, s)
}

// operand makes an expression available in the wanted type, as a source or in the given slot. It
// may use all slots after this slot.
func (c *compiler) operand(e *expression, want tensor.DType, slot int) operand {
	size := want.Size()
	var convert loop
	if e.dtype != want {
		convert = conversion(want, e.dtype)
	}
	switch {
	case e.call != nil && convert == nil:
		c.step(e, slot, slot+1)
		return operand{source: -1, slot: slot, size: size}
	case e.call != nil:
		c.step(e, slot+1, slot+2)
		narrow := operand{source: -1, slot: slot + 1, size: e.dtype.Size()}
		c.steps = append(c.steps, step{apply: convert, operands: [3]operand{narrow}, count: 1, slot: slot, size: size})
		return operand{source: -1, slot: slot, size: size}
	case e.constant:
		value := c.value(e)
		if convert != nil {
			wide := memory(8)[:size]
			convert(wide, value, nil, nil)
			value = wide
		}
		c.sources = append(c.sources, source{input: -1, value: value, wide: size})
	default:
		c.sources = append(c.sources, source{input: e.index, size: e.dtype.Size(), convert: convert, wide: size})
	}
	return operand{source: len(c.sources) - 1, size: size}
}

// value returns the memory of a constant in its own type.
func (c *compiler) value(e *expression) []byte {
	b := memory(8)
	switch e.dtype {
	case tensor.Float32:
		binary.LittleEndian.PutUint32(b, math.Float32bits(float32(c.reals[e.index])))
	case tensor.Float64:
		binary.LittleEndian.PutUint64(b, math.Float64bits(float64(float32(c.reals[e.index]))))
	default:
		binary.LittleEndian.PutUint64(b, uint64(c.integers[e.index]))
	}
	return b[:e.dtype.Size()]
}

// operation returns the loop of a call and the types in which it takes operands.
func operation(f *function, operands []tensor.DType) (loop, [3]tensor.DType) {
	promoted, result, _ := f.types(operands)
	at := promoted
	if f.class == float {
		at = result
	}
	wants := [3]tensor.DType{at, at, at}
	mixed := len(operands) == 2 && promoted == tensor.Int64 && operands[0] != operands[1] &&
		(operands[0] == tensor.Uint64 || operands[1] == tensor.Uint64)
	switch {
	case f.class == comparison && mixed:
		if operands[1] == tensor.Uint64 {
			return compareMixed(f.name), [3]tensor.DType{tensor.Int64, tensor.Uint64}
		}
		return exchanged(compareMixed(mirrored(f.name))), [3]tensor.DType{tensor.Uint64, tensor.Int64}
	case f.name == "mod" && promoted == tensor.Float32 && operands[0] != operands[1]:
		return remainder32, [3]tensor.DType{tensor.Float64, tensor.Float64}
	}
	return loopFor(f.name, at), wants
}
