package readers

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/reader"
)

// Compat is a mode of readers: it orders samples and writes states in Bivouac's own way, or in the
// way of another system. Package compat/dali has the Compat of DALI. Implementations are immutable.
type Compat interface {
	fmt.Stringer
	// Arrange returns the Arrangement of a reader, which calls it once, when its iteration begins.
	Arrange(r Request) (*Arrangement, error)
	// Check returns an error if text is not a state. It checks only what it can check without the
	// reader.
	Check(text string) error
}

// Request holds everything that the arrangement of a reader depends on.
type Request struct {
	Node      *graph.Node // with its arguments
	Info      reader.Info // of the data set
	BatchSize int
	// Checkpointing says whether the reader has states.
	Checkpointing bool
	// Seed is Options.Seed, for readers without a seed of their own.
	Seed uint64
}

// Arrangement is how a mode runs one reader.
type Arrangement struct {
	Order order.Order
	Codec Codec
	Meta  Metadata
	// Length returns the number of samples of an epoch (>= 0).
	Length func(epoch int64) int64
	// Period is the number of epochs after which the lengths repeat.
	Period int64
	// Whole says that all batches are full: the last batch of an epoch extends into the next epoch.
	Whole bool
	// Restarts says that NextEpoch yields a whole epoch's batches, even if the loop left the previous
	// epoch early.
	Restarts bool
}

// Codec writes and reads the states of one reader.
type Codec interface {
	// State returns the text of the state at a place.
	State(at Place) (string, error)
	// Place reads the text of a state. It returns the place, and the arrangement with which the reader
	// continues; mostly this is the arrangement of the codec. It fails with errs.Corrupt if text is
	// not a state, and with errs.Mismatch for the state of a reader with another data set or other
	// arguments.
	Place(text string) (*Arrangement, Place, error)
}

// Place is the place of a reader in its stream.
type Place struct {
	Position int64 // delivered samples, as the order counts them
	Epoch    int64 // the number of the epoch
	// Left is the number of samples of the epoch that are left. 0 means that the epoch has not begun.
	// It is Unknown if a state does not say it.
	Left int64
}

// Unknown as Place.Left means that the end of the epoch follows from Position.
const Unknown = -1

// Follower is a Compat whose system a restored reader imitates.
type Follower interface {
	fmt.Stringer
	// Accepts returns an error for a text that the system's SetState refuses.
	Accepts(text string) error
	// Follow returns how the system continues a reader from a state, whether the state fits the reader
	// or not.
	Follow(a *Arrangement, text string) (*Arrangement, Place, error)
}

// Restore says how a reader continues from a state. With the zero Restore the epoch ends where it
// would have ended, and states of other readers and data sets are refused.
type Restore struct {
	// Compat makes the reader continue like another system.
	Compat Follower
}

// Metadata holds the sizes of a reader.
type Metadata struct {
	EpochSize       int64 // samples of the data set
	EpochSizePadded int64 // with padding: the size of the largest shard times the number of shards
	NumberOfShards  int64
	ShardID         int64 // of the first epoch
	PadLastBatch    bool
	StickToShard    bool
}

// located returns the place at position pos with Epoch and Left filled in. It assumes an unbroken
// stream of batches of the given size from the beginning.
func (a *Arrangement) located(pos int64, batch int64) Place {
	length := func(epoch int64) int64 {
		n := a.Length(epoch)
		if a.Whole {
			n = (n + batch - 1) / batch * batch
		}
		return n
	}
	period := int64(0)
	for e := range a.Period {
		period += length(e)
	}
	p := Place{Position: pos, Epoch: pos / period * a.Period}
	for rest := pos % period; rest > 0; p.Epoch++ {
		n := length(p.Epoch)
		if rest < n {
			p.Left = n - rest
			break
		}
		rest -= n
	}
	return p
}

// classes are the readers whose DALI names do not just begin with a capital.
var classes = map[string]string{"coco": "COCO", "mxnet": "MXNet", "tfrecord": "TFRecord"}

// className returns DALI's class name of a reader, such as "File" for "file". It is the type in
// checkpoints.
func className(name string) string {
	if class, ok := classes[name]; ok {
		return class
	}
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
