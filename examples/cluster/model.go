package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/tensor"
)

// rows and columns of the weights.
const rows, columns = 64, 16

// model has a matrix of weights in fixed point. Sums of integers do not depend on their order, so
// the weights do not depend on which process computes what.
type model struct {
	weights [rows * columns]int64
	step    int64
	order   int64 // a digest of the ids of all samples, in their order
}

// mix is a number that looks random.
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// add adds what a sample says of the weights to sums: each row is fitted to a line that the sample
// knows with noise.
func (m *model) add(sums []int64, id int64, noise uint64) {
	for r := range rows {
		x := int64(mix(uint64(id)<<8|uint64(r))%2001) - 1000
		for c := range columns {
			want := int64(r*columns+c)<<8 + int64(mix(noise+uint64(r*columns+c))%512)
			sums[r*columns+c] += (want - m.weights[r*columns+c]) * (x*x%1000 + 1)
		}
	}
}

// apply ends a step with the sums of all processes and the ids of its samples.
func (m *model) apply(sums []int64, ids []int64) {
	for i, s := range sums {
		m.weights[i] += s / int64(len(ids)) >> 12
	}
	for _, id := range ids {
		m.order = int64(mix(uint64(m.order)*31 + uint64(id)))
	}
	m.step++
}

// digest is the SHA-256 of the weights.
func (m *model) digest() string {
	sum := sha256.New()
	binary.Write(sum, binary.LittleEndian, m.weights[:]) //nolint:errcheck // a hash takes all bytes
	return hex.EncodeToString(sum.Sum(nil))[:32]
}

// share is what a process saves: its rows of the weights, and what all have alike.
func (m *model) share(rank, world int) map[string]any {
	from, to := rows*rank/world, rows*(rank+1)/world
	parts := checkpoint.Shards{DType: tensor.Int64, Shape: tensor.Shape{rows, columns}}
	if from < to {
		part := append([]int64(nil), m.weights[from*columns:to*columns]...)
		parts.Parts = []checkpoint.Shard{{Origin: []int{from, 0}, Data: tensor.FromSlice(part, to-from, columns)}}
	}
	return map[string]any{"weights": parts, "step": m.step, "order": m.order}
}

// saved is a step as it is loaded.
type saved struct {
	Weights tensor.Tensor `bivouac:"weights"`
	Step    int64         `bivouac:"step"`
	Order   int64         `bivouac:"order"`
}

// restore takes the state of a step.
func (m *model) restore(s *saved) error {
	v, err := tensor.Of[int64](s.Weights)
	if err != nil {
		return err
	}
	if copy(m.weights[:], v) != len(m.weights) {
		return fmt.Errorf("step %d has %d weights, want %d", s.Step, len(v), len(m.weights))
	}
	m.step, m.order = s.Step, s.Order
	return nil
}
