package pipeproto

import "github.com/bivouac-ml/bivouac/compat/dali/internal/wire"

// Layout is how a message was laid out in the bytes from which it was parsed; see wire.Layout. It
// is zero, which is DALI's own layout, unless another program wrote the message.
type Layout = wire.Layout

// Pipeline is a serialized pipeline, PipelineDef. nil means an absent field, for which DALI uses
// its default.
type Pipeline struct {
	NumThreads *int32 `dali:"1,num_threads"`
	BatchSize  int32  `dali:"2,batch_size,required"` // the largest batch

	UnusedAsync    bool `dali:"3,_unused_use_async"`
	UnusedPipeline bool `dali:"4,_unused_pipeline"`

	Ops            []Op     `dali:"5,op"`              // in the order in which they were created
	ExternalInputs []string `dali:"6,external_inputs"` // of pipelines before DALI 1.0
	Outputs        []Edge   `dali:"7,pipe_outputs"`

	DeviceID            *int32 `dali:"8,device_id"` // negative means the processor alone; DALI writes NoDevice
	Seed                *int64 `dali:"9,seed"`      // -1 means drawn at each build
	EnableCheckpointing *bool  `dali:"10,enable_checkpointing"`
	ExecutorType        *int32 `dali:"11,executor_type"`  // 11: dynamic, 3: pipelined and asynchronous, 0: simple
	ExecutorFlags       *int32 `dali:"12,executor_flags"` // 4 with the dynamic executor
	PrefetchCPU         *int32 `dali:"13,prefetch_queue_depth_cpu"`
	PrefetchGPU         *int32 `dali:"14,prefetch_queue_depth_gpu"`
	BytesPerSampleHint  *int64 `dali:"15,bytes_per_sample_hint"`

	Wire Layout
}

// NoDevice is the device of a pipeline that runs without a GPU.
const NoDevice = -99999

// Op is one operator of a pipeline, OpDef.
type Op struct {
	Name      string     `dali:"1,name,always"` // of the schema, such as "readers__File"
	Inputs    []Edge     `dali:"2,input"`       // the regular inputs, then the inputs of arguments
	Outputs   []Edge     `dali:"3,output"`
	Args      []Argument `dali:"4,args"`
	Instance  string     `dali:"5,inst_name"`  // unique in the pipeline
	LogicalID *int32     `dali:"6,logical_id"` // the same for copies that share a source; -1 for other operators

	Wire Layout
}

// Edge is an input or output of an operator, or an output of the pipeline: InputOutput.
type Edge struct {
	Name       string `dali:"1,name,always"` // unique in the pipeline
	Device     string `dali:"2,device,always"`
	IsArgument bool   `dali:"3,is_argument_input,always"`
	Argument   string `dali:"4,arg_name"` // the argument whose value it is
	DType      *int32 `dali:"5,dtype"`    // DALIDataType; -1: not known
	NDim       *int32 `dali:"6,ndim"`     // -1: not known
	Layout     string `dali:"7,layout"`   // such as "HWC"

	Wire Layout
}

// Argument is one argument of an operator. A scalar has one value, in the slice of its type. A
// vector has each element as an argument of its own, with the names "element 0" and so on; see
// [Value].
type Argument struct {
	Name     string     `dali:"1,name,always"`
	Type     string     `dali:"2,type,always"` // "int64", "float", "string", "bool", of elements too
	Floats   []float32  `dali:"3,floats"`
	Ints     []int64    `dali:"4,ints"`
	Strings  []string   `dali:"5,strings"`
	Bools    []bool     `dali:"6,bools"`
	Elements []Argument `dali:"7,extra_args"`
	IsVector bool       `dali:"8,is_vector,required"`

	Wire Layout
}

// limits bounds Parse. DALI writes about 100 fields an operator.
func limits() wire.Limits { return wire.Limits{Bytes: 64 << 20, Depth: 100, Fields: 1 << 20} }

var (
	pipelines = wire.NewCodec[Pipeline]("pipeproto.Parse", limits())
	arguments = wire.NewCodec[Argument]("pipeproto.Argument", limits())
)

// Parse reads a pipeline. The error is of kind errs.Corrupt for bytes that are not a pipeline, and
// errs.Exhausted for more than 64 MiB, 100 levels of nested messages or 1,048,576 fields. Parse
// does not look up names and types, so it may read a pipeline that DALI cannot build.
func Parse(b []byte) (*Pipeline, error) { return pipelines.Parse(b) }

// Append appends the pipeline to dst. Parts that Parse read, and that were not changed, are written
// with the same bytes.
func Append(dst []byte, p *Pipeline) []byte { return pipelines.Append(dst, p) }
