package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

// The states, as peers.py makes them too: float32 that no compressor shrinks much.
const (
	arrays16   = "arrays16"   // 16 arrays of the same size
	arrays1500 = "arrays1500" // 75 blocks of 1 large, 5 medium and 14 small arrays
	scalars    = "scalars"    // 200 groups of 100 numbers
	matrix     = "matrix"     // one matrix of half the size, 8192 columns
)

// newState makes a state of about that many bytes.
func newState(kind string, bytes int) (map[string]any, error) {
	p := rng.NewPhilox(1, 0, 0)
	array := func(elements, columns int) tensor.Tensor {
		v := make([]float32, elements/columns*columns)
		for i := 0; i+1 < len(v); i += 2 { // Box–Muller
			r := math.Sqrt(-2 * math.Log(1-float64(p.Float32())))
			sin, cos := math.Sincos(2 * math.Pi * float64(p.Float32()))
			v[i], v[i+1] = float32(r*cos), float32(r*sin)
		}
		if columns == 1 {
			return tensor.FromSlice(v, len(v))
		}
		return tensor.FromSlice(v, len(v)/columns, columns)
	}
	state := map[string]any{}
	switch kind {
	case arrays16:
		for i := range 16 {
			state[fmt.Sprintf("w%02d", i)] = array(bytes/64, 1024)
		}
	case arrays1500:
		share := func(f float64, arrays int) int { return int(float64(bytes)*f) / (4 * arrays) }
		for i := range 75 {
			attn, ln := map[string]any{}, map[string]any{}
			for j := range 5 {
				attn[fmt.Sprint("m", j)] = array(share(.065, 375), 64)
			}
			for j := range 14 {
				ln[fmt.Sprint("s", j)] = array(share(.005, 1050), 1)
			}
			state[fmt.Sprintf("block_%02d", i)] = map[string]any{"large": array(share(.93, 75), 1024), "attn": attn, "ln": ln}
		}
	case scalars:
		for i := range 200 {
			group := map[string]any{}
			for j := range 100 {
				group[fmt.Sprintf("x%03d", j)] = float64(i*1000 + j)
			}
			state[fmt.Sprintf("g%04d", i)] = group
		}
	case matrix:
		state["x"] = array(bytes/8, 8192)
	default:
		return nil, fmt.Errorf("no state %q", kind)
	}
	return state, nil
}

// memory lists the bytes of the arrays of a state.
func memory(state map[string]any) [][]byte {
	var out [][]byte
	for _, v := range state {
		switch v := v.(type) {
		case tensor.Tensor:
			out = append(out, v.Data)
		case map[string]any:
			out = append(out, memory(v)...)
		}
	}
	return out
}

// size is the bytes of the elements of a state.
func size(state map[string]any) int64 {
	n := int64(0)
	for _, v := range state {
		switch v := v.(type) {
		case tensor.Tensor:
			n += int64(len(v.Data))
		case map[string]any:
			n += size(v)
		default:
			n += 8
		}
	}
	return n
}

// zeros is a state of the same structure without the values, touched.
func zeros(state map[string]any) map[string]any {
	out := make(map[string]any, len(state))
	for k, v := range state {
		switch v := v.(type) {
		case tensor.Tensor:
			v.Data = slices.Clone(v.Data)
			clear(v.Data)
			out[k] = v
		case map[string]any:
			out[k] = zeros(v)
		default:
			out[k] = 0.0
		}
	}
	return out
}
