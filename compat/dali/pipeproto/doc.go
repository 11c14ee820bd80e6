// Package pipeproto reads and writes the pipelines that DALI serializes, and
// says them in YAML.
//
// # Bytes
//
// A serialized pipeline is a protobuf message, PipelineDef of package dali_proto,
// proto2, without a frame around it. DALI writes fields by number; (1) is one
// that is always there, * one that is there any number of times:
//
//	PipelineDef                         OpDef, one an operator
//	┌─────────────────────────────┐     ┌─────────────────────────────────┐
//	│  1 num_threads       varint │     │ 1 name (1)   bytes, the schema  │
//	│  2 batch_size (1)    varint │     │ 2 input *    InputOutput        │
//	│  3 _unused_use_async varint │     │ 3 output *   InputOutput        │
//	│  4 _unused_pipeline  varint │     │ 4 args *     Argument           │
//	│  5 op *              OpDef ─┼───► │ 5 inst_name  bytes              │
//	│  6 external_inputs * bytes  │     │ 6 logical_id varint             │
//	│  7 pipe_outputs * ──────────┼──┐  └─────────────────────────────────┘
//	│  8 device_id         varint │  │  InputOutput
//	│  9 seed              varint │  │  ┌─────────────────────────────────┐
//	│ 10 enable_checkpointing     │  └► │ 1 name (1)              bytes   │
//	│ 11 executor_type     varint │     │ 2 device (1)            bytes   │
//	│ 12 executor_flags    varint │     │ 3 is_argument_input (1) varint  │
//	│ 13 prefetch_queue_depth_cpu │     │ 4 arg_name              bytes   │
//	│ 14 prefetch_queue_depth_gpu │     │ 5 dtype                 varint  │
//	│ 15 bytes_per_sample_hint    │     │ 6 ndim                  varint  │
//	└─────────────────────────────┘     │ 7 layout                bytes   │
//	                                    └─────────────────────────────────┘
//	Argument
//	┌──────────────────────────────────────────────────────────────────┐
//	│ 1 name (1) bytes │ 2 type (1) bytes: int64, float, string, bool  │
//	│ 3 floats * fixed32 │ 4 ints * varint │ 5 strings * │ 6 bools *   │
//	│ 7 extra_args * Argument │ 8 is_vector (1) varint                 │
//	└──────────────────────────────────────────────────────────────────┘
//
// DALI writes batch_size and is_vector always, and refuses what lacks them; so
// does Parse. A scalar has one value in floats, ints, strings or bools. A vector has
// is_vector set and no values, but one extra_args an element: an Argument "element
// N" of the same type with the value. [Argument.Value] and [NewArgument] know that.
//
// Pipelines carry, in the arguments _origin_stack_*, file names and source
// lines of the program that made them.
//
// # Sameness
//
// Append writes the bytes that Parse read: unknown fields, fields in another
// order, packed numbers and long varints stay where and as they were. See the field
// Wire of each message, which is zero for what DALI writes.
//
// # YAML
//
// MarshalYAML says the same, less what DALI always writes the same way:
//
//	num_threads: 1
//	batch_size: 3
//	op:
//	    - name: Resize
//	      input:
//	        - {name: images, device: cpu}
//	      output:
//	        - {name: __Resize_4, device: cpu}
//	      args:
//	        device: cpu
//	        size: [224.0, 224.0]
//	        axes: !int64 []
//	        odd: {type: int32, ints: [7]}
//	      inst_name: __Resize_4
//	      logical_id: 4
//
// Keys are the names of the fields, in their order; false, 0 and "" are left out
// where a field that is absent is the same. Arguments are one mapping, where
// their names differ: a value or a list of values has the type that YAML gives it;
// lists without elements have a tag with their type; what DALI would not write so is
// a mapping of its fields. A message that is not laid out as DALI does has the key
// "wire": a list of its fields in their order, of those that it has no name for,
// or that are written in another way, with their bytes.
//
// UnmarshalYAML reads it back, and what MarshalYAML wrote gives the same bytes.
package pipeproto
