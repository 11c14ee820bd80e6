package stateproto

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng"
)

// Snapshot is the state of one operator: a Stateless, Random, *Reader or Opaque.
type Snapshot interface {
	// AppendState appends the bytes of Op.State to dst.
	AppendState(dst []byte) []byte
}

// Stateless is the state of an operator that has none.
type Stateless struct{}

// Random is the state of a random operator. With each iteration its sequence number grows by the
// size of the batch.
type Random struct{ rng.Philox }

// Opaque is a state of a kind that this package does not know. It is never empty.
type Opaque []byte

// Reader is the state of a reader, ReaderStateSnapshot.
type Reader struct {
	Loader Loader `dali:"1,loader_state,always"`
	// Bivouac has values for which DALI has no fields, and which DALI ignores. It is nil in DALI's own
	// states.
	Bivouac *Extension `dali:"1000,bivouac"`

	Wire Layout
}

// Extension holds values of a reader that only Bivouac writes.
type Extension struct {
	Fingerprint string `dali:"1,fingerprint"` // fingerprint of the data set
	Order       string `dali:"2,order"`       // in words, with everything that decides it
	Batch       int64  `dali:"3,batch"`       // size of the batches
	Epoch       int64  `dali:"4,epoch"`       // number of the epoch among those that were read, from 0
	Left        int64  `dali:"5,left"`        // samples of the epoch that follow; 0 if it has not begun

	Wire Layout
}

// Loader is the position of a reader, LoaderStateSnapshot.
type Loader struct {
	RNG   string `dali:"1,rng,always"` // at the start of the epoch; see Engine
	Epoch int32  `dali:"2,current_epoch,always"`
	Age   int32  `dali:"3,age,always"` // samples since the start of the epoch

	Wire Layout
}

// AppendState appends nothing.
func (Stateless) AppendState(dst []byte) []byte { return dst }

// AppendState appends the 59 characters of the generator.
func (r Random) AppendState(dst []byte) []byte { return append(dst, r.String()...) }

// AppendState appends the message.
func (r *Reader) AppendState(dst []byte) []byte { return readers.Append(dst, r) }

// AppendState appends the bytes as they are.
func (o Opaque) AppendState(dst []byte) []byte { return append(dst, o...) }

// Snapshot finds out from the bytes which state the operator has. AppendState of the result returns
// the same bytes. Bytes that are not a state of DALI are Opaque.
func (o *Op) Snapshot() Snapshot {
	if len(o.State) == 0 {
		return Stateless{}
	}
	if p, err := rng.ParsePhilox(string(o.State)); err == nil && p.String() == string(o.State) {
		return Random{p}
	}
	if r, err := ParseReader(o.State); err == nil {
		return r
	}
	return Opaque(o.State)
}

// ParseReader reads the state of a reader. The error is of kind errs.Corrupt for bytes that are not
// a message, and for a message without the state of a loader with a generator. It also fails in the
// same cases as Parse.
func ParseReader(b []byte) (*Reader, error) {
	r, err := DecodeReader(b)
	if err != nil {
		return nil, err
	}
	if _, err := r.Loader.Engine(); err != nil {
		return nil, &errs.Error{Op: "stateproto.ParseReader", Subject: "loader_state.rng", Err: err}
	}
	return r, nil
}

// DecodeReader reads the state of a reader as DALI does. DALI accepts every message: missing fields
// are zero, and the text of the generator may be anything.
func DecodeReader(b []byte) (*Reader, error) { return readers.Parse(b) }

const maxEngine = 1<<31 - 2

// NewLoader returns the state of a reader. When the epoch began, its generator, a
// std::minstd_rand0, had the state engine, from 1 to 2^31-2. Since then the reader has delivered
// age samples.
func NewLoader(engine uint32, epoch, age int32) Loader {
	return Loader{RNG: strconv.FormatUint(uint64(engine), 10), Epoch: epoch, Age: age}
}

// Engine returns the state of the generator. The error is of kind errs.Corrupt if RNG is not the
// text of such a state.
func (l *Loader) Engine() (uint32, error) {
	v, err := strconv.ParseUint(l.RNG, 10, 32)
	if err != nil || v < 1 || v > maxEngine || strconv.FormatUint(v, 10) != l.RNG {
		return 0, &errs.Error{Kind: errs.Corrupt, Op: "stateproto.Loader",
			Want: "a number from 1 to " + strconv.Itoa(maxEngine),
			Got:  strconv.Quote(l.RNG[:min(len(l.RNG), 20)])}
	}
	return uint32(v), nil
}

// MarshalText returns the state in the form of dynamic mode: the message in base64.
func (r *Reader) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, r.AppendState(nil)), nil
}

// UnmarshalText reads the result of MarshalText. It fails in the same cases as ParseReader, and
// with errs.Corrupt if the text is not base64. After an error r is unchanged.
func (r *Reader) UnmarshalText(text []byte) error {
	// The decoder of encoding/base64 ignores line ends. DALI writes none.
	b, err := base64.StdEncoding.Strict().DecodeString(string(text))
	if err != nil || strings.ContainsAny(string(text), "\r\n") {
		return &errs.Error{Kind: errs.Corrupt, Op: "stateproto.Reader", Want: "base64 in one line", Err: err}
	}
	parsed, err := ParseReader(b)
	if err == nil {
		*r = *parsed
	}
	return err
}
