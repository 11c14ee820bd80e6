package dali

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
)

// Dynamic makes the readers of dynamic mode work like DALI's. As readers.Options.Compat it gives
// them DALI's order, full batches and DALI's states. As readers.Restore.Compat it makes a restored
// reader continue as DALI's does.
//
// DALI accepts states of other seeds, shards and data sets silently, and a text that is not a state
// fails with the first batch. Restore.Compat does the same. Without it such states are errors.
type Dynamic struct {
	// Extend adds two things to states, in fields that DALI ignores: the fingerprint of the data set,
	// and where the epoch ends. DALI's own states tell the end of the epoch only for readers that
	// read whole epochs.
	Extend bool
}

// String implements readers.Compat.
func (Dynamic) String() string { return "dali" }

// Arrange implements readers.Compat.
func (d Dynamic) Arrange(r readers.Request) (*readers.Arrangement, error) {
	n, seed := r.Node, int64(-1)
	if n.Seeded {
		seed = int64(n.Seed)
	}
	o, err := NewReaderOrder(readerOptions(n, r.Info, seed, r.BatchSize, r.Checkpointing))
	if err != nil {
		return nil, err
	}
	c := dynamicCodec{extend: d.Extend, order: o, stick: op.Get[bool](n.Config, "stick_to_shard"),
		batch: int64(r.BatchSize), fingerprint: r.Info.Fingerprint}
	return c.arrangement(), nil
}

// Check implements readers.Compat.
func (Dynamic) Check(text string) error {
	_, err := parseDynamic(text)
	return err
}

// parseDynamic reads a state as dynamic mode has it.
func parseDynamic(text string) (*stateproto.Reader, error) {
	var s stateproto.Reader
	return &s, s.UnmarshalText([]byte(text))
}

// Accepts implements readers.Follower. text must be a text that Python's b64decode accepts, which
// ignores characters that are not in the alphabet.
func (Dynamic) Accepts(text string) error {
	_, err := decodeLoosely(text)
	return err
}

// decodeLoosely does the same as Python's base64.b64decode of a string.
func decodeLoosely(text string) ([]byte, error) {
	bad := func(got string) ([]byte, error) {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "dali.Dynamic", Subject: "state", Want: "base64", Got: got}
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range len(text) {
		if text[i] >= 0x80 { // checked first, and also after the end
			return bad("a character that is not ASCII")
		}
	}
	var digits []byte
	pads := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '=':
			if pads++; len(digits)%4 >= 2 && len(digits)%4+pads >= 4 { // this is the end; the rest is ignored
				return base64.RawStdEncoding.DecodeString(string(digits))
			}
		case strings.IndexByte(alphabet, c) >= 0:
			digits, pads = append(digits, c), 0
		}
	}
	if len(digits)%4 != 0 {
		return bad(fmt.Sprintf("%d digits without padding", len(digits)))
	}
	return base64.RawStdEncoding.DecodeString(string(digits))
}

// Follow implements readers.Follower.
func (Dynamic) Follow(a *readers.Arrangement, text string) (*readers.Arrangement, readers.Place, error) {
	c, ok := a.Codec.(dynamicCodec)
	if !ok {
		return nil, readers.Place{}, &errs.Error{Kind: errs.Invalid, Op: "dali.Dynamic", Subject: "Restore.Compat",
			Want: "a reader whose Options.Compat is dali.Dynamic too", Got: "one of another way"}
	}
	b, err := decodeLoosely(text)
	if err != nil {
		return nil, readers.Place{}, err
	}
	s, err := stateproto.DecodeReader(b)
	if err != nil {
		return nil, readers.Place{}, err
	}
	o, pos, err := c.order.From(s.Loader)
	if err != nil {
		return nil, readers.Place{}, err
	}
	c.order = o
	return c.arrangement(), readers.Place{Position: pos}, nil
}

// dynamicCodec reads and writes the states of one reader.
type dynamicCodec struct {
	extend      bool
	order       *ReaderOrder
	stick       bool // the value of the argument, not the one that shuffle_after_epoch implies: DALI counts with it
	batch       int64
	fingerprint string
}

// arrangement returns the arrangement of the reader.
func (c dynamicCodec) arrangement() *readers.Arrangement {
	m := c.order.Meta()
	shards := order.Shards{Samples: m.EpochSizePadded, Count: int64(m.NumberOfShards), ID: int64(m.ShardID),
		Stick: c.stick}
	a := &readers.Arrangement{
		Order: c.order, Codec: c, Length: shards.Size, Period: shards.Count, Whole: true, Restarts: true,
		Meta: readers.Metadata{
			EpochSize: m.EpochSize, EpochSizePadded: m.EpochSizePadded, NumberOfShards: int64(m.NumberOfShards),
			ShardID:      int64(m.ShardID),
			PadLastBatch: m.PadLastBatch == 1, StickToShard: m.StickToShard == 1,
		},
	}
	if c.stick {
		a.Period = 1
	}
	return a
}

// State implements readers.Codec.
func (c dynamicCodec) State(at readers.Place) (string, error) {
	loader, err := c.order.State(at.Position)
	if err != nil {
		return "", err
	}
	s := stateproto.Reader{Loader: loader}
	if c.extend {
		s.Bivouac = &stateproto.Extension{Fingerprint: c.fingerprint, Order: c.order.String(), Batch: c.batch,
			Epoch: at.Epoch, Left: at.Left}
	}
	text, err := s.MarshalText()
	return string(text), err
}

// Place implements readers.Codec.
func (c dynamicCodec) Place(text string) (*readers.Arrangement, readers.Place, error) {
	s, err := parseDynamic(text)
	if err != nil {
		return nil, readers.Place{}, err
	}
	at := readers.Place{Left: readers.Unknown}
	if x := s.Bivouac; x != nil {
		if err := c.check(x); err != nil {
			return nil, at, err
		}
		if x.Batch == c.batch {
			at.Epoch, at.Left = x.Epoch, x.Left
		}
	}
	if c.order, at.Position, err = c.order.resume(s.Loader); err != nil {
		return nil, at, err
	}
	a := c.arrangement()
	if at.Left > a.Length(at.Epoch) {
		return nil, at, &errs.Error{Kind: errs.Corrupt, Subject: "bivouac.left",
			Want: fmt.Sprintf("at most %d", a.Length(at.Epoch)), Got: strconv.FormatInt(at.Left, 10)}
	}
	return a, at, nil
}

// mostReplayed is how many random numbers are drawn again to check whether a state belongs to this
// reader. They take about half a second.
const mostReplayed = 1 << 26

// resume returns the order that continues from a state, and the position in it. It fails in the
// same cases as Position. It does not check the random state of an epoch that is far away.
func (r *ReaderOrder) resume(s stateproto.Loader) (*ReaderOrder, int64, error) {
	epoch := int64(max(0, s.Epoch))
	if !r.options.RandomShuffle || epoch <= mostReplayed/r.shards.Largest() {
		pos, err := r.Position(s)
		return r.resumedFrom(s), pos, err
	}
	far, _, err := r.From(s)
	if err != nil {
		return nil, 0, err
	}
	pos, err := far.Position(s)
	return far, pos, err
}

// check returns an error for the state of another data set or another order, which DALI does not
// notice.
func (c dynamicCodec) check(x *stateproto.Extension) error {
	const remedy = "resume with the data set and arguments of the reader that was saved"
	switch {
	case x.Fingerprint != c.fingerprint:
		return &errs.Error{Kind: errs.Mismatch, Subject: "data set", Want: "fingerprint " + c.fingerprint,
			Got: strconv.Quote(x.Fingerprint), Remedy: remedy}
	case x.Order != c.order.String():
		return &errs.Error{Kind: errs.Mismatch, Subject: "order", Want: c.order.String(), Got: strconv.Quote(x.Order),
			Remedy: remedy}
	case x.Epoch < 0 || x.Left < 0:
		return &errs.Error{Kind: errs.Corrupt, Subject: "bivouac", Want: "numbers of epochs and samples",
			Got: fmt.Sprintf("epoch %d, %d left", x.Epoch, x.Left)}
	}
	return nil
}

var (
	_ readers.Compat   = Dynamic{}
	_ readers.Follower = Dynamic{}
)
