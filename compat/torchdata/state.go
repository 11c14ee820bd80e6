package torchdata

import (
	"encoding/binary"
	"fmt"

	"github.com/bivouac-ml/bivouac/compat/torchdata/internal/leap"
	"github.com/bivouac-ml/bivouac/errs"
)

// StateSize is the length of a generator's state in bytes.
const StateSize = 5056

// The layout of a state, little-endian:
//
//	0     seed    uint64
//	8     left    int32: numbers until the words are used up, plus one
//	12    seeded  int32: 1
//	16    next    uint64: the next word; 0 only before the first number
//	24    words   624 times uint64, of which 32 bits are used
//	5016  normal  what randn keeps for its next call
const (
	leftAt, seededAt, nextAt, wordsAt, tailAt = 8, 12, 16, 24, 5016

	tailSize = StateSize - tailAt
)

// MarshalBinary returns the state, which is the bytes of torch's get_state. It never fails.
func (g Generator) MarshalBinary() ([]byte, error) {
	words, next := g.words()
	left := leap.Size + 1 - next
	if g.fresh {
		next = 0
	}
	b := make([]byte, StateSize)
	binary.LittleEndian.PutUint64(b, g.seed)
	binary.LittleEndian.PutUint32(b[leftAt:], left)
	binary.LittleEndian.PutUint32(b[seededAt:], 1)
	binary.LittleEndian.PutUint64(b[nextAt:], uint64(next))
	for i, word := range words {
		binary.LittleEndian.PutUint32(b[wordsAt+8*i:], word)
	}
	copy(b[tailAt:], g.normal[:])
	return b, nil
}

// UnmarshalBinary restores a state that MarshalBinary or torch wrote, like torch's set_state. The
// error is of kind errs.Corrupt for bytes that no generator writes, and g is unchanged then.
func (g *Generator) UnmarshalBinary(b []byte) error {
	if len(b) != StateSize {
		return badState(fmt.Sprint(StateSize, " bytes"), len(b))
	}
	if seeded := binary.LittleEndian.Uint32(b[seededAt:]); seeded != 1 {
		return badState("a seeded generator (1)", seeded)
	}
	left, next := binary.LittleEndian.Uint32(b[leftAt:]), binary.LittleEndian.Uint64(b[nextAt:])
	fresh := next == 0 && left == 1
	if !fresh && (next < 1 || next > leap.Size || uint64(left) != leap.Size+1-next) {
		return badState("a place and a rest whose sum is 625", fmt.Sprint(next, " and ", left))
	}
	var words [leap.Size]uint32
	for i := range words {
		word := binary.LittleEndian.Uint64(b[wordsAt+8*i:])
		if word>>32 != 0 {
			return badState("words of 32 bits", word)
		}
		words[i] = uint32(word)
	}
	if fresh {
		next = leap.Size
	}
	read := Generator{seed: binary.LittleEndian.Uint64(b), fresh: fresh}
	read.setWords(&words, uint32(next))
	copy(read.normal[:], b[tailAt:])
	*g = read
	return nil
}

func badState(want string, got any) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "torchdata.Generator.UnmarshalBinary", Want: want, Got: fmt.Sprint(got)}
}
