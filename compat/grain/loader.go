package grain

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// LoaderOptions are the arguments of a DataLoader that batches.
type LoaderOptions struct {
	Workers    int64  // worker_count; worker w reads every Workers-th record from w on
	Batch      int64  // the size of grain.transforms.Batch
	Drop       bool   // drop_remainder: the last batch of a worker is left out unless it is whole
	DataSource string // repr of the data source, part of the state
}

// LoaderIter is a DataLoader: batches of record keys of each worker in turn. Its state is a
// LoaderState. The error is of kind errs.Invalid for a batch below 1, and for a number of workers
// or shards that is out of range. SetState returns an error of kind
// errs.Mismatch for a state of another sampler, data source or number of workers, as Grain does.
func LoaderIter(s *Sampler, o LoaderOptions) (Iter[[]int64], error) {
	if o.Batch < 1 || o.Workers < 0 || o.Workers > maxWorkers {
		return nil, invalid(loaderOp, fmt.Sprintf("a batch of at least 1 and from 0 to %d workers", maxWorkers),
			fmt.Sprintf("a batch of %d and %d workers", o.Batch, o.Workers))
	}
	if s.options.Shard.count() > Endless/(2*maxWorkers) {
		return nil, invalid(loaderOp, fmt.Sprintf("at most %d shards", Endless/(2*maxWorkers)),
			fmt.Sprint(s.options.Shard.count()))
	}
	return &loaderIter{sampler: s, options: o, read: make([]int64, max(o.Workers, 1))}, nil
}

const (
	loaderOp   = "grain.LoaderIter"
	maxWorkers = 1 << 20 // more than a machine runs
)

type loaderIter struct {
	sampler *Sampler
	options LoaderOptions
	read    []int64 // records that each worker has read
	turn    int     // the worker of the next batch
}

// records returns how many records a worker reads, or Endless.
func (it *loaderIter) records(worker int) int64 {
	n, ends := it.sampler.Len()
	if !ends {
		return Endless
	}
	workers := int64(len(it.read))
	return max(n-int64(worker)+workers-1, 0) / workers
}

// position returns the position of a record of a worker in the sampler.
func (it *loaderIter) position(worker int, record int64) int64 {
	return record*int64(len(it.read)) + int64(worker)
}

func (it *loaderIter) Next() (batch []int64, ok bool) {
	for range it.read {
		worker := it.turn
		first := it.read[worker]
		n := min(it.options.Batch, it.records(worker)-first)
		if n <= 0 || it.options.Drop && n < it.options.Batch {
			it.turn = (it.turn + 1) % len(it.read)
			continue
		}
		batch = make([]int64, n)
		for i := range batch {
			it.sampler.Fill(it.position(worker, first+int64(i)), batch[i:i+1])
		}
		it.read[worker] += n
		it.turn = (it.turn + 1) % len(it.read)
		return batch, true
	}
	return nil, false
}

func (it *loaderIter) State() json.RawMessage {
	s := LoaderState{Version: 2, LastSeenIndices: map[string]int64{}, LastWorkerIndex: -1,
		WorkerCount: it.options.Workers, Sampler: it.sampler.String(), DataSource: it.options.DataSource}
	for worker, n := range it.read {
		s.LastSeenIndices[strconv.Itoa(worker)] = it.sampler.Index(it.position(worker, n-1))
	}
	if it.options.Workers > 0 {
		s.LastWorkerIndex = int64(it.turn) - 1
	}
	return json.RawMessage(s.String())
}

func (it *loaderIter) SetState(state json.RawMessage) error {
	s, err := ParseLoaderState(state)
	if err != nil {
		return err
	}
	for _, part := range [][3]string{
		{"sampler", it.sampler.String(), s.Sampler},
		{"data source", it.options.DataSource, s.DataSource},
		{"number of workers", fmt.Sprint(it.options.Workers), fmt.Sprint(s.WorkerCount)},
	} {
		if part[1] != part[2] {
			return &errs.Error{Kind: errs.Mismatch, Op: loaderOp, Subject: part[0], Want: part[1], Got: part[2]}
		}
	}
	workers := int64(len(it.read))
	if int64(len(s.LastSeenIndices)) != workers || s.LastWorkerIndex < -1 || s.LastWorkerIndex >= workers {
		return corrupt(loaderOp, fmt.Sprintf("an index for each of %d workers and the last of them", workers),
			string(state), nil)
	}
	read := make([]int64, workers)
	for worker := range read {
		last, ok := s.LastSeenIndices[strconv.Itoa(worker)]
		none := it.sampler.Index(it.position(worker, -1)) // before the first record
		step := workers * it.sampler.options.Shard.count()
		if !ok || last < none || last >= Endless-step || (last-none)%step != 0 || (last-none)/step > it.records(worker) {
			return corrupt(loaderOp, fmt.Sprintf("an index that worker %d of %d reads, or %d", worker, workers, none),
				string(state), nil)
		}
		read[worker] = (last - none) / step
	}
	it.read, it.turn = read, int((s.LastWorkerIndex+1)%workers)
	return nil
}
