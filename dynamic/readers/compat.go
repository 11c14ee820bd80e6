package readers

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/reader"
)

// Compat is how readers order samples and write states: as another system does, or as Bivouac
// itself. Package compat/dali has the Compat of DALI. Implementations are immutable.
type Compat interface {
	fmt.Stringer
	// Arrange is asked once by every reader, when its iteration begins.
	Arrange(r Request) (*Arrangement, error)
	// Check returns an error if text is not a state, by what can be seen without the reader.
	Check(text string) error
}

// Request is what the arrangement of a reader depends on.
type Request struct {
	Node      *graph.Node // with its arguments
	Info      reader.Info // of the data set
	BatchSize int
	// Checkpointing says whether states may be asked for.
	Checkpointing bool
	// Seed is Options.Seed, for readers without a seed of their own.
	Seed uint64
}

// Arrangement is what a mode makes of one reader.
type Arrangement struct {
	Order order.Order
	Codec Codec
	Meta  Metadata
	// Length returns how many samples an epoch (>= 0) has.
	Length func(epoch int64) int64
	// Period is the number of epochs after which the lengths repeat.
	Period int64
	// Whole says that all batches are full: the last of an epoch goes on into the next.
	Whole bool
	// Restarts says that NextEpoch has a whole epoch's batches even where the one before was
	// left early.
	Restarts bool
}

// Codec writes and reads the states of one reader.
type Codec interface {
	// State returns the text of a place.
	State(at Place) (string, error)
	// Place reads a text, and returns the arrangement that goes on from there: mostly the
	// arrangement of the codec. Errors are of kind errs.Corrupt, and errs.Mismatch for the state of
	// a reader with another data set or other arguments.
	Place(text string) (*Arrangement, Place, error)
}

// Place is where a reader stands.
type Place struct {
	Position int64 // samples delivered, as the order counts them
	Epoch    int64 // the number of the epoch
	// Left is how many samples of it are to come; 0: it has not begun. Unknown where a state
	// does not tell.
	Left int64
}

// Unknown as Place.Left says that Position alone tells where the epoch ends.
const Unknown = -1

// Follower is a system whose ways a restored reader follows.
type Follower interface {
	fmt.Stringer
	// Accepts refuses what the system's SetState refuses.
	Accepts(text string) error
	// Follow returns how the system goes on from a state in a reader, whether it fits or not.
	Follow(a *Arrangement, text string) (*Arrangement, Place, error)
}

// Restore says how a reader goes on from a state. The zero Restore ends the epoch
// where it would have ended, and refuses states of other readers and data sets.
type Restore struct {
	// Compat makes the reader go on as another system does.
	Compat Follower
}

// Metadata tells the sizes of a reader.
type Metadata struct {
	EpochSize       int64 // samples of the data set
	EpochSizePadded int64 // the same with padding: the largest shard times their number
	NumberOfShards  int64
	ShardID         int64 // of the first epoch
	PadLastBatch    bool
	StickToShard    bool
}

// located fills in where an epoch ends that began by the lengths of all before: in a
// stream of batches of that size, from the beginning without a break.
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

// classes are the readers whose names DALI does not write with one capital.
var classes = map[string]string{"coco": "COCO", "mxnet": "MXNet", "tfrecord": "TFRecord"}

// className is the name of the class that DALI has for a reader: "File" of "file". It
// is the type in checkpoints.
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
