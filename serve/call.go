package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/errs"
)

// maxCalls bounds the calls in flight of a connection.
const maxCalls = 4096

// call is a call in flight.
type call struct {
	*connection
	ctx      context.Context // ends with cancel and with the connection
	id       int64
	op       string
	args     *args
	turn     *turn // among the calls of a pipeline
	stop     context.CancelFunc
	canceled chan struct{} // closed when the client cancels the call
	once     sync.Once

	registry    *handler.Registry     // of items of a save; nil: of the process
	savers      *handler.LeafRegistry // of leaves of a save; nil: the save has no such leaves
	directories []string              // that were given to the call; they are removed at its end
	leaves      leafDirectories       // that a load gives to the client

	step *int64 // that a load by a checkpointer has found

	saying sync.Mutex
	over   bool // the last word was said
}

// reply is the value of a call, and the files that travel with it.
type reply struct {
	json    []byte
	files   []*os.File
	failure string // of an answer of the client, instead of json
}

// answer makes a reply of a value.
func answer(v any) (reply, error) {
	b, err := json.Marshal(v)
	return reply{json: b}, err
}

// nothing is the value of calls that return none.
func nothing(err error) (reply, error) { return reply{json: []byte("{}")}, err }

// ops are the calls by their names.
func ops() map[string]func(*call) (reply, error) {
	return map[string]func(*call) (reply, error){
		"arena.new":   arenaNew,
		"arena.free":  arenaFree,
		"arena.pull":  arenaPull,
		"directory":   directory,
		"environment": environment,

		"save":             save,
		"partial.save":     partialSave,
		"partial.finalize": partialFinalize,
		"partial.abort":    partialAbort,

		"load":           load,
		"load_items":     loadItems,
		"load_transform": loadTransform,
		"metadata":       metadata,
		"is_checkpoint":  isCheckpoint,
		"delete":         remove,
		"verify":         verify,

		"training.open":          trainingOpen,
		"training.save":          trainingSave,
		"training.should_save":   trainingShouldSave,
		"training.load":          trainingLoad,
		"training.load_items":    trainingLoadItems,
		"training.metadata":      trainingMetadata,
		"training.checkpoints":   with(trainingCheckpoints),
		"training.root_metadata": with(trainingRootMetadata),
		"training.reload":        with(func(k *call, c *checkpointer) (reply, error) { return nothing(c.Reload(k.ctx)) }),
		"training.wait":          with(func(k *call, c *checkpointer) (reply, error) { return nothing(c.Wait(k.ctx)) }),
		"training.delete":        trainingDelete,
		"training.retention":     with(trainingRetention),
		"training.remains":       with(trainingRemains),
		"training.quarantine":    trainingQuarantine,
		"training.journal":       trainingJournal,
		"training.record":        trainingRecord,
		"training.tiers":         with(trainingTiers),
		"training.drain":         trainingDrain,
		"training.close":         trainingClose,

		"loader.batches": loaderBatches,
		"loader.streams": loaderStreams,
		"loader.seeds":   loaderSeeds,
		"loader.merge":   loaderMerge,

		"pipeline.open":       pipelineOpen,
		"pipeline.feed":       withPipeline(readFeedArgs, pipelineFeed),
		"pipeline.room":       withPipeline(readRoomArgs, pipelineRoom),
		"pipeline.give":       pipelineGive,
		"pipeline.run":        withPipeline(readRunArgs, pipelineRun),
		"pipeline.progress":   withPipeline(noArguments, pipelineProgress),
		"pipeline.reset":      withPipeline(noArguments, pipelineReset),
		"pipeline.state":      withPipeline(readConsumer, pipelineState),
		"pipeline.restore":    withPipeline(readState, pipelineRestore),
		"pipeline.statistics": withPipeline(noArguments, pipelineStatistics),
		"pipeline.close":      pipelineClose,
		"pipeline.dot":        pipelineDot,
		"operator.outputs":    operatorOutputs,

		"dynamic.run":      dynamicRun,
		"dynamic.put":      dynamicPut,
		"dynamic.reader":   dynamicOpenReader,
		"dynamic.next":     withReader(readNextArgs, dynamicNext),
		"dynamic.state":    withReader(noArguments, dynamicState),
		"dynamic.restore":  withReader(readStateText, dynamicRestore),
		"dynamic.enable":   withReader(noArguments, dynamicEnable),
		"dynamic.begun":    withReader(noArguments, dynamicBegun),
		"dynamic.metadata": withReader(noArguments, dynamicMetadata),
		"dynamic.close":    dynamicCloseReader,
	}
}

// begin starts a call.
func (c *connection) begin(ctx context.Context, body []byte) error {
	k, err := parseCall(body)
	if err != nil {
		return err
	}
	k.connection, k.canceled = c, make(chan struct{})
	k.args.checkURL = c.CheckURL
	k.ctx, k.stop = context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[k.id] != nil {
		k.stop()
		return violation("an id that is not in use", strconv.FormatInt(k.id, 10))
	}
	if len(c.calls) >= maxCalls {
		k.stop()
		return violation("at most "+strconv.Itoa(maxCalls)+" calls in flight", "more")
	}
	c.calls[k.id] = k
	k.join()
	c.working.Go(k.run)
	return nil
}

// parseCall reads the body of a call.
func parseCall(body []byte) (*call, error) {
	k := &call{}
	var rest []byte
	c := &cursor{b: body}
	for c.enter('{'); c.err == nil && c.more('}'); {
		switch name := c.text(); name {
		case "id":
			k.id = c.integer()
		case "op":
			k.op = c.text()
		case "args":
			if c.peek() != '{' {
				c.fail("an object")
			}
			rest = c.skip()
		default:
			c.fail("id, op or args")
		}
	}
	if c.err != nil || k.id <= 0 || k.op == "" {
		return nil, violation("a call with id, op and args", clipped(body))
	}
	k.args = newArgs(rest)
	return k, nil
}

// run answers the call.
func (k *call) run() {
	defer func() { k.turn.leave() }()
	defer k.stop()
	r, err := k.do()
	if err != nil {
		k.leaves.remove()
	}
	k.removeDirectories()
	k.mu.Lock()
	delete(k.calls, k.id)
	k.mu.Unlock()
	k.saying.Lock()
	defer k.saying.Unlock()
	k.over = true
	if err != nil {
		closeFiles(r.files)
		k.sendError(k.id, err)
		return
	}
	k.out.send(appendFrame(make([]byte, 0, len(r.json)+64), kindResult, func(b []byte) []byte {
		b = append(b, `{"id":`...)
		b = strconv.AppendInt(b, k.id, 10)
		b = append(b, `,"value":`...)
		b = append(b, r.json...)
		return append(b, '}')
	}), r.files)
}

// tell sends an event of the call, unless the last word was said.
func (k *call) tell(event any) {
	k.saying.Lock()
	defer k.saying.Unlock()
	if !k.over {
		k.send(kindEvent, event)
	}
}

// do runs the operation. A panic of it ends the call, not the server.
func (k *call) do() (r reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			k.Log.Error("panic", "op", k.op, "value", p, "stack", string(debug.Stack()))
			err = &errs.Error{Op: "serve." + k.op, Subject: "panic", Remedy: "report this with the log of the side-car"}
		}
	}()
	op := k.ops[k.op]
	if op == nil {
		names := slices.Collect(maps.Keys(k.ops))
		return reply{}, &errs.Error{Kind: errs.Unsupported, Op: "serve", Subject: "call " + strconv.Quote(k.op),
			Want: "a call of the protocol", Remedy: errs.DidYouMean(k.op, names)}
	}
	return op(k)
}

// cancel ends a call. One that has ended already is left alone: the two frames crossed.
func (c *connection) cancel(body []byte) error {
	var which struct {
		ID *int64 `json:"id"`
	}
	if err := decodeFrame(kindCancel, kindCancel, body, &which); err != nil {
		return err
	}
	if which.ID == nil {
		return violation("a cancel with an id", clipped(body))
	}
	c.mu.Lock()
	k := c.calls[*which.ID]
	c.mu.Unlock()
	if k != nil {
		k.once.Do(func() { close(k.canceled) })
		k.stop()
	}
	return nil
}

// event sends more about the call.
func (k *call) event(name string) {
	k.tell(struct {
		ID    int64  `json:"id"`
		Event string `json:"event"`
	}{k.id, name})
}

// arenaNew makes an arena.
func arenaNew(k *call) (reply, error) {
	var bytes int64
	k.args.into("bytes", &bytes)
	by := k.reachOf("memory")
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	a, f, err := newArena(bytes, by)
	if err != nil {
		return reply{}, err
	}
	size := len(a.mem)
	id, err := k.arenas.add(a)
	if err != nil {
		closeFile(f)
		return reply{}, err
	}
	r, err := answer(struct {
		Arena   int64 `json:"arena"`
		Bytes   int64 `json:"bytes"`
		Private bool  `json:"private,omitempty"`
	}{id, int64(size), by != nil})
	r.files = filesOf(f)
	return r, err
}

// arenaPull fills a private arena.
func arenaPull(k *call) (reply, error) {
	id := k.args.id("arena")
	pieces, err := readPieces(k.args.raw("pieces"))
	if err := cmp.Or(err, k.args.finish()); err != nil {
		return reply{}, err
	}
	a, err := k.arenas.use(id)
	if err != nil {
		return reply{}, err
	}
	if a == nil || a.reach == nil {
		err = &errs.Error{Kind: errs.Invalid, Op: "serve.arena.pull", Subject: "arena", Want: "a private arena"}
	} else {
		err = a.pull(k.ctx, pieces)
	}
	if a != nil {
		a.drop()
	}
	return nothing(err)
}

// readPieces reads a list of pieces: address, offset and size of each.
func readPieces(text []byte) (pieces []piece, err error) {
	c := &cursor{b: text}
	for c.enter('['); c.err == nil && c.more(']'); {
		var n [3]int64
		i := 0
		for c.enter('['); c.err == nil && c.more(']'); i++ {
			if i < len(n) {
				n[i] = c.integer()
			} else {
				c.fail("three numbers")
			}
		}
		if c.err == nil && i != len(n) {
			c.fail("three numbers")
		}
		pieces = append(pieces, piece{uint64(n[0]), n[1], n[2]})
	}
	return pieces, errs.Wrap("", "argument pieces", c.err)
}

// arenaFree frees an arena.
func arenaFree(k *call) (reply, error) {
	id := k.args.id("arena")
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	return nothing(k.arenas.free(id))
}
