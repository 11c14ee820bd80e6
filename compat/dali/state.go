package dali

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
)

// ReaderState is what a DALI reader saves: the generator of RandomShuffle at the
// beginning of an epoch, the number of the epoch, and how many samples of it were
// delivered. Its binary form is DALI's protobuf ReaderStateSnapshot, its text
// that in base64, as DALI's dynamic mode has it:
//
//	ReaderStateSnapshot  1: loader_state
//	loader_state         1: rng, decimal text   2: current_epoch   3: age
type ReaderState struct {
	Numbers    libstdcxx.MinstdRand0
	Epoch, Age int32
}

// State returns the state of a reader that has delivered pos samples (>= 0). The
// error is of kind errs.Unsupported where the number of the epoch exceeds
// DALI's 31 bits.
func (r *ReaderOrder) State(pos int64) (ReaderState, error) {
	number, age := r.shards.locate(pos)
	if number > math.MaxInt32 {
		return ReaderState{}, &errs.Error{Kind: errs.Unsupported, Op: "dali.ReaderOrder.State",
			Want: "an epoch below 2^31", Got: "epoch " + strconv.FormatInt(number, 10)}
	}
	return ReaderState{Numbers: r.start(number), Epoch: int32(number), Age: int32(age)}, nil
}

// Position returns how many samples the reader had delivered when it saved s. The
// error is of kind errs.Mismatch when this reader is never in that state, since
// it has another seed, data set, shard or batch; DALI goes on silently, with
// another order. Without RandomShuffle the random state is not looked at.
func (r *ReaderOrder) Position(s ReaderState) (int64, error) {
	number, age := int64(s.Epoch), int64(s.Age)
	bad := func(want, got string) error {
		return &errs.Error{Kind: errs.Mismatch, Op: "dali.ReaderOrder.Position", Want: want, Got: got,
			Remedy: "resume with the data set, seed, shards and batch size of the reader that was saved"}
	}
	if number < 0 || age < 0 || age >= r.shards.length(number) {
		return 0, bad(fmt.Sprintf("an age below %d", r.shards.length(max(number, 0))), fmt.Sprintf("epoch %d, age %d", number, age))
	}
	if g := r.start(number); r.options.RandomShuffle && g != s.Numbers {
		return 0, bad(fmt.Sprintf("random state %s in epoch %d", g, number), s.Numbers.String())
	}
	return r.shards.begin(number) + age, nil
}

// start returns the generator at the beginning of an epoch; it moves with
// RandomShuffle only.
func (r *ReaderOrder) start(number int64) libstdcxx.MinstdRand0 {
	if !r.options.RandomShuffle {
		number = 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.numbers.start(number)
}

// Tags of the protobuf: the number of the field and its wire type, bytes or varint.
const (
	tagLoaderState = 1<<3 | 2
	tagRNG         = 1<<3 | 2
	tagEpoch       = 2 << 3
	tagAge         = 3 << 3
)

// MarshalBinary returns the bytes that DALI writes for s. It never fails.
func (s ReaderState) MarshalBinary() ([]byte, error) {
	rng := s.Numbers.String()
	inner := append([]byte{tagRNG, byte(len(rng))}, rng...)
	inner = binary.AppendUvarint(append(inner, tagEpoch), uint64(int64(s.Epoch)))
	inner = binary.AppendUvarint(append(inner, tagAge), uint64(int64(s.Age)))
	return append([]byte{tagLoaderState, byte(len(inner))}, inner...), nil
}

// UnmarshalBinary restores what DALI or MarshalBinary wrote, to the byte: other
// encodings of the same message are refused, as are negative numbers. The error
// is of kind errs.Corrupt; then s is unchanged.
func (s *ReaderState) UnmarshalBinary(b []byte) error {
	next, ok := parseReaderState(b)
	if ok {
		back, _ := next.MarshalBinary()
		ok = string(back) == string(b)
	}
	if !ok {
		return &errs.Error{Kind: errs.Corrupt, Op: "dali.ReaderState", Want: "a protobuf ReaderStateSnapshot as DALI writes it",
			Got: fmt.Sprintf("%d bytes %x", len(b), b[:min(len(b), 32)])}
	}
	*s = next
	return nil
}

func parseReaderState(b []byte) (s ReaderState, ok bool) {
	inner, rest, ok := field(b, tagLoaderState)
	if !ok || len(rest) > 0 {
		return s, false
	}
	rng, rest, ok := field(inner, tagRNG)
	if !ok || s.Numbers.UnmarshalText(rng) != nil {
		return s, false
	}
	for _, f := range []struct {
		tag byte
		dst *int32
	}{{tagEpoch, &s.Epoch}, {tagAge, &s.Age}} {
		if len(rest) == 0 || rest[0] != f.tag {
			return s, false
		}
		v, n := binary.Uvarint(rest[1:])
		if n <= 0 || v > math.MaxInt32 {
			return s, false
		}
		*f.dst, rest = int32(v), rest[1+n:]
	}
	return s, len(rest) == 0
}

// field cuts a field of bytes, which are fewer than 128, off a message.
func field(b []byte, tag byte) (value, rest []byte, ok bool) {
	if len(b) < 2 || b[0] != tag || int(b[1]) > len(b)-2 {
		return nil, nil, false
	}
	return b[2 : 2+b[1]], b[2+b[1]:], true
}

// MarshalText returns the binary form in base64. It never fails.
func (s ReaderState) MarshalText() ([]byte, error) {
	b, err := s.MarshalBinary()
	return base64.StdEncoding.AppendEncode(nil, b), err
}

// UnmarshalText restores what MarshalText wrote; the error is of kind
// errs.Corrupt, and then s is unchanged.
func (s *ReaderState) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.Strict().DecodeString(string(text))
	if err != nil {
		return &errs.Error{Kind: errs.Corrupt, Op: "dali.ReaderState", Want: "base64", Got: strconv.Quote(string(text[:min(len(text), 60)])), Err: err}
	}
	return s.UnmarshalBinary(b)
}
