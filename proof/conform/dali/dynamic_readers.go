package dali

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// dynamicReader is a file ckpt/dynamic/reader_*.json: a reader and two generators in one
// checkpoint after every batch, and what comes after restoring it.
type dynamicReader struct {
	Params struct {
		Name      string
		N         int
		BatchSize int `json:"batch_size"` // 0: sample mode
		Args      map[string]any
		RNGSeed   uint64 `json:"rng_seed"`
	}
	Epochs   [][]dynamicBatch
	Metadata dali.ReaderMeta
	Restored []struct {
		AfterEpoch int                 `json:"after_epoch"`
		AfterBatch int                 `json:"after_batch"`
		Next       [][]json.RawMessage `json:"next_epochs"`
		Reader     string              `json:"reader_state_end"`
		RNG        string              `json:"rng_state_end"`
	}
}

// dynamicBatch is what is recorded of a batch.
type dynamicBatch struct {
	Indices json.RawMessage // a list, or a number in sample mode
	Uniform json.RawMessage
	Reader  string `json:"reader_state"`
	RNG     string `json:"rng_state"`
	JSON    string `json:"checkpoint_json"`
}

func dynamicReaderCases(set *dalivec.Set) ([]suite.Case, error) {
	files, err := filepath.Glob(set.Path("ckpt/dynamic/reader_*.json"))
	if err != nil {
		return nil, err
	}
	var all []suite.Case
	for _, file := range files {
		c := &dynamicReader{}
		if err := dalivec.ReadJSON(file, c); err != nil {
			return nil, err
		}
		name := path.Join("ckpt/dynamic", c.Params.Name)
		all = append(all, suite.Case{
			Name: name, Family: "ckpt", Path: name, Operators: []string{"readers.file", "random.uniform"},
			Run: func(ctx context.Context, r *suite.Report) {
				settle(r, dalivec.JudgeRun(nil, func() error { return c.run(ctx) }))
			},
		})
	}
	return all, nil
}

// dynamicObjects are what a case registers, in its order.
type dynamicObjects struct {
	c         *checkpoint.Checkpoint
	reader    *readers.Reader
	rng, next *random.RNG
}

func (c *dynamicReader) objects(ctx context.Context, seeds [2]uint64, o readers.Options, state string) (*dynamicObjects, error) {
	root, _, err := fileTree(ctx, c.Params.N, 3)
	if err != nil {
		return nil, err
	}
	r, err := newDynamicReader(root, c.Params.Args, o)
	if err != nil {
		return nil, err
	}
	d := &dynamicObjects{c: checkpoint.New(), reader: r, rng: random.New(seeds[0]), next: random.New(seeds[1])}
	if state != "" {
		if err := d.c.Deserialize(state); err != nil {
			return nil, err
		}
	}
	_, err1 := d.c.Register(d.reader, "reader")
	_, err2 := d.c.Register(d.rng, "rng")
	_, err3 := d.c.RegisterAnonymous(d.next)
	return d, errors.Join(err1, err2, err3)
}

// newDynamicReader returns a reader of files as DALI's.
func newDynamicReader(root string, given map[string]any, o readers.Options) (*readers.Reader, error) {
	args := op.Args{"file_root": root}
	for name, v := range given {
		switch value, err := dalivec.Constant(v); {
		case err != nil:
			return nil, err
		case name == "enable_checkpointing":
			o.EnableCheckpointing, _ = value.(bool)
		default:
			args[name] = value
		}
	}
	o.Compat = dali.Dynamic{}
	return readers.New("readers.file", args, o)
}

// dynamicEpoch yields the contents of the files of each batch of an epoch.
func dynamicEpoch(ctx context.Context, r *readers.Reader, batch int) iter.Seq2[[]int64, error] {
	return func(yield func([]int64, error) bool) {
		if batch == 0 {
			for outputs, err := range r.Samples(ctx) {
				var list []int64
				if err == nil {
					list, err = indicesOf(outputs[0].Tensor(ctx))
				}
				if !yield(list, err) {
					return
				}
			}
			return
		}
		for outputs, err := range r.NextEpoch(ctx, batch) {
			var list []int64
			if err == nil {
				var samples []tensor.Tensor
				samples, err = outputs[0].Samples(ctx)
				list, err = indicesOfAll(samples, err)
			}
			if !yield(list, err) {
				return
			}
		}
	}
}

func indicesOf(t tensor.Tensor, err error) ([]int64, error) {
	return indicesOfAll([]tensor.Tensor{t}, err)
}

func indicesOfAll(samples []tensor.Tensor, err error) (list []int64, _ error) {
	for _, t := range samples {
		if err == nil {
			var n int64
			n, err = fileIndex(t.Data)
			list = append(list, n)
		}
	}
	return list, err
}

// run holds the case against a reader: batches and states, and what comes after each state
// that was tried, here as in DALI, and to the end of the epoch.
func (c *dynamicReader) run(ctx context.Context) error {
	d, err := c.objects(ctx, [2]uint64{c.Params.RNGSeed, c.Params.RNGSeed + 1}, readers.Options{EnableCheckpointing: true},
		"")
	if err != nil {
		return err
	}
	defer d.reader.Close()
	for e, batches := range c.Epochs {
		i := 0
		for got, err := range dynamicEpoch(ctx, d.reader, c.Params.BatchSize) {
			switch {
			case err != nil:
			case i >= len(batches):
				return fmt.Errorf("epoch %d has more than %d batches", e, len(batches))
			default:
				err = c.batch(ctx, d, got, &batches[i])
			}
			if err != nil {
				return fmt.Errorf("epoch %d, batch %d: %w", e, i, err)
			}
			i++
		}
		if i < len(batches) {
			return fmt.Errorf("epoch %d has %d batches, want %d", e, i, len(batches))
		}
	}
	m, err := d.reader.Metadata(ctx)
	if err != nil {
		return err
	}
	want := readers.Metadata{
		EpochSize: c.Metadata.EpochSize, EpochSizePadded: c.Metadata.EpochSizePadded,
		NumberOfShards: int64(c.Metadata.NumberOfShards),
		ShardID:        int64(c.Metadata.ShardID), PadLastBatch: c.Metadata.PadLastBatch == 1,
		StickToShard: c.Metadata.StickToShard == 1,
	}
	if m != want {
		return fmt.Errorf("metadata: got %+v, want %+v", m, want)
	}
	for i := range c.Restored {
		r := &c.Restored[i]
		if err := c.restored(ctx, i); err != nil {
			return fmt.Errorf("restored after epoch %d, batch %d: %w", r.AfterEpoch, r.AfterBatch, err)
		}
		if err := c.continued(ctx, r.AfterEpoch, r.AfterBatch); err != nil {
			return fmt.Errorf("continued after epoch %d, batch %d: %w", r.AfterEpoch, r.AfterBatch, err)
		}
	}
	return nil
}

// batch holds one batch, and the states behind it, against what is recorded.
func (c *dynamicReader) batch(ctx context.Context, d *dynamicObjects, got []int64, want *dynamicBatch) error {
	if err := sameIndices(got, want.Indices); err != nil {
		return err
	}
	if err := c.uniform(ctx, d.rng, want.Uniform); err != nil {
		return err
	}
	if err := d.c.Collect(); err != nil {
		return err
	}
	text, err := d.c.Serialize()
	if err != nil {
		return err
	}
	state, err := d.reader.State()
	if err != nil {
		return err
	}
	for _, s := range [][3]string{{"reader", state.String(), want.Reader}, {"generator", d.rng.State().String(), want.RNG}, {"checkpoint", text, want.JSON}} {
		if s[1] != s[2] {
			return fmt.Errorf("%s: state %s, want %s", s[0], s[1], s[2])
		}
	}
	return nil
}

func sameIndices(got []int64, want json.RawMessage) error {
	var list []int64
	if err := json.Unmarshal(want, &list); err != nil {
		list = []int64{0}
		if err := json.Unmarshal(want, &list[0]); err != nil {
			return err
		}
	}
	if !slices.Equal(got, list) {
		return fmt.Errorf("got %v, want %v", got, list)
	}
	return nil
}

// uniform draws as the program did that was recorded.
func (c *dynamicReader) uniform(ctx context.Context, g *random.RNG, want json.RawMessage) error {
	v := dynamic.Invoke(ctx, dynamic.Call{Op: "random.uniform", Args: op.Args{"range": []float64{0, 1}}, Draw: g, Batch: c.Params.BatchSize})[0]
	if want == nil {
		return v.Evaluate(ctx)
	}
	var samples []tensor.Tensor
	var err error
	switch v := v.(type) {
	case *dynamic.Batch:
		samples, err = v.Samples(ctx)
	case *dynamic.Tensor:
		samples = make([]tensor.Tensor, 1)
		samples[0], err = v.Tensor(ctx)
		want = fmt.Appendf(nil, "[%s]", want)
	}
	if err != nil {
		return err
	}
	var list []struct{ F32 []string }
	if err := json.Unmarshal(want, &list); err != nil || len(list) != len(samples) {
		return fmt.Errorf("uniform: %d samples, want %d (%w)", len(samples), len(list), err)
	}
	for i, w := range list {
		f, err := tensor.Of[float32](samples[i])
		if err != nil || len(f) != 1 || len(w.F32) != 1 {
			return fmt.Errorf("uniform: sample %d is %v (%w)", i, samples[i], err)
		}
		if bits := strconv.FormatUint(uint64(math.Float32bits(f[0])), 16); fmt.Sprintf("%08s", bits) != w.F32[0] {
			return fmt.Errorf("uniform: sample %d is %s, want %s", i, bits, w.F32[0])
		}
	}
	return nil
}

// restored goes on from a state as DALI does: with whole epochs.
func (c *dynamicReader) restored(ctx context.Context, i int) error {
	r := &c.Restored[i]
	d, err := c.objects(ctx, [2]uint64{}, readers.Options{Restore: readers.Restore{Compat: dali.Dynamic{}}},
		c.Epochs[r.AfterEpoch][r.AfterBatch].JSON)
	if err != nil {
		return err
	}
	defer d.reader.Close()
	for e, batches := range r.Next {
		n := 0
		for got, err := range dynamicEpoch(ctx, d.reader, c.Params.BatchSize) {
			switch {
			case err != nil:
			case n >= len(batches):
				err = errors.New("there are more batches")
			default:
				err = errors.Join(sameIndices(got, batches[n]), c.uniform(ctx, d.rng, nil))
			}
			if err != nil {
				return fmt.Errorf("epoch %d, batch %d: %w", e, n, err)
			}
			n++
		}
		if n < len(batches) {
			return fmt.Errorf("epoch %d has %d batches, want %d", e, n, len(batches))
		}
	}
	state, err := d.reader.State()
	if err != nil {
		return err
	}
	if state.String() != r.Reader || d.rng.State().String() != r.RNG {
		return fmt.Errorf("states %s and %s in the end, want %s and %s", state, d.rng.State(), r.Reader, r.RNG)
	}
	return nil
}

// continued goes on from a state to the end of the epoch where it would have ended, and through
// all epochs that are recorded.
func (c *dynamicReader) continued(ctx context.Context, epoch, batch int) error {
	d, err := c.objects(ctx, [2]uint64{}, readers.Options{}, c.Epochs[epoch][batch].JSON)
	if err != nil {
		return err
	}
	defer d.reader.Close()
	first := batch + 1
	if first == len(c.Epochs[epoch]) {
		epoch, first = epoch+1, 0
	}
	for ; epoch < len(c.Epochs); epoch++ {
		rest := c.Epochs[epoch][first:]
		n := 0
		for got, err := range dynamicEpoch(ctx, d.reader, c.Params.BatchSize) {
			switch {
			case err != nil:
			case n >= len(rest):
				err = errors.New("there are more batches")
			default:
				err = c.batch(ctx, d, got, &rest[n])
			}
			if err != nil {
				return fmt.Errorf("epoch %d, batch %d: %w", epoch, first+n, err)
			}
			n++
		}
		if n < len(rest) {
			return fmt.Errorf("epoch %d ends after %d batches, want %d", epoch, first+n, first+len(rest))
		}
		first = 0
	}
	return nil
}
