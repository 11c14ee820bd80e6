package serve

import (
	"iter"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/errs"
)

// dynamicReader is a reader of a client. Its order, batches and states are DALI's.
type dynamicReader struct {
	*readers.Reader
	mu    sync.Mutex // is locked by the call that uses the reader
	epoch int64      // the client's number of the iteration; 0: none
	next  func() ([]dynamic.Value, error, bool)
	stop  func()
	ahead chan step // a batch that is being read ahead; nil: none
}

// end closes the reader.
func (r *dynamicReader) end() error {
	r.leave()
	return r.Close()
}

// leave ends the iteration that is under way. A batch that was read ahead is lost.
func (r *dynamicReader) leave() {
	if r.ahead != nil {
		s := <-r.ahead
		for _, c := range s.calls {
			for _, v := range c.values {
				v.Release()
			}
		}
		r.ahead = nil
	}
	if r.stop != nil {
		r.stop()
	}
	r.next, r.stop = nil, nil
}

// dynamicOpenReader makes a reader of its serialized form.
func dynamicOpenReader(k *call) (reply, error) {
	var graph []byte
	k.args.into("graph", &graph)
	o := readers.Options{Compat: dali.Dynamic{}, Restore: readers.Restore{Compat: dali.Dynamic{}},
		EnableCheckpointing: k.args.flag("checkpointing")}
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	of, err := parseOperator(graph)
	if err != nil {
		return reply{}, err
	}
	r, err := readers.New(of.Name, of.Args, o)
	if err != nil {
		return reply{}, err
	}
	d := k.dynamics
	d.mu.Lock()
	d.last++
	number := d.last
	d.readers[number] = &dynamicReader{Reader: r}
	d.mu.Unlock()
	return answer(map[string]int64{"reader": number})
}

// takeReader returns the reader of a call, for which nothing else uses it.
func takeReader(k *call, id int64) (*dynamicReader, error) {
	k.dynamics.mu.Lock()
	r := k.dynamics.readers[id]
	k.dynamics.mu.Unlock()
	subject := "reader " + strconv.FormatInt(id, 10)
	switch {
	case r == nil:
		return nil, &errs.Error{Kind: errs.NotFound, Subject: subject, Want: "an open reader of this connection"}
	case !r.mu.TryLock():
		return nil, &errs.Error{Kind: errs.Busy, Op: "serve." + k.op, Subject: subject, Want: "one call at a time",
			Got: "a call during another call"}
	}
	return r, nil
}

// withReader makes a call of a function that uses a reader. read reads the other arguments.
func withReader[A any](
	read func(*args) A, use func(*call, *dynamicReader, A) (reply, error),
) func(*call) (reply, error) {
	return func(k *call) (reply, error) {
		id := k.args.id("reader")
		a := read(k.args)
		if err := k.args.finish(); err != nil {
			return reply{}, err
		}
		r, err := takeReader(k, id)
		if err != nil {
			return reply{}, err
		}
		defer r.mu.Unlock()
		return use(k, r, a)
	}
}

// nextArgs are the arguments of dynamic.next.
type nextArgs struct {
	epoch, first int64
	batch        int   // size; 0: samples
	after        int64 // in a captured loop, the last group of the step before; 0: no such loop
}

func readNextArgs(a *args) (n nextArgs) {
	n.epoch, n.first = a.id("epoch"), a.id("first")
	a.into("batch", &n.batch)
	n.after = a.id("after")
	return n
}

// dynamicNext takes the next batch, or sample, of an epoch. Its outputs get numbers from first on.
// The call is not cancelled: the client keeps it when a wait is interrupted.
func dynamicNext(k *call, r *dynamicReader, a nextArgs) (reply, error) {
	d := k.dynamics
	if a.epoch != r.epoch {
		r.leave()
		r.epoch = a.epoch
		r.next, r.stop = iter.Pull2(r.values(d, a.batch))
	}
	var s step
	if r.ahead != nil {
		s = <-r.ahead
		r.ahead = nil
	} else {
		s.values, s.err, s.ok = r.next()
	}
	if s.err != nil {
		return reply{}, s.err
	}
	for i, v := range s.values {
		d.put(a.first+int64(i), dynamicValue{value: v})
	}
	used := 0
	if a.after != 0 {
		if err := d.await(a.after); err != nil {
			return reply{}, err
		}
		used = d.nextStep(r, a.first, &s)
		d.leaveTurn()
	}
	return answer(struct {
		Outputs int  `json:"outputs"`
		Ended   bool `json:"ended,omitempty"`
		Ahead   int  `json:"ahead,omitempty"`
	}{len(s.values), !s.ok, used})
}

// values yields the outputs of an epoch.
func (r *dynamicReader) values(d *dynamics, batch int) iter.Seq2[[]dynamic.Value, error] {
	return func(yield func([]dynamic.Value, error) bool) {
		if batch == 0 {
			for samples, err := range r.Samples(d.ctx) {
				if !yield(listed(samples), err) {
					return
				}
			}
			return
		}
		for batches, err := range r.NextEpoch(d.ctx, batch) {
			if !yield(listed(batches), err) {
				return
			}
		}
	}
}

// listed returns values of one kind as values.
func listed[T dynamic.Kind](values []T) (out []dynamic.Value) {
	for _, v := range values {
		out = append(out, v)
	}
	return out
}

// dynamicState answers with the state after the last batch.
func dynamicState(_ *call, r *dynamicReader, _ struct{}) (reply, error) {
	s, err := r.State()
	if err != nil {
		return reply{}, err
	}
	return answer(map[string]string{"state": s.String()})
}

func readStateText(a *args) string { return a.text("state") }

// dynamicRestore sets the state of a reader that has not begun.
func dynamicRestore(_ *call, r *dynamicReader, state string) (reply, error) {
	return nothing(r.SetState(state))
}

// dynamicEnable gives a reader states.
func dynamicEnable(_ *call, r *dynamicReader, _ struct{}) (reply, error) {
	return nothing(r.EnableCheckpointing())
}

// dynamicBegun answers whether an iteration has begun.
func dynamicBegun(_ *call, r *dynamicReader, _ struct{}) (reply, error) {
	return answer(map[string]bool{"begun": r.Begun()})
}

// dynamicMetadata answers with the sizes of a data set.
func dynamicMetadata(k *call, r *dynamicReader, _ struct{}) (reply, error) {
	m, err := r.Metadata(k.ctx)
	if err != nil {
		return reply{}, err
	}
	bit := map[bool]int64{true: 1}
	return answer(map[string]int64{"epoch_size": m.EpochSize, "epoch_size_padded": m.EpochSizePadded,
		"number_of_shards": m.NumberOfShards, "shard_id": m.ShardID, "pad_last_batch": bit[m.PadLastBatch],
		"stick_to_shard": bit[m.StickToShard]})
}

// dynamicCloseReader ends a reader. It waits for the call that uses it.
func dynamicCloseReader(k *call) (reply, error) {
	id := k.args.id("reader")
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	k.dynamics.mu.Lock()
	r := k.dynamics.readers[id]
	delete(k.dynamics.readers, id)
	k.dynamics.mu.Unlock()
	if r == nil {
		return reply{}, &errs.Error{Kind: errs.NotFound, Subject: "reader " + strconv.FormatInt(id, 10),
			Want: "an open reader of this connection"}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return nothing(r.end())
}
