package serve

import (
	"context"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// functions are the functions of a client that a pipeline calls. The server asks for one call at a
// time. The inputs are in memory that both sides map. Each call uses it again, or larger memory.
type functions struct {
	*connection
	names []string      // by number
	limit time.Duration // of a call; 0: none
	ctx   context.Context
	stop  context.CancelFunc

	pipeline int64 // number of the pipeline

	mu    sync.Mutex
	mem   []byte
	last  int64     // number of the newest call
	given *madeCall // what the client gives for the call in progress; nil between calls
}

// madeCall has the outputs of a call.
type madeCall struct {
	outputs [][]tensor.Tensor
	done    bool
}

// question asks the client for a call.
type question struct {
	Ask      int64        `json:"ask"`
	Op       string       `json:"op"`
	Pipeline int64        `json:"pipeline"`
	Function int64        `json:"function"`
	Call     int64        `json:"call"`
	Bytes    int          `json:"bytes"` // of the whole memory
	New      bool         `json:"new,omitempty"`
	Samples  int          `json:"samples"`
	Inputs   []slotOutput `json:"inputs"`
}

// of returns the function with a number. It implements dali.DeserializeOptions.Function.
func (fs *functions) of(_ string, id int64) func(n int, in [][]tensor.Tensor) ([][]tensor.Tensor, error) {
	return func(n int, in [][]tensor.Tensor) ([][]tensor.Tensor, error) { return fs.call(id, n, in) }
}

// name returns the name of a function, for errors.
func (fs *functions) name(id int64) string {
	if id >= 0 && id < int64(len(fs.names)) {
		return "function " + fs.names[id]
	}
	return "function " + strconv.FormatInt(id, 10)
}

// call has the client make a call.
func (fs *functions) call(id int64, n int, in [][]tensor.Tensor) ([][]tensor.Tensor, error) {
	q := question{Op: "function", Pipeline: fs.pipeline, Function: id, Samples: n, Inputs: make([]slotOutput, len(in))}
	places, size := layOut(in, q.Inputs)
	fs.mu.Lock()
	file, err := fs.room(size)
	if err != nil {
		fs.mu.Unlock()
		return nil, errs.Wrap("serve.function", fs.name(id), err)
	}
	var pieces []copying
	for i, samples := range in {
		for s, t := range samples {
			pieces = cutCopy(pieces, fs.mem[places[i][s]:][:len(t.Data)], t.Data)
		}
	}
	copyAll(pieces)
	fs.last++
	made := &madeCall{}
	q.Call, q.Bytes, q.New, fs.given = fs.last, len(fs.mem), file != nil, made
	fs.mu.Unlock()
	err = fs.askCall(id, &q, file)
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.given = nil
	if err == nil && !made.done {
		err = &errs.Error{Kind: errs.Invalid, Op: "serve.function", Subject: fs.name(id),
			Want: "pipeline.give before the answer", Got: "an answer alone"}
	}
	if err != nil {
		fs.drop() // the function may still use it
		return nil, err
	}
	return made.outputs, nil
}

// askCall waits until the client has answered, for at most the time of a call.
func (fs *functions) askCall(id int64, q *question, file *os.File) error {
	ctx := fs.ctx
	if fs.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, fs.limit)
		defer cancel()
	}
	_, err := fs.askFile(ctx, func(ask int64) any {
		q.Ask = ask
		return q
	}, file)
	if fs.ctx.Err() != nil {
		return &errs.Error{Kind: errs.Closed, Op: "serve.function", Subject: fs.name(id), Got: "the end of the pipeline"}
	}
	if err != nil && ctx.Err() != nil {
		return &errs.Error{Kind: errs.Canceled, Op: "serve.function", Subject: fs.name(id), Err: context.DeadlineExceeded,
			Want:   "a result within " + fs.limit.String(),
			Got:    "none",
			Remedy: "see what the function waits for, or give it more time (callback_timeout, BIVOUAC_CALLBACK_TIMEOUT)"}
	}
	return errs.Wrap("serve.function", fs.name(id), err)
}

// room makes the memory large enough, and returns its file if it is new. fs is locked.
func (fs *functions) room(size int64) (*os.File, error) {
	if fs.mem != nil && size <= int64(len(fs.mem)) {
		return nil, nil
	}
	fs.drop()
	size = pageUp(max(1, size+size/8))
	if err := checkRoom(size); err != nil {
		return nil, err
	}
	file, mem, err := sharedMemory("bivouac-function", size)
	fs.mem = mem
	return file, err
}

// drop gives the memory back. What the client has mapped stays readable. fs is locked.
func (fs *functions) drop() {
	if fs.mem != nil {
		unmap(fs.mem)
		fs.mem = nil
	}
}

// cancel ends the call in progress, and all that would follow. A definition has no functions.
func (fs *functions) cancel() {
	if fs.stop != nil {
		fs.stop()
	}
}

// close gives the memory back. No call is in progress any more.
func (fs *functions) close() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.drop()
}

// layOut describes where the samples of inputs lie, and returns the place of each sample and the
// bytes of all of them. Samples of one shape lie back to back.
func layOut(in [][]tensor.Tensor, to []slotOutput) (places [][]int64, size int64) {
	places = make([][]int64, len(in))
	for i, samples := range in {
		first := samples[0]
		o := slotOutput{DType: first.DType.String(), Layout: first.Layout, Samples: len(samples), NDim: len(first.Shape),
			Offset: size}
		uniform := !slices.ContainsFunc(samples, func(t tensor.Tensor) bool { return !t.Shape.Equal(first.Shape) })
		if uniform {
			o.Shape = append([]int{}, first.Shape...)
		}
		for _, t := range samples {
			places[i] = append(places[i], size)
			size += int64(len(t.Data))
			if !uniform {
				o.Dims = append(o.Dims, t.Shape...)
				size = (size + alignment - 1) &^ (alignment - 1)
			}
		}
		if !uniform {
			o.Offsets = places[i]
		}
		size = (size + alignment - 1) &^ (alignment - 1)
		to[i] = o
	}
	return places, size
}

// giveArgs are the arguments of pipeline.give.
type giveArgs struct {
	pipeline, call, arena int64
	data                  []fedOutput
}

// pipelineGive takes the outputs of a function that the client calls now.
func pipelineGive(k *call) (reply, error) {
	a := giveArgs{pipeline: k.args.id("pipeline"), call: k.args.id("call"), arena: k.args.id("arena")}
	k.args.into("data", &a.data)
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	p, err := k.pipelines.find(a.pipeline)
	if err != nil {
		return reply{}, err
	}
	from, err := k.arenas.use(a.arena)
	if err != nil {
		return reply{}, err
	}
	if from != nil {
		defer from.drop()
	}
	outputs := make([][]tensor.Tensor, len(a.data))
	for i := range a.data {
		if outputs[i], err = a.data[i].copied(from); err != nil {
			return reply{}, errs.Wrap("serve."+k.op, "output "+strconv.Itoa(i), err)
		}
	}
	return nothing(p.functions.take(a.call, outputs))
}

// take keeps the outputs of the call in progress.
func (fs *functions) take(call int64, outputs [][]tensor.Tensor) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.given == nil || call != fs.last {
		return &errs.Error{Kind: errs.Sequence, Op: "serve.pipeline.give", Subject: "call " + strconv.FormatInt(call, 10),
			Want: "the call in progress", Got: "one that is over, or none"}
	}
	fs.given.outputs, fs.given.done = outputs, true
	return nil
}

// copied returns copies of the samples, which are views of an arena.
func (f *fedOutput) copied(from *arena) ([]tensor.Tensor, error) {
	if f.Samples == nil && f.Shape != nil {
		return nil, wrongArgument("data", "samples", "a shape")
	}
	d, err := f.read(from)
	if err != nil {
		return nil, err
	}
	samples := d.([]tensor.Tensor)
	size := 0
	for _, t := range samples {
		size += (len(t.Data) + 7) &^ 7
	}
	slab := make([]byte, size)
	for i := range samples {
		n := len(samples[i].Data)
		copy(slab, samples[i].Data)
		samples[i].Data = slab[:n:n]
		slab = slab[(n+7)&^7:]
	}
	return samples, nil
}
